// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// inNumberedBubble is inBubble with brokers that number producers.
func inNumberedBubble(t *testing.T, queues int32, f func(t *testing.T, fake *fakeCluster)) {
	inBubble(t, queues, func(t *testing.T, fake *fakeCluster) {
		fake.numbers = newFakeNumbers()
		f(t, fake)
	})
}

// sendMany sends messages from..to-1 of a key; the errors are there when wait
// returns.
func sendMany(t *testing.T, p *Producer, k string, from, to int) (errs []error, wait func()) {
	errs = make([]error, to-from)
	var wg sync.WaitGroup
	for i := from; i < to; i++ {
		wg.Add(1)
		p.SendAsync(t.Context(), keyed(k, i), func(_ Receipt, err error) { errs[i-from] = err; wg.Done() })
	}
	return errs, wg.Wait
}

// checkExactly wants messages 0..n-1 of a key once each, in order.
func checkExactly(t *testing.T, fake *fakeCluster, n int, want ...string) {
	t.Helper()
	if want == nil {
		for i := range n {
			want = append(want, fmt.Sprint("k:", i))
		}
	}
	if got := fake.brokers["broker-a"].stored("t", 0); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// Answers are swallowed, links cut and brokers busy in the middle of pipelined
// sends: each message is stored once, in order.
func TestPipelinedSendsThroughFaults(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{AttemptTimeout: 500 * time.Millisecond})
		n, most, under := 0, 0, 0
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			if len(bodiesOf(req)) == 0 {
				return false
			}
			fake.mu.Lock()
			defer fake.mu.Unlock()
			n++
			switch n % 7 {
			case 1:
				_ = c.Reply(req, wire.NewResponse(req, wire.SystemBusy, "busy"))
			case 3: // stored, and nobody hears of it
				b.answer(c, req)
			case 5: // stored, and the link is lost
				b.answer(c, req)
				c.Close(errors.New("middlebox"))
			case 6: // lost
			default:
				under++
				most = max(most, under)
				go func() {
					time.Sleep(20 * time.Millisecond)
					fake.mu.Lock()
					under--
					resp := b.answer(c, req)
					fake.mu.Unlock()
					_ = c.Reply(req, resp)
				}()
			}
			return true
		})
		for round := range 20 { // not all in one frame
			_, _ = sendMany(t, p, "k", 5*round, 5*round+5)
			time.Sleep(3 * time.Millisecond)
		}
		must(t, p.Flush(t.Context()))
		checkExactly(t, fake, 100)
		if most < 2 || fake.numbers.repeat == 0 {
			t.Errorf("at most %d under way, %d repeats: the test tests nothing", most, fake.numbers.repeat)
		}
	})
}

// One bad message in the middle of a shared frame fails alone, with what follows
// it in its key.
func TestRefusedMessageInASharedFrame(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
			if numbered {
				fake.numbers = newFakeNumbers()
			}
			p := newProducer(t, fake.client("p"), ProducerConfig{})
			fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
				refuse := slices.Contains(bodiesOf(req), "k:1")
				if refuse {
					_ = c.Reply(req, wire.NewResponse(req, wire.MessageIllegal, "no"))
				}
				return refuse
			})
			errs, _ := sendMany(t, p, "k", 0, 3)
			others, _ := sendMany(t, p, "x", 0, 3)
			must(t, p.Flush(t.Context()))
			must(t, errs[0])
			must(t, errors.Join(others...))
			if failure, ok := errors.AsType[*DeliveryError](errs[1]); !ok || failure.MayBeStored {
				t.Errorf("message 1: %v", errs[1])
			}
			if !errors.Is(errs[2], ErrKeyStopped) || !errors.Is(errs[2], errs[1]) {
				t.Errorf("message 2: %v", errs[2])
			}
			checkExactly(t, fake, 0, "k:0", "x:0", "x:1", "x:2")
			if !p.Resume("t", "k") {
				t.Error("the key was not stopped")
			}
			_, err := p.Send(t.Context(), keyed("k", 3))
			must(t, err)
			checkExactly(t, fake, 0, "k:0", "x:0", "x:1", "x:2", "k:3")
		})
	}
}

// A message that was given up without an answer is settled by the answer to the
// claim: it was stored, so it has not failed.
func TestGivenUpMessageIsSettled(t *testing.T) {
	for _, stored := range []bool{true, false} {
		inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
			p := newProducer(t, fake.client("p"), ProducerConfig{DeliveryTimeout: 2 * time.Second, AttemptTimeout: time.Second})
			fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
				silent := slices.Contains(bodiesOf(req), "k:0")
				if silent && stored {
					fake.mu.Lock()
					defer fake.mu.Unlock()
					b.answer(c, req)
				}
				return silent
			})
			r, err := p.Send(t.Context(), keyed("k", 0))
			if failure, ok := errors.AsType[*DeliveryError](err); stored != (err == nil) || !stored && (!ok || failure.MayBeStored) {
				t.Errorf("stored %v: %v, %v", stored, r, err)
			}
			fake.setHook(nil)
			p.Resume("t", "k")
			_, err = p.Send(t.Context(), keyed("k", 1))
			must(t, err)
			if stored {
				checkExactly(t, fake, 2)
			} else {
				checkExactly(t, fake, 0, "k:1")
			}
		})
	}
}

// While the broker cannot be reached nobody knows; the sends behind wait for its
// word.
func TestUnknownWhileTheBrokerIsAway(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{DeliveryTimeout: 5 * time.Second, AttemptTimeout: time.Second})
		must(t, second(p.Send(t.Context(), keyed("k", 0))))
		b := fake.brokers["broker-a"]
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			fake.mu.Lock()
			defer fake.mu.Unlock()
			b.answer(c, req)
			go b.stop()
			return true
		})
		_, err := p.Send(t.Context(), keyed("k", 1))
		if failure, ok := errors.AsType[*DeliveryError](err); !ok || !failure.MayBeStored {
			t.Fatalf("err = %v", err)
		}
		fake.setHook(nil)
		p.Resume("t", "k")
		done := make(chan error, 1)
		p.SendAsync(t.Context(), keyed("k", 2), func(_ Receipt, err error) { done <- err })
		b.start()
		must(t, <-done)
		checkExactly(t, fake, 3)
	})
}

func second[A any](_ A, err error) error { return err }

func TestSecondProducerOfANameFencesTheFirst(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		first := newProducer(t, fake.client("a"), ProducerConfig{Name: "billing"})
		must(t, second(first.Send(t.Context(), keyed("k", 0))))
		again := newProducer(t, fake.client("b"), ProducerConfig{Name: "billing"})
		must(t, second(again.Send(t.Context(), keyed("k", 1))))
		for range 2 {
			if _, err := first.Send(t.Context(), keyed("other", 9)); !errors.Is(err, ErrProducerFenced) {
				t.Errorf("first: %v", err)
			}
		}
		must(t, second(again.Send(t.Context(), keyed("k", 2))))
		checkExactly(t, fake, 3)
	})
}

// A broker that has forgotten the producer gets it anew.
func TestForgottenProducerStartsAnew(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		must(t, second(p.Send(t.Context(), keyed("k", 0))))
		fake.mu.Lock()
		*fake.numbers = *newFakeNumbers()
		fake.mu.Unlock()
		must(t, second(p.Send(t.Context(), keyed("k", 1))))
		checkExactly(t, fake, 2)
	})
}

// What was acknowledged and is lost is reported once; what was not goes again.
func TestLostTailIsReported(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		var lost []int
		p := newProducer(t, fake.client("p"), ProducerConfig{TailLost: func(e *TailLostError) { lost = append(lost, e.Messages) }})
		for i := range 3 {
			must(t, second(p.Send(t.Context(), keyed("k", i))))
		}
		fake.mu.Lock()
		for _, s := range fake.numbers.queues {
			s.Next, s.Frames = 1, s.Frames[:1]
		}
		b := fake.brokers["broker-a"]
		b.logs["t/0"] = b.logs["t/0"][:1]
		fake.mu.Unlock()
		must(t, second(p.Send(t.Context(), keyed("k", 3))))
		synctest.Wait()
		if !slices.Equal(lost, []int{2}) {
			t.Errorf("lost %v, want 2", lost)
		}
		checkExactly(t, fake, 0, "k:0", "k:3")
	})
}

func TestUnderWaySendCanBeWaitedFor(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		must(t, second(p.Send(t.Context(), keyed("k", 0))))
		fake.brokers["broker-a"].stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Send(ctx, keyed("k", 1))
		under, ok := errors.AsType[*UnderWayError](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("err = %v", err)
		}
		if _, err := under.Wait(ctx); !errors.Is(err, under) {
			t.Errorf("wait with an ended context: %v", err)
		}
		fake.brokers["broker-a"].start()
		r, err := under.Wait(t.Context())
		must(t, err)
		if r.Offset != 1 || len(p.Stopped()) != 0 {
			t.Errorf("receipt %+v, stopped %v", r, p.Stopped())
		}
	})
}

func TestFailFastAndFlush(t *testing.T) {
	inNumberedBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{FailFast: true, MaxPending: 2})
		must(t, second(p.Send(t.Context(), keyed("k", 0))))
		fake.brokers["broker-a"].stop()
		errs, _ := sendMany(t, p, "k", 1, 4)
		if !errors.Is(errs[2], ErrProducerFull) {
			t.Errorf("third: %v", errs[2])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		fake.brokers["broker-a"].start()
		must(t, p.Flush(t.Context()))
		must(t, errors.Join(errs[:2]...))
		must(t, second(p.Send(t.Context(), keyed("k", 3)))) // the key was not stopped
		checkExactly(t, fake, 4)
	})
}

// A stock broker has one request of a queue under way; what waits shares the
// next.
func TestStockBrokerGetsOneRequestAtATime(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		under, sends := 0, 0
		fake.setHook(func(b *fakeBroker, c *transport.Conn, req *wire.Command) bool {
			if len(bodiesOf(req)) == 0 {
				return false
			}
			fake.mu.Lock()
			defer fake.mu.Unlock()
			if sends, under = sends+1, under+1; under > 1 {
				t.Errorf("%d under way", under)
			}
			go func() {
				time.Sleep(10 * time.Millisecond)
				fake.mu.Lock()
				under--
				resp := b.answer(c, req)
				fake.mu.Unlock()
				_ = c.Reply(req, resp)
			}()
			return true
		})
		for i := range 100 {
			p.SendAsync(t.Context(), keyed("k", i), nil)
			time.Sleep(time.Millisecond)
		}
		must(t, p.Flush(t.Context()))
		checkExactly(t, fake, 100)
		if sends > 20 {
			t.Errorf("%d requests for 100 messages", sends)
		}
	})
}
