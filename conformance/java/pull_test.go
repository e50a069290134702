// SPDX-License-Identifier: Apache-2.0

package java

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
)

const pullMessages = 20 * keys

// reading is what a Java consumer that pulls has printed.
type reading struct {
	all       map[int][]int64 // up to "all": offsets by queue, as they came
	again     []string        // after it
	committed map[int]int64
}

func (b *bed) read(mode, topic string) reading {
	b.Helper()
	p := peer(b.T, mode, "pull", b.srv.NamesrvAddr(), mode, topic, mode+"-group", strconv.Itoa(pullMessages))
	r := reading{all: map[int][]int64{}, committed: map[int]int64{}}
	whole := false
	for _, line := range finish(b.T, p, 3*time.Minute) {
		var queue int
		var offset int64
		switch n, _ := fmt.Sscanf(line, "message %d %d", &queue, &offset); {
		case n == 2 && !whole:
			r.all[queue] = append(r.all[queue], offset)
			continue
		case line == "all":
			whole = true
			continue
		}
		if n, _ := fmt.Sscanf(line, "committed %d %d", &queue, &offset); n == 2 {
			r.committed[queue] = offset
			continue
		}
		r.again = append(r.again, line)
	}
	return r
}

// TestJavaPullConsumers: DefaultLitePullConsumer, subscribed and assigned, and
// DefaultMQPullConsumer read each queue in order and whole, seek, and find their
// positions at the broker, whatever kind of topic it is.
func TestJavaPullConsumers(t *testing.T) {
	t.Parallel()
	for _, topic := range []admin.Topic{ordered("pulled"), {Name: "pulled", Queues: queues}} {
		for _, mode := range []string{"subscribe", "assign", "pull"} {
			t.Run(fmt.Sprintf("%s, ordered %v", mode, topic.Ordered), func(t *testing.T) {
				t.Parallel()
				b := newBed(t, nil)
				b.createTopic(topic)
				sendOurs(b, topic.Name, pullMessages)
				r := b.read(mode, topic.Name)
				total := 0
				for queue, offsets := range r.all {
					total += len(offsets)
					for i, offset := range offsets {
						if int64(i) != offset {
							t.Fatalf("queue %d was read as %v", queue, offsets)
						}
					}
					if r.committed[queue] != int64(len(offsets)) {
						t.Errorf("queue %d: committed %d of %d", queue, r.committed[queue], len(offsets))
					}
				}
				if total != pullMessages {
					t.Errorf("%d messages, want %d", total, pullMessages)
				}
				if mode != "assign" {
					return
				}
				want := []string{fmt.Sprintf("message 0 %d", len(r.all[0])-1), "again", "message 1 0", "begin"}
				if !slices.Equal(first(r.again, want), want) {
					t.Errorf("after the seeks came %q, want %q", r.again, want)
				}
				for _, line := range r.again[slices.Index(r.again, "again")+1:] {
					if strings.HasPrefix(line, "message 0 ") {
						t.Errorf("%s of a paused queue", line)
					}
				}
			})
		}
	}
}

// first keeps of lines what comes first in each stretch of messages: a poll
// returns several.
func first(lines, want []string) []string {
	var out []string
	for _, line := range lines {
		if len(out) < len(want) && line == want[len(out)] {
			out = append(out, line)
		}
	}
	return out
}
