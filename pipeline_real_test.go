// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// With the broker itself: links are cut and the broker is restarted in the
// middle of pipelined sends. Each key is stored in the order of its calls.
func TestPipelinedSendsThroughARestart(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{AttemptTimeout: time.Second})
		const keys, each = 3, 200
		for i := range each {
			for k := range keys {
				p.SendAsync(t.Context(), keyed(fmt.Sprint("k", k), i), func(_ Receipt, err error) {
					if err != nil {
						t.Errorf("k%d:%d: %v", k, i, err)
					}
				})
			}
			switch {
			case i == 100:
				r.stopBroker()
				r.startBroker()
			case i%40 == 20:
				r.net.Reset("p", brokerHost)
			}
			time.Sleep(time.Millisecond)
		}
		must(t, p.Flush(t.Context()))
		checkKeys(t, r.drain("t", keys*each), keys, each)
	})
}

// drain consumes a topic until it has seen n different messages, each where it
// came first.
func (r *realCluster) drain(topic string, n int) (got []string) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	seen := map[string]bool{}
	must(r.t, r.client("drain").Consume(ctx, ConsumerConfig{Group: "drain", Topic: topic, Concurrency: 1}, func(_ context.Context, m *Message) error {
		if !seen[string(m.Body)] {
			seen[string(m.Body)] = true
			got = append(got, string(m.Body))
		}
		if len(seen) == n {
			cancel()
		}
		return nil
	}))
	return got
}

// checkKeys wants messages 0..each-1 of every key in order.
func checkKeys(t *testing.T, got []string, keys, each int) {
	t.Helper()
	for k := range keys {
		var mine, want []string
		for _, text := range got {
			if strings.HasPrefix(text, fmt.Sprint("k", k, ":")) {
				mine = append(mine, text)
			}
		}
		for i := range each {
			want = append(want, fmt.Sprint("k", k, ":", i))
		}
		if !slices.Equal(mine, want) {
			t.Errorf("key k%d is stored as %v", k, mine)
		}
	}
}
