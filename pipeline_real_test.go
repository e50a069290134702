// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
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

// The broker stores each message once: the next offset says how many there are.
func TestNothingIsStoredTwice(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{AttemptTimeout: time.Second})
		for i := range 400 {
			p.SendAsync(t.Context(), keyed("k0", i), nil)
			switch {
			case i == 200:
				r.stopBroker()
				r.startBroker()
			case i%40 == 20:
				r.net.Reset("p", brokerHost)
			case i%40 == 0: // answers are swallowed for a while
				r.net.Block(brokerHost, "p")
				time.AfterFunc(3*time.Second, func() { r.net.Unblock(brokerHost, "p") })
			}
			time.Sleep(time.Millisecond)
		}
		must(t, p.Flush(t.Context()))
		last, err := p.Send(t.Context(), keyed("k0", 400))
		must(t, err)
		if last.Offset != 400 {
			t.Errorf("message 400 is at %d", last.Offset)
		}
		checkKeys(t, r.drain("t", 401), 1, 401)
	})
}

func TestNamedProducerTwice(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		first := newProducer(t, r.client("a"), ProducerConfig{Name: "billing"})
		must(t, second(first.Send(t.Context(), keyed("k0", 0))))
		again := newProducer(t, r.client("b"), ProducerConfig{Name: "billing"})
		must(t, second(again.Send(t.Context(), keyed("k0", 1))))
		if _, err := first.Send(t.Context(), keyed("k0", 9)); !errors.Is(err, ErrProducerFenced) {
			t.Errorf("first: %v", err)
		}
		must(t, second(again.Send(t.Context(), keyed("k0", 2))))
		checkKeys(t, r.drain("t", 3), 1, 3)
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
