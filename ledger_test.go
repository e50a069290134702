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
	owner   map[Queue]string
	moves   map[Queue]int // to another member than the one before
	seq     map[string]int
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, start: time.Now(), owner: map[Queue]string{}, moves: map[Queue]int{}, seq: map[string]int{}}
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

// handler records the calls of a member's handler, which take d.
func (l *ledger) handler(name string, d time.Duration) Handler {
	return func(_ context.Context, m *Message) error {
		seq, _ := strconv.Atoi(string(m.Body))
		l.mu.Lock()
		at := len(l.history.Calls)
		l.history.Calls = append(l.history.Calls, check.Call{Consumer: name, Key: m.OrderingKey, Seq: seq, Start: time.Since(l.start)})
		l.mu.Unlock()
		time.Sleep(d)
		l.mu.Lock()
		defer l.mu.Unlock()
		call := &l.history.Calls[at]
		call.End, call.Outcome = time.Since(l.start), check.Success
		return nil
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
	l.history.End = time.Since(l.start)
	rep := check.Check(l.history)
	if !rep.OK() || rep.Handled == 0 {
		l.t.Errorf("lost %d, out of order %d, overlapping %d: %v", rep.Lost, rep.OutOfOrder, rep.Overlapping, rep.Faults)
	}
	return rep
}
