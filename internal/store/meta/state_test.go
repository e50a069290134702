// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openState(t *testing.T, o Options) *State {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeState(t *testing.T, s *State) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents is all that a View holds, as plain values.
func contents(v *View) []string {
	var all []string
	v.snapshotChanges(func(c Change) bool {
		all = append(all, fmt.Sprintf("%T %x", c, appendChange(nil, c)))
		return true
	})
	return all
}

func sameState(t *testing.T, want, got *View) {
	t.Helper()
	if d := cmp.Diff(contents(want), contents(got)); d != "" {
		t.Fatalf("state differs (-want +got):\n%s", d)
	}
}

func TestStateSurvivesReopening(t *testing.T) {
	o := Options{FS: vfs.OS(), Dir: t.TempDir(), SegmentSize: 4096, SnapshotAfter: 8192}
	s := openState(t, o)
	ctx := t.Context()
	if err := s.Apply(ctx, PutTopic{Topic: Topic{Name: "T", ReadQueues: 4, WriteQueues: 4, Perm: 6}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				key := QueueKey{Group: fmt.Sprint("G", g), Topic: "T", Queue: int32(i % 4)}
				err := s.Apply(ctx, Commit{QueueKey: key, Offset: int64(i), Settled: []Range{{int64(i) + 2, int64(i) + 3}}})
				if err != nil {
					t.Error(err)
				}
				if got := s.View().Committed(key); got != int64(i) {
					t.Errorf("committed %d is not readable, but %d", i, got)
				}
			}
		})
	}
	wg.Wait()
	want := s.View()
	closeState(t, s)
	s = openState(t, o)
	sameState(t, want, s.View())
	if s.View().Seq() != want.Seq() {
		t.Errorf("seq %d after %d", s.View().Seq(), want.Seq())
	}
	t.Logf("%+v", s.Recovery())
	closeState(t, s)
}

// TestCommitWritesOnlyItself: what a commit and its sync write does not depend
// on how many other positions there are.
func TestCommitWritesOnlyItself(t *testing.T) {
	const commits, each = 100, 200
	s, keys := filledState(t, 20_000)
	before := s.Health()
	for i := range commits {
		c := Commit{QueueKey: keys[i*97], Offset: 2, Settled: []Range{{4, 6}}}
		if err := s.ApplySync(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	after := s.Health()
	if after.Snapshot != before.Snapshot {
		t.Errorf("a snapshot was written after %d", after.Snapshot)
	}
	if n := after.Tail - before.Tail; n <= 0 || n > commits*each {
		t.Errorf("%d commits wrote %d bytes", commits, n)
	}
}

func TestDecisionRefuses(t *testing.T) {
	s := openState(t, Options{FS: vfs.OS(), Dir: t.TempDir()})
	defer closeState(t, s)
	refused := errors.New("refused")
	err := s.Update(t.Context(), func(v *View) ([]Change, error) { return nil, refused })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(v *View) ([]Change, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if h := s.Health(); h.Written != 0 || h.State != changelog.Healthy {
		t.Fatalf("%+v", h)
	}
}
