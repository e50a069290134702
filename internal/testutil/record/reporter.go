// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"
)

// Reporter is a consumer's end of the recorder's protocol. One goroutine, Run,
// owns the connection; calls may come from many handlers.
type Reporter struct {
	asks chan ask
	over chan struct{} // closed when Run has ended
}

type ask struct {
	req  request
	done chan<- result
}

type result struct {
	ans answer
	err error
}

var errOver = errors.New("recorder: no longer reported to")

// NewReporter makes a reporter. Its calls wait for Run to begin and fail once
// it has ended.
func NewReporter() *Reporter { return &Reporter{asks: make(chan ask), over: make(chan struct{})} }

// Run dials the recorder and serves calls until ctx ends or the link does. It
// may run once.
func (r *Reporter) Run(ctx context.Context, addr, who string) error {
	defer close(r.over)
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out, in := json.NewEncoder(conn), json.NewDecoder(bufio.NewReader(conn))
	trip := func(req request) (ans answer, err error) {
		if err = out.Encode(req); err == nil {
			err = in.Decode(&ans)
		}
		if err == nil && ans.Error != "" {
			err = errors.New("recorder: " + ans.Error)
		}
		return ans, err
	}
	if _, err := trip(request{Op: opHello, Consumer: who}); err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	for {
		select {
		case a := <-r.asks:
			ans, err := trip(a.req)
			a.done <- result{ans, err}
			if err != nil {
				return fmt.Errorf("recorder: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *Reporter) ask(ctx context.Context, req request) (answer, error) {
	done := make(chan result, 1)
	select {
	case r.asks <- ask{req, done}:
	case <-r.over:
		return answer{}, errOver
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

// Start reports the beginning of a handler call and waits for the answer: the
// call's number and what the handler is to do.
func (r *Reporter) Start(ctx context.Context, s Start) (call int, act Act, err error) {
	ans, err := r.ask(ctx, request{Op: opStart, Start: &s})
	return ans.Call, ans.Act, err
}

// End reports the end of a call and waits for the answer.
func (r *Reporter) End(ctx context.Context, call int, failed bool) error {
	_, err := r.ask(ctx, request{Op: opEnd, Call: call, Failed: failed})
	return err
}

// Queues reports how many queues the consumer holds.
func (r *Reporter) Queues(ctx context.Context, n int) error {
	_, err := r.ask(ctx, request{Op: opQueues, Queues: n})
	return err
}

// Handle is a whole handler call: it reports its start, does what the recorder
// says, for as long as that takes whatever becomes of other contexts, and
// reports its end. ctx ends the reporting.
func (r *Reporter) Handle(ctx context.Context, s Start) error {
	call, act, err := r.Start(ctx, s)
	if err != nil {
		return err
	}
	if act.Work > 0 {
		t := time.NewTimer(act.Work)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := r.End(ctx, call, act.End != Succeed); err != nil {
		return err
	}
	switch act.End {
	case Succeed:
		return nil
	case Panic:
		panic("a handler was told to panic")
	case Goexit:
		runtime.Goexit()
	}
	return errors.New("a handler was told to fail")
}
