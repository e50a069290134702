// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

// reporter is the consumer's end of the recorder's protocol. One goroutine,
// run, owns the connection; calls may come from many handlers.
type reporter struct {
	asks chan ask
}

type ask struct {
	req  request
	done chan<- result
}

type result struct {
	ans answer
	err error
}

func newReporter() *reporter { return &reporter{asks: make(chan ask)} }

// run dials the recorder and serves calls until ctx ends or the link does.
func (r *reporter) run(ctx context.Context, addr, who string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("demo: recorder: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out, in := json.NewEncoder(conn), json.NewDecoder(bufio.NewReader(conn))
	trip := func(req request) (ans answer, err error) {
		if err = out.Encode(req); err == nil {
			err = in.Decode(&ans)
		}
		if err == nil && ans.Error != "" {
			err = errors.New("demo: recorder: " + ans.Error)
		}
		return ans, err
	}
	if _, err := trip(request{Op: opHello, Consumer: who}); err != nil {
		return fmt.Errorf("demo: recorder: %w", err)
	}
	for {
		select {
		case a := <-r.asks:
			ans, err := trip(a.req)
			a.done <- result{ans, err}
			if err != nil {
				return fmt.Errorf("demo: recorder: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *reporter) ask(ctx context.Context, req request) (answer, error) {
	done := make(chan result, 1)
	select {
	case r.asks <- ask{req, done}:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	select {
	case res := <-done:
		return res.ans, res.err
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// start reports the beginning of a handler call and waits for the answer.
func (r *reporter) start(ctx context.Context, key string, seq int) (call int, err error) {
	ans, err := r.ask(ctx, request{Op: opStart, Key: key, Seq: seq})
	return ans.Call, err
}

// end reports the success of a call and waits for the answer.
func (r *reporter) end(ctx context.Context, call int) error {
	_, err := r.ask(ctx, request{Op: opEnd, Call: call})
	return err
}

func (r *reporter) queues(ctx context.Context, n int) error {
	_, err := r.ask(ctx, request{Op: opQueues, Queues: n})
	return err
}
