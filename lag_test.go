// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestLagIsWhatTheGroupWouldGet: messages of other tags are no lag, nor is what
// is settled above a stuck key; the delay is that of the oldest one left.
func TestLagIsWhatTheGroupWouldGet(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		p := newProducer(t, r.client("p"), ProducerConfig{})
		send := func(key, tag string) {
			t.Helper()
			_, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: key, Tag: tag, Body: []byte("x")})
			must(t, err)
		}
		lag := func() (int64, time.Duration, bool) {
			t.Helper()
			g, err := a.Group(t.Context(), "g")
			must(t, err)
			if len(g.Queues) != 1 {
				t.Fatalf("queues %+v", g.Queues)
			}
			return g.Queues[0].Lag, g.Queues[0].Delay, g.Queues[0].LagEstimated
		}
		cfg := ConsumerConfig{Order: ByKey, Filter: Tags("a"), Backoff: func(int) time.Duration { return 20 * time.Second }}
		cons := consume(t, r.client("c"), cfg, func(_ context.Context, m *Message) error {
			if m.OrderingKey == "stuck" {
				return errors.New("stuck")
			}
			return nil
		})
		time.Sleep(time.Second)
		send("stuck", "a")
		for range 5 {
			send("fine", "a")
			send("fine", "b")
		}
		time.Sleep(10 * time.Second)
		if n, delay, guess := lag(); n != 1 || delay < 10*time.Second || delay > 11*time.Second || guess {
			t.Errorf("lag %d, delay %v, estimated %v; want the stuck message only", n, delay, guess)
		}
		must(t, cons.end())
		if n, _, _ := lag(); n != 1 {
			t.Errorf("lag %d without members", n)
		}
	})
}
