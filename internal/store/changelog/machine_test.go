// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// history is a machine whose state is the list of all payloads.
type history struct {
	mu      sync.Mutex
	records []string
	written uint64
	loaded  int
}

func (h *history) Reset() { h.records, h.written, h.loaded = nil, 0, 0 }

func (h *history) Load(item []byte) error {
	h.records = append(h.records, string(item))
	h.written = uint64(len(h.records))
	h.loaded++
	return nil
}

func (h *history) Replay(seq uint64, payload []byte) error {
	h.records = append(h.records, make([]string, int(seq)-len(h.records)-1)...)
	h.records = append(h.records, string(payload))
	h.written = seq
	return nil
}

func (h *history) Written(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written = seq
}

func (h *history) Discard() { h.records = h.records[:len(h.records)-1] }

func (h *history) Freeze() func(func([]byte) error) error {
	frozen := slices.Clone(h.records[:h.written])
	return func(emit func([]byte) error) error {
		for _, r := range frozen {
			if err := emit([]byte(r)); err != nil {
				return err
			}
		}
		return nil
	}
}

// record makes a Record that adds payload to the history.
func (h *history) record(payload string, sync bool, done func(uint64, error)) *Record {
	return &Record{
		Prepare: func(dst []byte, seq uint64) ([]byte, error) {
			// After a repair there are gaps.
			h.records = append(h.records, make([]string, int(seq)-len(h.records)-1)...)
			h.records = append(h.records, payload)
			return append(dst, payload...), nil
		},
		Sync: sync,
		Done: done,
	}
}

func (h *history) add(ctx context.Context, l *Log, payload string, sync bool) error {
	_, err := l.wait(ctx, h.record(payload, sync, nil))
	return err
}

func mustOpen(t testing.TB, o Options) (*Log, *history) {
	t.Helper()
	h := &history{}
	l, err := Open(t.Context(), o, h)
	if err != nil {
		t.Fatal(err)
	}
	return l, h
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// fill appends records from the number from to the number to.
func fill(t testing.TB, l *Log, h *history, from, to int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := from; i <= to; i++ {
		wg.Add(1)
		err := l.Submit(t.Context(), h.record(payload(i), false, func(seq uint64, err error) {
			if err != nil || seq != uint64(i) {
				t.Errorf("record %d: seq %d, %v", i, seq, err)
			}
			wg.Done()
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

func payload(i int) string { return fmt.Sprintf("record %d of the change log", i) }

func wantRecords(t testing.TB, h *history, n int) {
	t.Helper()
	if len(h.records) != n {
		t.Fatalf("%d records, want %d", len(h.records), n)
	}
	for i, r := range h.records {
		if r != payload(i+1) {
			t.Fatalf("record %d is %q", i+1, r)
		}
	}
}

func files(t testing.TB, dir, ext string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+ext))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func options(dir string) Options {
	return Options{FS: vfs.OS(), Dir: dir, SegmentSize: 2048, SnapshotAfter: 1 << 20, ID: 42}
}

func isDamage(err error) bool {
	var d *DamageError
	return errors.As(err, &d)
}
