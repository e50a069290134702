// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// simMode is the kind of handler that the members of a seed have.
type simMode int

const (
	simByQueue simMode = iota
	simByKey
	simBatch
	simManual
	simPoison // by key, and a group that dead-letters; some messages always fail
	simPark   // by key, and a group that parks; an operator resumes what fails often
	simPull   // pull consumers
	simLoose  // consumers without order, on a plain topic: judged for loss only
	simModes
)

// simMember is one consumer's process, on a host of its own.
type simMember struct {
	s      *sim
	name   string
	gate   simGate
	alive  atomic.Bool
	leaves bool // in peace; touched by the goroutine of play only
	stop   context.CancelFunc
	ended  chan error
}

// simGate holds the goroutines of a process that stands still.
type simGate struct {
	mu    sync.Mutex
	shut  chan struct{} // nil: open
	since time.Time
	slept time.Duration // in all
}

func (g *simGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.since = make(chan struct{}), time.Now()
}

// open says how long the gate was shut, and whether it was.
func (g *simGate) open() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		return 0, false
	}
	d := time.Since(g.since)
	g.slept += d
	close(g.shut)
	g.shut = nil
	return d, true
}

func (g *simGate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

func (g *simGate) pass() {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

// join starts one more member.
func (s *sim) join() *simMember {
	s.joined++
	m := &simMember{s: s, name: fmt.Sprint("c", s.joined), ended: make(chan error, 1)}
	m.alive.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() { m.ended <- m.run(ctx) }()
	s.members = append(s.members, m)
	return m
}

// run is the life of the process. What cannot begin is started again, as
// whatever looks after processes does it.
func (m *simMember) run(ctx context.Context) error {
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		client, err := Open(ctx, m.config())
		if err != nil {
			continue // no name server was reached
		}
		err = errors.Join(m.consume(ctx, client), client.Close())
		if m.alive.Load() {
			m.s.rescued("member "+m.name, client.Rescues())
		}
		if !errors.Is(err, ErrTopicNotFound) {
			return err
		}
	}
	return nil
}

func (m *simMember) config() Config {
	host := m.s.net.Host(m.name)
	return Config{
		NameServers: []string{"ns:9876"}, InstanceName: m.name, Logger: m.s.logger(m.name), mono: m.clock(),
		Dial: func(ctx context.Context, _, addr string) (net.Conn, error) {
			m.gate.pass()
			return dialAlive(ctx, host.Dial, addr, &m.alive)
		},
	}
}

// clock is what the process reads; while the process stands still nobody in it
// gets an answer.
func (m *simMember) clock() func() time.Duration {
	begun := time.Now()
	return func() time.Duration {
		m.gate.pass()
		if m.s.sabotage == simBlindToPauses {
			m.gate.mu.Lock()
			defer m.gate.mu.Unlock()
			return time.Since(begun) - m.gate.slept
		}
		return time.Since(begun)
	}
}

func (m *simMember) frozen() bool { return m.gate.isShut() }

// freeze makes the process stand still for d.
func (m *simMember) freeze(d time.Duration) {
	m.s.net.Freeze(m.name)
	m.gate.close()
	time.AfterFunc(d, m.thaw)
}

// thaw ends freeze; it may be called again.
func (m *simMember) thaw() {
	m.s.mu.Lock()
	defer m.s.mu.Unlock() // no handler gets on before the pause is recorded
	if d, was := m.gate.open(); was {
		now := m.s.now()
		m.s.history.Pauses = append(m.s.history.Pauses, check.Pause{Consumer: m.name, From: now - d, To: now})
		m.s.net.Thaw(m.name)
	}
}

// kill ends the process without a word. Its goroutines end in the background;
// nobody hears of them.
func (m *simMember) kill() {
	m.alive.Store(false)
	m.s.mu.Lock()
	m.s.history.Kills = append(m.s.history.Kills, check.Kill{Consumer: m.name, At: m.s.now()})
	m.s.mu.Unlock()
	m.s.net.Kill(m.name)
	m.thaw()
	m.stop()
}

// join waits for the end of a member that was stopped, or killed.
func (m *simMember) join() {
	if err := <-m.ended; err != nil && m.alive.Load() {
		m.s.t.Errorf("seed %d: member %s: %v", m.s.seed, m.name, err)
	}
}

// consume runs the consumer of the seed's mode.
func (m *simMember) consume(ctx context.Context, client *Client) error {
	cfg := ConsumerConfig{
		Group: "g", Topic: "t", HandlerTimeout: 700 * time.Millisecond, CloseTimeout: 5 * time.Second,
		Backoff: func(int) time.Duration { return 50 * time.Millisecond },
	}
	switch m.s.mode {
	case simBatch:
		cfg.MaxBatch = 4
		return client.ConsumeBatch(ctx, cfg, m.batch)
	case simManual:
		return client.ConsumeManual(ctx, cfg, m.manual)
	case simByKey, simPoison, simPark:
		cfg.Order = ByKey
	case simLoose:
		cfg.Order = Unordered
	case simPull:
		return m.read(ctx, client)
	}
	return client.Consume(ctx, cfg, func(ctx context.Context, msg *Message) error { return m.call(ctx, msg, simPlainOdds).end() })
}

func (m *simMember) batch(ctx context.Context, ms []*Message) (int, error) {
	for i, msg := range ms {
		odds := simAllOdds
		if i > 0 { // what takes the whole batch back must not follow a success
			odds = simPlainError
			// A call that a pause has caught goes on until its context ends, at once;
			// a message begun in that moment would look like a new call.
			time.Sleep(time.Millisecond)
			if ctx.Err() != nil {
				return i, context.Cause(ctx)
			}
		}
		switch odd := m.call(ctx, msg, odds); odd {
		case simFine:
		case simUnknown:
			return len(ms) + 7, nil
		default:
			return i, odd.end()
		}
	}
	return len(ms), nil
}

func (m *simMember) manual(ctx context.Context, ms []*Message) (Decision, error) {
	switch odd := m.call(ctx, ms[0], simAllOdds); odd {
	case simFine:
		return Commit, nil
	case simUnknown:
		return Decision(77), nil
	case simError:
		return Rollback, nil
	default:
		return 0, odd.end()
	}
}

// read runs a pull consumer: one message at a time, committed when it is done. It
// has no context that ends when the queue is lost, so its work is short.
func (m *simMember) read(ctx context.Context, client *Client) error {
	p, err := client.NewPullConsumer(PullConsumerConfig{Group: "g", AutoCommit: -1})
	if err != nil {
		return err
	}
	if err = p.Subscribe(ctx, "t", Tags()); err != nil && ctx.Err() == nil {
		return errors.Join(err, p.Close())
	}
	for ctx.Err() == nil {
		ms, err := p.Poll(ctx, 1)
		if err != nil {
			m.s.counted("poll without messages")
			time.Sleep(10 * time.Millisecond)
			continue // the queue was lost, or ctx has ended
		}
		m.gate.pass()
		if !m.alive.Load() {
			<-ctx.Done()
			break
		}
		seq, _ := strconv.Atoi(string(ms[0].Body))
		at := m.s.begin(m.name, ms[0], seq)
		time.Sleep(time.Duration(2+seq%30) * time.Millisecond)
		m.gate.pass()
		m.s.ended(at, m, simFine)
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		if err := p.Commit(short); err != nil {
			m.s.counted("commit refused or lost")
		}
		cancel()
	}
	return p.Close()
}

// call is the work of a handler on one message. It is over within less than
// half the grace once its context has ended.
func (m *simMember) call(ctx context.Context, msg *Message, odds []simOdd) simOdd {
	m.gate.pass()
	if !m.alive.Load() {
		<-ctx.Done()
		return simError
	}
	seq, _ := strconv.Atoi(string(msg.Body))
	what, work, linger := m.s.dice(msg.OrderingKey, seq, odds)
	if m.s.poison(msg.OrderingKey, seq) {
		what, work = simError, time.Millisecond
	}
	at := m.s.begin(m.name, msg, seq)
	select {
	case <-time.After(work):
	case <-ctx.Done():
		time.Sleep(linger)
		if what == simFine && linger%2 == 0 {
			what = simError
		}
	}
	m.gate.pass()
	m.s.ended(at, m, what)
	return what
}

func (s *sim) begin(name string, msg *Message, seq int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.Calls = append(s.history.Calls, check.Call{
		Consumer: name, Key: msg.OrderingKey, Seq: seq, Place: simPlace(msg.Queue.ID, msg.Offset), Start: s.now(),
	})
	return len(s.history.Calls) - 1
}

func (s *sim) ended(at int, m *simMember, what simOdd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.alive.Load() {
		return // what a dead process did, nobody saw
	}
	c := &s.history.Calls[at]
	c.End, c.Outcome = s.now(), check.Success
	if what != simFine {
		c.Outcome = check.Failure
		s.count[what.String()]++
	}
}

// simPlace names where a message stands.
func simPlace(queue int, offset int64) string { return fmt.Sprintf("%d/%d", queue, offset) }

// simOdd is how a handler call ends.
type simOdd int

const (
	simFine simOdd = iota
	simError
	simPanic
	simGoexit
	simTimeout
	simUnknown
)

var (
	simPlainError = []simOdd{simError}
	simPlainOdds  = []simOdd{simError, simPanic, simGoexit, simTimeout}
	simAllOdds    = append([]simOdd{simUnknown}, simPlainOdds...)
)

func (o simOdd) String() string {
	return [...]string{"fine", "handler error", "handler panic", "handler Goexit", "handler time-out", "handler unknown status"}[o]
}

func simOddKinds() []string {
	var names []string
	for _, o := range simAllOdds {
		names = append(names, o.String())
	}
	return names
}

// end ends a handler in its way.
func (o simOdd) end() error {
	switch o {
	case simFine:
		return nil
	case simPanic:
		panic("odd")
	case simGoexit:
		runtime.Goexit()
	}
	return errors.New(o.String())
}
