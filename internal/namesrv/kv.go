// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"
	"maps"
)

// CheckKV says whether PutKV would take the item.
func (t *Table) CheckKV(namespace, key, value string) error {
	_, replaces := t.kv[namespace][key]
	switch {
	case namespace == NamespaceConflicts:
		return fmt.Errorf("namespace %s is kept by the name server", NamespaceConflicts)
	case len(namespace)+len(key)+len(value) > t.limits.KVLength:
		return fmt.Errorf("item of %d bytes; at most %d are kept", len(namespace)+len(key)+len(value), t.limits.KVLength)
	case !replaces && t.kvItems >= t.limits.KVItems:
		return fmt.Errorf("%d items are kept, the bound; delete some first", t.kvItems)
	}
	return nil
}

// PutKV keeps one item.
func (t *Table) PutKV(namespace, key, value string) {
	table := t.kv[namespace]
	if table == nil {
		table = map[string]string{}
		t.kv[namespace] = table
	}
	if _, replaces := table[key]; !replaces {
		t.kvItems++
	}
	table[key] = value
}

// DeleteKV forgets one item.
func (t *Table) DeleteKV(namespace, key string) {
	table := t.kv[namespace]
	if _, ok := table[key]; !ok {
		return
	}
	delete(table, key)
	t.kvItems--
	if len(table) == 0 {
		delete(t.kv, namespace)
	}
}

// GetKV returns one item.
func (t *Table) GetKV(namespace, key string) (string, bool) {
	if namespace == NamespaceConflicts {
		value, ok := t.conflictKV()[key]
		return value, ok
	}
	value, ok := t.kv[namespace][key]
	return value, ok
}

// KVNamespace returns a copy of a namespace's items, nil if it has none.
func (t *Table) KVNamespace(namespace string) map[string]string {
	if namespace == NamespaceConflicts {
		return t.conflictKV()
	}
	return maps.Clone(t.kv[namespace])
}

// KV returns a copy of all items.
func (t *Table) KV() map[string]map[string]string {
	all := map[string]map[string]string{}
	for namespace, table := range t.kv {
		all[namespace] = maps.Clone(table)
	}
	return all
}

// loadKV replaces all items.
func (t *Table) loadKV(items map[string]map[string]string) {
	t.kv, t.kvItems = map[string]map[string]string{}, 0
	for namespace, table := range items {
		for key, value := range table {
			t.PutKV(namespace, key, value)
		}
	}
}
