// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"slices"
	"testing"

	"github.com/orderlymq/orderly/internal/vfs"
)

func TestReadAndDump(t *testing.T) {
	o := Options{FS: vfs.NewMem(), Dir: "/meta"}
	s := openState(t, o)
	key := QueueKey{"G", "T", 0}
	if err := s.Apply(t.Context(), Commit{QueueKey: key, Offset: 7}); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), SetMark{"a", 1}, SetMark{"b", 2}); err != nil {
		t.Fatal(err)
	}
	v, found, err := Read(t.Context(), o) // beside the running one
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, s.View(), v)
	if found.Snapshot != 1 || found.Replayed != 1 {
		t.Errorf("%+v", found)
	}
	var got []string
	err = Dump(t.Context(), o, func() { got = nil }, func(seq uint64, c Change) error {
		got = append(got, fmt.Sprintf("%d %s", seq, KindName(c)))
		return nil
	})
	want := []string{"0 Queue", "0 Tables", "2 SetMark", "2 SetMark"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q", err, got)
	}
	closeState(t, s)
}
