// SPDX-License-Identifier: Apache-2.0

package meta

import "hash/maphash"

// tree is a persistent ordered map: put and remove leave the receiver as it
// was and return a new tree that shares all but one path with it. Readers need
// no lock.
//
// It is a treap: a search tree by key, a heap by a random priority, hence
// balanced whatever the order of insertion. Priorities do not show from
// outside: iteration is by key.
type tree[K any, V any] struct {
	root *node[K, V]
	size int
	cmp  func(a, b K) int
}

type node[K any, V any] struct {
	key         K
	value       V
	priority    uint64
	left, right *node[K, V]
}

func newTree[K any, V any](cmp func(a, b K) int) tree[K, V] {
	return tree[K, V]{cmp: cmp}
}

func (t tree[K, V]) get(key K) (V, bool) {
	for n := t.root; n != nil; {
		c := t.cmp(key, n.key)
		switch {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	var none V
	return none, false
}

// put sets the value of key.
func (t tree[K, V]) put(key K, value V) tree[K, V] {
	if n, ok := t.replace(t.root, key, value); ok {
		t.root = n
		return t
	}
	fresh := &node[K, V]{key: key, value: value, priority: priority()}
	t.root = t.insert(t.root, fresh)
	t.size++
	return t
}

// replace copies the path to an existing key; false if there is none.
func (t tree[K, V]) replace(n *node[K, V], key K, value V) (*node[K, V], bool) {
	if n == nil {
		return nil, false
	}
	c := t.cmp(key, n.key)
	if c == 0 {
		copied := *n
		copied.value = value
		return &copied, true
	}
	child := n.left
	if c > 0 {
		child = n.right
	}
	child, ok := t.replace(child, key, value)
	if !ok {
		return nil, false
	}
	copied := *n
	if c < 0 {
		copied.left = child
	} else {
		copied.right = child
	}
	return &copied, true
}

// insert adds a node whose key is not in the tree yet.
func (t tree[K, V]) insert(n, fresh *node[K, V]) *node[K, V] {
	if n == nil {
		return fresh
	}
	if fresh.priority > n.priority {
		fresh.left, fresh.right = t.split(n, fresh.key)
		return fresh
	}
	copied := *n
	if t.cmp(fresh.key, n.key) < 0 {
		copied.left = t.insert(n.left, fresh)
	} else {
		copied.right = t.insert(n.right, fresh)
	}
	return &copied
}

// split parts a tree into the keys below key and those above it.
func (t tree[K, V]) split(n *node[K, V], key K) (below, above *node[K, V]) {
	if n == nil {
		return nil, nil
	}
	copied := *n
	if t.cmp(n.key, key) < 0 {
		copied.right, above = t.split(n.right, key)
		return &copied, above
	}
	below, copied.left = t.split(n.left, key)
	return below, &copied
}

// remove takes key out, if it is there.
func (t tree[K, V]) remove(key K) tree[K, V] {
	if root, ok := t.without(t.root, key); ok {
		t.root = root
		t.size--
	}
	return t
}

func (t tree[K, V]) without(n *node[K, V], key K) (*node[K, V], bool) {
	if n == nil {
		return nil, false
	}
	c := t.cmp(key, n.key)
	if c == 0 {
		return merge(n.left, n.right), true
	}
	child := n.left
	if c > 0 {
		child = n.right
	}
	child, ok := t.without(child, key)
	if !ok {
		return nil, false
	}
	copied := *n
	if c < 0 {
		copied.left = child
	} else {
		copied.right = child
	}
	return &copied, true
}

// merge joins two trees, all keys of a below all keys of b.
func merge[K any, V any](a, b *node[K, V]) *node[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		copied := *a
		copied.right = merge(a.right, b)
		return &copied
	}
	copied := *b
	copied.left = merge(a, b.left)
	return &copied
}

// ascend calls yield in the order of keys, for all keys not below from, until
// it answers false.
func (t tree[K, V]) ascend(from K, yield func(K, V) bool) {
	t.walk(t.root, &from, yield)
}

// each calls yield for every key in order, until it answers false, and says
// whether it never did.
func (t tree[K, V]) each(yield func(K, V) bool) bool {
	return t.walk(t.root, nil, yield)
}

func (t tree[K, V]) walk(n *node[K, V], from *K, yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	if from != nil && t.cmp(n.key, *from) < 0 {
		return t.walk(n.right, from, yield)
	}
	return t.walk(n.left, from, yield) && yield(n.key, n.value) && t.walk(n.right, nil, yield)
}

// first answers the lowest key that is not below from.
func (t tree[K, V]) first(from K) (key K, ok bool) {
	t.ascend(from, func(k K, _ V) bool {
		key, ok = k, true
		return false
	})
	return key, ok
}

// priority draws a random number; maphash seeds are the runtime's cheap,
// lock-free source of them.
func priority() uint64 {
	return maphash.Bytes(maphash.MakeSeed(), nil)
}
