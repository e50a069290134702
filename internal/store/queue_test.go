// SPDX-License-Identifier: Apache-2.0

package store

import "testing"

// TestBoundsDoNotPassMessagesOnTheirWay: a queue whose messages have their
// offsets but are not committed ends before them, whether it held messages
// before or not. A consumer that starts at the end (or, in an empty queue, at
// the beginning) would lose them otherwise.
func TestBoundsDoNotPassMessagesOnTheirWay(t *testing.T) {
	tests := map[string]struct {
		queue  *queue
		lo, hi int64
	}{
		"new queue":                   {&queue{}, 0, 0},
		"first message on its way":    {&queue{next: 1}, 0, 0},
		"all removed, one on its way": {&queue{min: 7, max: 7, next: 8}, 7, 7},
		"one there, one on its way":   {&queue{min: 0, max: 1, next: 2, mem: []memExtent{{units: make([]unit, 1)}}}, 0, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if lo, hi := tt.queue.bounds(); lo != tt.lo || hi != tt.hi {
				t.Errorf("bounds %d to %d, want %d to %d", lo, hi, tt.lo, tt.hi)
			}
		})
	}
}
