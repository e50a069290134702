// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func diffModels(want, got model) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(model{}), cmpopts.EquateEmpty())
}

// Changes and snapshots of the state are what the naive model says.
func TestChangesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		machine := machine{}
		machine.Reset()
		first := machine.published.Load()
		seq := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			changes := rapid.SliceOfN(rapid.Custom(drawChange), 1, 3).Draw(t, "changes")
			seq++
			b, err := machine.prepare(nil, seq, func(*View) ([]Change, error) { return changes, nil })
			if err != nil {
				t.Fatal(err)
			}
			machine.Written(seq)
			for _, c := range changes {
				m.apply(c)
			}
			if len(b) == 0 {
				t.Fatal("nothing to write")
			}
		}
		v := machine.published.Load()
		got, broken := modelOf(v)
		if d := diffModels(m, got); d != "" || broken != "" {
			t.Fatalf("%s (-model +state):\n%s", broken, d)
		}
		loaded := newView()
		if err := v.emit(func(item []byte) error {
			return decodeChanges(item, func(c Change) error { c.apply(loaded); return nil })
		}); err != nil {
			t.Fatal(err)
		}
		got, _ = modelOf(loaded)
		if d := diffModels(m, got); d != "" {
			t.Fatalf("snapshot (-model +state):\n%s", d)
		}
		if d := cmp.Diff(contents(first), contents(newView())); d != "" {
			t.Fatalf("the first view has changed: %s", d)
		}
	})
}
