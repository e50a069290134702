// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
)

// TestCount counts over the files of a queue and over what is in memory alike.
func TestCount(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, small(dir, nil))
	const all = 1000
	var stamps []int64
	for i := range all {
		stored := mustAppend(t, s, message("T", 0, fmt.Sprint(i), "TAGS", fmt.Sprint("t", i%4)))
		stamps = append(stamps, stored[0].StoreTimestamp)
	}
	one := func(h int64) bool { return h == msg.TagHash("t1") }
	check := func(t *testing.T) {
		for _, c := range []struct {
			name   string
			queue  int32
			from   int64
			limit  int
			match  func(int64) bool
			skip   []Span
			want   int64
			exact  bool
			oldest int64 // offset, -1: none
		}{
			{"all", 0, 0, all, nil, nil, all, true, 0},
			{"all, few looked at", 0, 0, 10, nil, nil, all, true, 0},
			{"from below", 0, -5, all, nil, nil, all, true, 0},
			{"rest", 0, 990, all, nil, nil, 10, true, 990},
			{"end", 0, all, all, nil, nil, 0, true, -1},
			{"beyond", 0, all + 7, all, nil, nil, 0, true, -1},
			{"tag", 0, 0, all, one, nil, all / 4, true, 1},
			{"tag, half looked at", 0, 0, all / 2, one, nil, all / 4, false, 1},
			{"no tag", 0, 0, all, func(int64) bool { return false }, nil, 0, true, -1},
			{"settled", 0, 10, all, nil, []Span{{10, 20}, {30, 40}}, all - 30, true, 20},
			{"settled, few looked at", 0, 10, 64, nil, []Span{{10, 20}, {500, 600}}, all - 120, true, 20},
			{"settled and tag", 0, 0, all, one, []Span{{0, 100}}, (all - 100) / 4, true, 101},
			{"all settled", 0, 0, all, nil, []Span{{0, all}}, 0, true, -1},
			{"unknown queue", 7, 0, all, nil, nil, 0, true, -1},
		} {
			t.Run(c.name, func(t *testing.T) {
				got, err := s.Count("T", c.queue, c.from, c.limit, c.match, c.skip)
				oldest := int64(0)
				if c.oldest >= 0 {
					oldest = stamps[c.oldest]
				}
				near := got.Messages - c.want
				if c.exact != got.Exact || err != nil || got.Exact && near != 0 || near < -16 || near > 16 || got.Oldest != oldest || got.Looked > c.limit+unitBatch {
					t.Errorf("%+v, %v; want %d (exact %v), oldest %d", got, err, c.want, c.exact, oldest)
				}
			})
		}
	}
	t.Run("memory", check)
	mustClose(t, s)
	s = mustOpen(t, small(dir, nil))
	defer mustClose(t, s)
	t.Run("files", check)
}
