// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"

	"github.com/orderlymq/orderly/internal/check"
)

func (r *Recorder) accept() {
	for {
		conn, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		closing := r.closing
		r.conns[conn] = true
		r.mu.Unlock()
		if closing {
			conn.Close()
			return
		}
		r.wg.Go(func() { r.serve(conn) })
	}
}

// serve speaks with one consumer until its link ends.
func (r *Recorder) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
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

// take records one line. withheld is true if the answer must not be given: the
// consumer was caught inside a handler, or it is dead.
func (r *Recorder) take(who string, req request) (ans answer, withheld bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caught[who] || r.dead[who] {
		return answer{}, true
	}
	switch req.Op {
	case opHello:
	case opQueues:
		r.state.Queues[who] = req.Queues
	case opStart:
		ans = r.start(who, req.Start)
	case opEnd:
		ans = r.end(who, req)
	default:
		ans.Error = "unknown operation"
	}
	r.tell()
	return ans, r.caught[who]
}

func (r *Recorder) start(who string, s *Start) answer {
	if s == nil {
		return answer{Error: "a start without a message"}
	}
	s.Consumer = who
	place := ""
	if s.Queue != "" {
		place = fmt.Sprintf("%s/%d", s.Queue, s.Offset)
	}
	r.state.Calls = append(r.state.Calls, Call{
		Call:    check.Call{Consumer: who, Key: s.Key, Seq: s.Seq, Place: place, Start: r.Now()},
		Attempt: s.Attempt, Fence: s.Fence, Queue: s.Queue, Offset: s.Offset,
	})
	if r.trap != nil && r.trap.want(*s, r.state.Queues[who]) {
		r.caught[who] = true
		r.trap.got <- who
		r.trap = nil
	}
	return answer{Call: len(r.state.Calls), Act: r.script(*s)}
}

func (r *Recorder) end(who string, req request) answer {
	if req.Call < 1 || req.Call > len(r.state.Calls) || r.state.Calls[req.Call-1].Consumer != who {
		return answer{Error: "no such call"}
	}
	c := &r.state.Calls[req.Call-1]
	if c.Outcome != check.Open {
		return answer{Error: "the call has ended before"}
	}
	c.End, c.Outcome = r.Now(), check.Failure
	if !req.Failed {
		c.Outcome = check.Success
		r.state.Done[check.Message{Key: c.Key, Seq: c.Seq}] = true
	}
	return answer{}
}
