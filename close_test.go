// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"testing"
	"time"
)

// Closing does not hang on a broker that is gone: what can still be told is
// told, the rest lapses at the broker.
func TestRealCloseWithoutBroker(t *testing.T) {
	for _, busy := range []bool{false, true} {
		name := "idle"
		if busy {
			name = "with something to commit"
		}
		t.Run(name, func(t *testing.T) {
			inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
				p := newProducer(t, r.client("p"), ProducerConfig{})
				fill(t, p, 10, 0, 2)
				c := r.client("c")
				handled := make(chan struct{}, 100)
				cons := consume(t, c, ConsumerConfig{CloseTimeout: 5 * time.Second, CommitInterval: time.Hour}, func(context.Context, *Message) error {
					handled <- struct{}{}
					return nil
				})
				for range 20 {
					<-handled
				}
				if !busy {
					must(t, cons.end())
					cons = consume(t, c, ConsumerConfig{CloseTimeout: 5 * time.Second}, newJournal().handler(0))
					time.Sleep(3 * time.Second)
				}
				r.stopBroker()
				defer r.startBroker()
				time.Sleep(time.Second)
				begun := time.Now()
				if err := cons.end(); err != nil {
					t.Errorf("end: %v", err)
				}
				if took := time.Since(begun); took > 8*time.Second {
					t.Errorf("closing took %v", took)
				} else {
					t.Logf("closing took %v", took)
				}
				begun = time.Now()
				must(t, c.Close())
				if took := time.Since(begun); took > time.Second {
					t.Errorf("closing the client took %v", took)
				}
			})
		})
	}
}

// Client.Close ends consumers and producers by itself.
func TestRealClientCloseEndsEverything(t *testing.T) {
	inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
		c := r.client("c")
		p := newProducer(t, c, ProducerConfig{})
		fill(t, p, 10, 0, 2)
		j := newJournal()
		cons := consume(t, c, ConsumerConfig{}, j.handler(100*time.Millisecond))
		time.Sleep(time.Second)
		must(t, c.Close())
		if err := <-cons.ended; err != nil {
			t.Errorf("consume: %v", err)
		}
		must(t, c.Close())
		next := consume(t, r.client("c2"), ConsumerConfig{}, j.handler(0))
		time.Sleep(3 * time.Second)
		must(t, next.end())
		j.check(t, 10, 2, false)
	})
}

// A leave that could not be told, because the link was down, is seen when it is
// up again, although the client's session lives on for its other groups.
func TestRealLeaveIsSeenOnTheNextLink(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		c := r.client("c")
		j := newJournal()
		left := consume(t, c, ConsumerConfig{}, newJournal().handler(0))
		stays := consume(t, c, ConsumerConfig{Group: "other"}, newJournal().handler(0))
		time.Sleep(3 * time.Second)
		next := consume(t, r.client("c2"), ConsumerConfig{}, j.handler(0))
		time.Sleep(3 * time.Second)
		r.net.Reset("c", brokerHost)
		r.net.Cut("c", brokerHost)
		time.Sleep(100 * time.Millisecond)
		must(t, left.end())
		r.net.Heal("c", brokerHost)
		time.Sleep(5 * time.Second)
		fill(t, p, 1, 0, 5)
		time.Sleep(time.Second)
		j.check(t, 1, 5, false)
		must(t, next.end())
		must(t, stays.end())
	})
}
