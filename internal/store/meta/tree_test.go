// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// checkTree compares a tree with the map it should be, and its shape with the
// rules of a treap.
func checkTree(t *rapid.T, tr tree[int, int], want map[int]int) {
	var keys []int
	tr.each(func(k, v int) bool {
		if want[k] != v {
			t.Fatalf("key %d: %d, want %d", k, v, want[k])
		}
		keys = append(keys, k)
		return true
	})
	if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(keys, sorted) {
		t.Fatalf("keys %v, want %v", keys, sorted)
	}
	if tr.size != len(want) {
		t.Fatalf("size %d, want %d", tr.size, len(want))
	}
	var heap func(n *node[int, int])
	heap = func(n *node[int, int]) {
		for _, child := range []*node[int, int]{n.left, n.right} {
			if child == nil {
				continue
			}
			if child.priority > n.priority {
				t.Fatalf("priority of %d is above that of %d", child.key, n.key)
			}
			heap(child)
		}
	}
	if tr.root != nil {
		heap(tr.root)
	}
}

func TestTreeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree[int, int](cmp.Compare[int])
		model := map[int]int{}
		type old struct {
			tree  tree[int, int]
			model map[int]int
		}
		var olds []old
		key := rapid.IntRange(0, 40)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), rapid.Int().Draw(t, "v")
				tr = tr.put(k, v)
				model[k] = v
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "k")
				tr = tr.remove(k)
				delete(model, k)
			},
			"keep": func(*rapid.T) {
				olds = append(olds, old{tr, maps.Clone(model)})
			},
			"look": func(t *rapid.T) {
				k := key.Draw(t, "k")
				v, ok := tr.get(k)
				want, has := model[k]
				if v != want || ok != has {
					t.Fatalf("get %d: %d %t, want %d %t", k, v, ok, want, has)
				}
				var from []int
				tr.ascend(k, func(k, _ int) bool {
					from = append(from, k)
					return len(from) < 3
				})
				all := slices.Sorted(maps.Keys(model))
				i, _ := slices.BinarySearch(all, k)
				if rest := all[i:]; !slices.Equal(from, rest[:min(3, len(rest))]) {
					t.Fatalf("from %d: %v, want %v", k, from, rest)
				}
			},
			"": func(t *rapid.T) {
				checkTree(t, tr, model)
				for _, o := range olds {
					checkTree(t, o.tree, o.model)
				}
			},
		})
	})
}

func TestTreeStaysFlat(t *testing.T) {
	tr := newTree[int, int](cmp.Compare[int])
	const n = 100_000
	for i := range n {
		tr = tr.put(i, i) // the worst order for a tree that does not balance
	}
	var depth func(*node[int, int]) int
	depth = func(n *node[int, int]) int {
		if n == nil {
			return 0
		}
		return 1 + max(depth(n.left), depth(n.right))
	}
	if d := depth(tr.root); d > 80 { // expected about 40
		t.Errorf("depth %d with %d keys", d, n)
	}
}
