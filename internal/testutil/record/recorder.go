// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// Call is a handler call with what the consumer said of its message.
type Call struct {
	check.Call
	Attempt int
	Fence   uint64
	Queue   string
	Offset  int64
}

// Recorder hears of every send and every handler call and stamps them with this
// process's clock. Close waits for its goroutines.
type Recorder struct {
	ln     net.Listener
	began  time.Time
	script func(Start) Act
	wg     sync.WaitGroup

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed at the next change
	trap    *trap
	caught  map[string]bool // consumers whose answers are withheld
	dead    map[string]bool
	conns   map[net.Conn]bool // to end on Close
	closing bool
}

// State is what was recorded so far. It is lent to conditions of Await; its
// maps and slices must not be kept.
type State struct {
	Sends  []check.Send
	Calls  []Call
	Kills  []check.Kill
	Done   map[check.Message]bool // handled with success
	Queues map[string]int         // consumer -> queues that it holds
}

// trap waits for a consumer to be where it is wanted.
type trap struct {
	want func(s Start, queues int) bool
	got  chan string // has room for one
}

// New starts a recorder on a free loopback port. script says what each handler
// call is to do; it must not call the recorder. Nil: succeed at once.
func New(ctx context.Context, script func(Start) Act) (*Recorder, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	if script == nil {
		script = func(Start) Act { return Act{} }
	}
	r := &Recorder{
		ln: ln, began: time.Now(), script: script, changed: make(chan struct{}),
		state:  State{Done: map[check.Message]bool{}, Queues: map[string]int{}},
		caught: map[string]bool{}, dead: map[string]bool{}, conns: map[net.Conn]bool{},
	}
	r.wg.Go(r.accept)
	return r, nil
}

// Addr is where consumers report to.
func (r *Recorder) Addr() string { return r.ln.Addr().String() }

// Now is the time on the record's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Sent records a send and its answer.
func (r *Recorder) Sent(s check.Send) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Sends = append(r.state.Sends, s)
	r.tell()
}

// Killed records that the process of a consumer is dead. What it may have
// written before and nobody has read yet does not count: it was not answered.
func (r *Recorder) Killed(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Kills = append(r.state.Kills, check.Kill{Consumer: who, At: r.Now()})
	r.state.Queues[who] = 0
	r.dead[who] = true
	r.tell()
}

// Catch waits for a handler call for which want is true; queues is how many
// queues its consumer holds. The consumer is left inside the handler, without an
// answer, until it is killed.
func (r *Recorder) Catch(ctx context.Context, want func(s Start, queues int) bool) (string, error) {
	t := &trap{want: want, got: make(chan string, 1)}
	r.mu.Lock()
	r.trap = t
	r.mu.Unlock()
	select {
	case who := <-t.got:
		return who, nil
	case <-ctx.Done():
		return "", fmt.Errorf("recorder: nobody was caught inside a handler: %w", context.Cause(ctx))
	}
}

// Changed is closed at the next change of the record.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Look runs f on the record.
func (r *Recorder) Look(f func(*State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.state)
}

// Await returns when ok is true of the record, which is looked at after each
// change.
func (r *Recorder) Await(ctx context.Context, what string, ok func(*State) bool) error {
	for {
		changed := r.Changed()
		met := false
		r.Look(func(s *State) { met = ok(s) })
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("recorder: waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// Calls is a copy of the calls so far, in the order of their starts.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.state.Calls)
}

// Counts is the live view: messages sent, handled, and queues by consumer.
func (r *Recorder) Counts() (sent, handled int, queues map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.state.Sends), len(r.state.Done), maps.Clone(r.state.Queues)
}

// History is a copy of what was recorded, closed now.
func (r *Recorder) History() check.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := check.History{Sends: slices.Clone(r.state.Sends), Kills: slices.Clone(r.state.Kills), End: r.Now()}
	for _, c := range r.state.Calls {
		h.Calls = append(h.Calls, c.Call)
	}
	return h
}

// Close ends all connections.
func (r *Recorder) Close() {
	r.ln.Close()
	r.mu.Lock()
	r.closing = true
	for c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// tell is called under mu after each change.
func (r *Recorder) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}
