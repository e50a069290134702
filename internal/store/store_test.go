// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testHost = netip.MustParseAddrPort("127.0.0.1:10911")

func message(topic string, queue int32, body string, props ...string) msg.Message {
	p := ""
	for i := 0; i+1 < len(props); i += 2 {
		p = msg.SetProperty(p, props[i], props[i+1])
	}
	return msg.Message{Topic: topic, QueueID: queue, Body: []byte(body), Properties: p, BornHost: testHost, BornTimestamp: 1700000000000}
}

// small is a store of small files, so that a test rolls and fills a lot.
func small(dir string, fsys vfs.FS) Options {
	return Options{
		FS: fsys, Dir: dir, SegmentSize: 64 * kib, FillAhead: 16 * kib, TailCache: 64 * kib, IndexEvery: 16 * kib,
		MaxBatch: 8 * kib, StoreHost: testHost, MinFree: -1, Retention: -1, DiskHigh: 2, Upkeep: time.Hour,
	}
}

func mustOpen(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func mustAppend(t *testing.T, s *Store, msgs ...msg.Message) []msg.Message {
	t.Helper()
	out, err := s.AppendWait(t.Context(), msgs...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return out
}

// bodies reads a whole queue and checks that its offsets are dense from min.
func bodies(t *testing.T, s *Store, topic string, queue int32) []string {
	t.Helper()
	out, err := readBodies(s, topic, queue)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readBodies(s *Store, topic string, queue int32) ([]string, error) {
	lo, hi := s.Bounds(topic, queue)
	var out []string
	for at := lo; at < hi; {
		r, err := s.Read(topic, queue, at, ReadLimit{}, nil)
		if err != nil {
			return out, err
		}
		if r.Status != Found || r.Next <= at {
			return out, fmt.Errorf("read at %d of [%d, %d): %v, next %d", at, lo, hi, r.Status, r.Next)
		}
		msgs, err := msg.DecodeRecords(r.Records)
		if err != nil {
			return out, err
		}
		for _, m := range msgs {
			if m.QueueOffset != at || m.Topic != topic || m.QueueID != queue {
				return out, fmt.Errorf("got %s/%d/%d, want %s/%d/%d", m.Topic, m.QueueID, m.QueueOffset, topic, queue, at)
			}
			out = append(out, string(m.Body))
			at++
		}
		if at != r.Next {
			return out, fmt.Errorf("next is %d after %d", r.Next, at)
		}
	}
	return out, nil
}

func TestAppendReadReopen(t *testing.T) {
	for _, mode := range []SyncMode{Synced, Async} {
		t.Run(mode.String(), func(t *testing.T) {
			o := small(t.TempDir()+"/store", nil)
			o.Mode = mode
			want := map[int32][]string{}
			for round := range 4 {
				s := mustOpen(t, o)
				for i := range 300 {
					q := int32(i % 3)
					body := fmt.Sprintf("round %d message %d %0*d", round, i, i%200, 0)
					out := mustAppend(t, s, message("T", q, body, "TAGS", fmt.Sprint("Tag", i%2), "KEYS", fmt.Sprintf("k%d-%d", round, i)))
					if got := out[0].QueueOffset; got != int64(len(want[q])) {
						t.Fatalf("offset %d, want %d", got, len(want[q]))
					}
					want[q] = append(want[q], body)
				}
				check := func(s *Store) {
					for q, w := range want {
						got := bodies(t, s, "T", q)
						if fmt.Sprint(got) != fmt.Sprint(w) {
							t.Fatalf("round %d queue %d: %d messages, want %d", round, q, len(got), len(w))
						}
					}
					got, err := s.QueryKey(t.Context(), "T", fmt.Sprintf("k%d-17", round), 10, 0, 1<<60)
					if err != nil || len(got) != 1 {
						t.Fatalf("query: %d records, %v", len(got), err)
					}
				}
				check(s)
				mustClose(t, s)
				s = mustOpen(t, o)
				check(s)
				mustClose(t, s)
			}
		})
	}
}

func TestReadStatus(t *testing.T) {
	s := mustOpen(t, small(t.TempDir(), nil))
	defer mustClose(t, s)
	for i := range 10 {
		mustAppend(t, s, message("T", 0, fmt.Sprint(i), "TAGS", fmt.Sprint("t", i%2)))
	}
	s.RaiseFloor("T", 1, 5)
	s.RaiseFloor("T", 2, 0)
	for _, c := range []struct {
		name   string
		queue  int32
		from   int64
		match  func(int64) bool
		status ReadStatus
		next   int64
		count  int
	}{
		{"all", 0, 0, nil, Found, 10, 10},
		{"rest", 0, 7, nil, Found, 10, 3},
		{"tag", 0, 0, func(h int64) bool { return h == msg.TagHash("t1") }, Found, 10, 5},
		{"no tag", 0, 0, func(int64) bool { return false }, NoMatchedMessage, 10, 0},
		{"end", 0, 10, nil, OffsetOverflowOne, 10, 0},
		{"beyond", 0, 11, nil, OffsetOverflowBadly, 10, 0},
		{"negative", 0, -1, nil, OffsetTooSmall, 0, 0},
		{"raised", 1, 0, nil, OffsetTooSmall, 5, 0},
		{"raised end", 1, 5, nil, OffsetOverflowOne, 5, 0},
		{"empty", 2, 0, nil, NoMessageInQueue, 0, 0},
		{"unknown", 7, 0, nil, NoMatchedQueue, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := s.Read("T", c.queue, c.from, ReadLimit{}, c.match)
			if err != nil || r.Status != c.status || r.Next != c.next || r.Count != c.count {
				t.Fatalf("got %v next %d count %d, %v; want %v next %d count %d", r.Status, r.Next, r.Count, err, c.status, c.next, c.count)
			}
		})
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, small(dir, nil))
	_, err := Open(context.Background(), small(dir, nil))
	var locked *vfs.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v, want a LockedError", err)
	}
	mustClose(t, s)
	mustClose(t, mustOpen(t, small(dir, nil)))
}
