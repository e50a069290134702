// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// ledger records, on one clock, who was given which queue when, what was sent,
// and the calls of all handlers, for the order checker.
type ledger struct {
	t     *testing.T
	start time.Time

	mu      sync.Mutex
	history check.History
	calls   []ledgerCall    // parallel to history.Calls
	dead    map[string]bool // members whose process was killed
	owner   map[Queue]string
	moves   map[Queue]int // to another member than the one before
	seq     map[string]int
}

// ledgerCall is what the checker does not ask for.
type ledgerCall struct {
	queue Queue
	fence uint64
	cause error         // why its context had ended when it returned
	cut   time.Duration // when its context ended; 0: it did not
}

func newLedger(t *testing.T) *ledger {
	return &ledger{
		t: t, start: time.Now(), dead: map[string]bool{}, owner: map[Queue]string{}, moves: map[Queue]int{}, seq: map[string]int{},
	}
}

func (l *ledger) now() time.Duration { return time.Since(l.start) }

// kill notes the death of a member's process: what it does later nobody sees.
func (l *ledger) kill(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead[name] = true
	l.history.Kills = append(l.history.Kills, check.Kill{Consumer: name, At: l.now()})
}

// ownedBy lists the queues that were last given to a member.
func (l *ledger) ownedBy(name string) []Queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	var queues []Queue
	for q, owner := range l.owner {
		if owner == name {
			queues = append(queues, q)
		}
	}
	return queues
}

// next is when the first call for q began after a moment, made by another
// member than the one that had it.
func (l *ledger) next(q Queue, after time.Duration, had string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.history.Calls {
		if l.calls[i].queue == q && c.Consumer != had && c.Start >= after {
			return c.Start, true
		}
	}
	return 0, false
}

// fences checks that fence numbers of each queue never go back from call to
// call, whoever makes them.
func (l *ledger) fences() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	last := map[Queue]uint64{}
	for i, c := range l.calls {
		if c.fence < last[c.queue] {
			l.t.Errorf("%v: call of %s for %v under fence %d after %d", l.history.Calls[i].Start, l.history.Calls[i].Consumer, c.queue, c.fence, last[c.queue])
		}
		last[c.queue] = c.fence
	}
}

// watch adds the record of a member's queues to cfg.
func (l *ledger) watch(name string, cfg ConsumerConfig) ConsumerConfig {
	cfg.OnAssign = func(qs []Queue) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, q := range qs {
			if was, ok := l.owner[q]; ok && was != name {
				l.moves[q]++
			}
			l.owner[q] = name
		}
	}
	return cfg
}

// owners counts the queues by who was given them last.
func (l *ledger) owners() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := map[string]int{}
	for _, name := range l.owner {
		count[name]++
	}
	return count
}

// moved is how many queues have moved since the last call, and the most moves
// of one queue.
func (l *ledger) moved() (queues, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.moves {
		queues++
		most = max(most, n)
	}
	clear(l.moves)
	return queues, most
}

// handler records the calls of a member's handler, which take d and look at no
// context.
func (l *ledger) handler(name string, d time.Duration) Handler {
	return l.record(name, func(context.Context, *Message) error { time.Sleep(d); return nil })
}

// record records the calls of h.
func (l *ledger) record(name string, h Handler) Handler {
	return func(ctx context.Context, m *Message) error {
		seq, _ := strconv.Atoi(string(m.Body))
		l.mu.Lock()
		if l.dead[name] {
			l.mu.Unlock()
			<-ctx.Done()
			return ctx.Err()
		}
		at := len(l.history.Calls)
		l.history.Calls = append(l.history.Calls, check.Call{Consumer: name, Key: m.OrderingKey, Seq: seq, Start: l.now()})
		l.calls = append(l.calls, ledgerCall{queue: m.Queue, fence: m.Fence})
		l.mu.Unlock()
		watched := context.AfterFunc(ctx, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.calls[at].cut = l.now()
		})
		err := h(ctx, m)
		watched()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.calls[at].cause = context.Cause(ctx)
		if l.dead[name] {
			return err
		}
		call := &l.history.Calls[at]
		call.End, call.Outcome = l.now(), check.Success
		if err != nil {
			call.Outcome = check.Failure
		}
		return err
	}
}

// send sends one message to each of keys k0, k1, ...
func (l *ledger) send(p *Producer, keys int) {
	for k := range keys {
		key := fmt.Sprint("k", k)
		l.mu.Lock()
		l.seq[key]++
		seq, at := l.seq[key], len(l.history.Sends)
		l.history.Sends = append(l.history.Sends, check.Send{Key: key, Seq: seq})
		l.mu.Unlock()
		p.SendAsync(context.Background(), &Message{Topic: "t", OrderingKey: key, Body: strconv.AppendInt(nil, int64(seq), 10)}, func(_ Receipt, err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.history.Sends[at].Acked = err == nil; err != nil {
				l.t.Errorf("send %s:%d: %v", key, seq, err)
			}
		})
	}
}

// flow sends one message to each key every so often until the returned function
// is called, which waits for the last one.
func (l *ledger) flow(p *Producer, keys int, every time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(every):
				l.send(p, keys)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		must(l.t, p.Close(context.Background()))
	}
}

// judge has the checker look at everything.
func (l *ledger) judge() check.Report {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.End = l.now()
	rep := check.Check(l.history)
	if !rep.OK() || rep.Handled == 0 {
		l.t.Errorf("lost %d, out of order %d, overlapping %d: %v", rep.Lost, rep.OutOfOrder, rep.Overlapping, rep.Faults)
	}
	return rep
}
