// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// recorder hears of every send and every handler call, stamps them with the
// parent's clock, and keeps the history. Close waits for its goroutines.
type recorder struct {
	ln      net.Listener
	began   time.Time
	handled chan struct{} // signalled, with room for one, at each success
	wg      sync.WaitGroup

	mu struct {
		sync.Mutex
		history check.History
		done    map[check.Message]bool
		queues  map[string]int    // consumer -> queues it holds
		open    map[string]int    // consumer -> calls without an end
		trap    chan<- string     // gets the name of a consumer caught inside a handler
		caught  string            // the consumer whose answers are withheld
		spare   string            // a consumer that must not be caught
		conns   map[net.Conn]bool // to end on Close
		closing bool
	}
}

func newRecorder(ctx context.Context) (*recorder, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo: recorder: %w", err)
	}
	r := &recorder{ln: ln, began: time.Now(), handled: make(chan struct{}, 1)}
	r.mu.done = map[check.Message]bool{}
	r.mu.queues = map[string]int{}
	r.mu.open = map[string]int{}
	r.mu.conns = map[net.Conn]bool{}
	r.wg.Go(r.accept)
	return r, nil
}

func (r *recorder) addr() string { return r.ln.Addr().String() }

func (r *recorder) now() time.Duration { return time.Since(r.began) }

func (r *recorder) accept() {
	for {
		conn, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		closing := r.mu.closing
		r.mu.conns[conn] = true
		r.mu.Unlock()
		if closing {
			conn.Close()
			return
		}
		r.wg.Go(func() { r.serve(conn) })
	}
}

// serve speaks with one consumer process until its link ends.
func (r *recorder) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		r.mu.Lock()
		delete(r.mu.conns, conn)
		r.mu.Unlock()
	}()
	var who string
	out := json.NewEncoder(conn)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return
		}
		if req.Op == opHello {
			who = req.Consumer
		}
		ans, withheld := r.take(who, req)
		if withheld {
			continue
		}
		if out.Encode(ans) != nil {
			return
		}
	}
}

// take records one line. withheld is true if the answer must not be given:
// the consumer has been caught inside a handler and is about to be killed.
func (r *recorder) take(who string, req request) (ans answer, withheld bool) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.mu.history
	switch req.Op {
	case opHello:
	case opQueues:
		r.mu.queues[who] = req.Queues
	case opStart:
		h.Calls = append(h.Calls, check.Call{Consumer: who, Key: req.Key, Seq: req.Seq, Start: now})
		r.mu.open[who]++
		ans.Call = len(h.Calls)
		r.spring(who)
	case opEnd:
		if req.Call < 1 || req.Call > len(h.Calls) || h.Calls[req.Call-1].Consumer != who {
			ans.Error = "no such call"
			break
		}
		c := &h.Calls[req.Call-1]
		if c.Outcome == check.Open && r.mu.caught != who {
			c.End, c.Outcome = now, check.Success
			r.mu.open[who]--
			r.mu.done[check.Message{Key: c.Key, Seq: c.Seq}] = true
			select {
			case r.handled <- struct{}{}:
			default:
			}
		}
	default:
		ans.Error = "unknown operation"
	}
	return ans, who != "" && r.mu.caught == who
}

// spring catches who if the trap is set and who holds two queues or more. It
// is called under mu when who has just started a call.
func (r *recorder) spring(who string) {
	if r.mu.trap == nil || r.mu.queues[who] < 2 || who == r.mu.spare {
		return
	}
	r.mu.caught = who
	r.mu.trap <- who
	r.mu.trap = nil
}

// catch waits for a consumer other than spare that holds two queues and is
// inside a handler, and leaves it there, without an answer.
func (r *recorder) catch(ctx context.Context, spare string) (string, error) {
	trap := make(chan string, 1)
	r.mu.Lock()
	r.mu.trap, r.mu.spare = trap, spare
	r.mu.Unlock()
	select {
	case who := <-trap:
		return who, nil
	case <-ctx.Done():
		return "", fmt.Errorf("demo: no consumer with two queues was found inside a handler: %w", context.Cause(ctx))
	}
}

func (r *recorder) killed(who string) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.history.Kills = append(r.mu.history.Kills, check.Kill{Consumer: who, At: now})
	r.mu.queues[who], r.mu.open[who] = 0, 0
}

func (r *recorder) sent(s check.Send) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.history.Sends = append(r.mu.history.Sends, s)
}

// counts is the live view: messages sent, handled, and queues by consumer.
func (r *recorder) counts() (sent, handled int, queues map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queues = make(map[string]int, len(r.mu.queues))
	for k, v := range r.mu.queues {
		queues[k] = v
	}
	return len(r.mu.history.Sends), len(r.mu.done), queues
}

// history is a copy of what was recorded, closed now.
func (r *recorder) history() check.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.mu.history
	h.Calls = append([]check.Call(nil), h.Calls...)
	h.Sends = append([]check.Send(nil), h.Sends...)
	h.End = r.now()
	return h
}

func (r *recorder) close() {
	r.ln.Close()
	r.mu.Lock()
	r.mu.closing = true
	for c := range r.mu.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}
