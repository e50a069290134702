// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

func TestCallReturnsTheAnswer(t *testing.T) {
	r := newRig(t, ServerConfig{Handler: echo})
	c := r.connect()
	for _, size := range []int{0, 1, copyLimit, copyLimit + 1, 3 << 20} {
		body := bytes.Repeat([]byte{7}, size)
		req := wire.NewRequest(10, nil, body)
		req.Ext.Set("k", "v")
		resp, err := c.Call(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if !resp.IsResponse() || resp.Ext.Value("k") != "v" || !bytes.Equal(resp.Body, body) {
			t.Errorf("body of %d: got %d bytes, ext %v", size, len(resp.Body), resp.Ext)
		}
	}
}

func TestRequestsArriveInOrderAndAnswersMayNot(t *testing.T) {
	const n = 100
	var mu sync.Mutex
	var order []string
	var held []*wire.Command
	r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, string(req.Body))
		if held = append(held, req); len(held) < n {
			return
		}
		for _, req := range slices.Backward(held) {
			resp := wire.NewResponse(req, wire.Success, "")
			resp.Body = req.Body
			if err := c.Reply(req, resp); err != nil {
				t.Errorf("reply: %v", err)
			}
		}
	})})
	c := r.connect()
	var want []string
	answers := make(chan string, n)
	for i := range n {
		body := fmt.Sprint(i)
		want = append(want, body)
		c.CallAsync(wire.NewRequest(10, nil, []byte(body)), time.Time{}, func(resp *wire.Command, err error) {
			if err != nil || string(resp.Body) != body {
				t.Errorf("call %s: %v, %v", body, resp, err)
			}
			answers <- body
		})
	}
	for range n {
		<-answers
	}
	if mu.Lock(); !slices.Equal(order, want) {
		t.Errorf("served in order %v", order)
	}
	mu.Unlock()
	if n, b := c.Requests(); n != 0 || b != 0 {
		t.Errorf("client holds %d requests", n)
	}
}

func TestServerCallsClientWithTheSameOpaque(t *testing.T) {
	asked := make(chan *wire.Command, 1)
	r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		c.CallAsync(wire.NewRequest(39, nil, []byte("state?")), time.Time{}, func(resp *wire.Command, err error) {
			if err != nil {
				t.Errorf("call to the client: %v", err)
			}
			asked <- resp
			_ = c.Reply(req, wire.NewResponse(req, wire.Success, "done"))
		})
	})})
	r.d.Handler = echo
	c := r.connect()
	resp, err := c.Call(t.Context(), wire.NewRequest(10, nil, nil))
	if err != nil || resp.Remark != "done" {
		t.Fatalf("got %v, %v", resp, err)
	}
	if got := <-asked; string(got.Body) != "state?" || got.Opaque != resp.Opaque {
		t.Errorf("client answered %+v; want both sides to have used opaque %d", got, resp.Opaque)
	}
}

func TestClientWithoutHandlerAnswersNotSupported(t *testing.T) {
	got := make(chan *wire.Command, 1)
	r := newRig(t, ServerConfig{OnOpen: func(c *Conn) {
		c.CallAsync(wire.NewRequest(999, nil, nil), time.Time{}, func(resp *wire.Command, _ error) { got <- resp })
	}, Handler: echo})
	r.connect()
	if resp := <-got; resp.Code != wire.RequestCodeNotSupported || resp.Remark != " request type 999 not supported" {
		t.Errorf("got %+v", resp)
	}
}

func TestOnewayIsServedAndNotAnswered(t *testing.T) {
	r := newRig(t, ServerConfig{Handler: echo})
	c := r.raw()
	oneway := wire.NewRequest(10, nil, []byte("lost"))
	oneway.Flag, oneway.Opaque = wire.FlagOneway, 1
	normal := wire.NewRequest(10, nil, []byte("asked"))
	normal.Opaque = 2
	if _, err := c.Write(append(frame(t, oneway), frame(t, normal)...)); err != nil {
		t.Fatal(err)
	}
	f, err := wire.ReadFrame(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := wire.Decode(f); err != nil || resp.Opaque != 2 || string(resp.Body) != "asked" {
		t.Errorf("got %+v, %v", resp, err)
	}
	for _, sc := range r.srv.Conns() {
		if n, _ := sc.Requests(); n != 0 {
			t.Errorf("%d requests still open", n)
		}
	}
}

func TestSecondReplyIsRefused(t *testing.T) {
	errs := make(chan error, 2)
	r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		errs <- c.Reply(req, wire.NewResponse(req, wire.Success, "first"))
		errs <- c.Reply(req, wire.NewResponse(req, wire.Success, "second"))
	})})
	c := r.connect()
	if _, err := c.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if err := <-errs; err != nil {
		t.Errorf("first: %v", err)
	}
	if err := <-errs; !errors.Is(err, ErrAnswered) {
		t.Errorf("second: %v", err)
	}
}

func TestFramesBeforeACloseAreServedBeforeOnClose(t *testing.T) {
	const n = 500
	served := 0
	atClose := make(chan int, 1)
	r := newRig(t, ServerConfig{
		Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			served++ // the reader's goroutine only
			_ = c.Reply(req, wire.NewResponse(req, wire.Success, ""))
		}),
		OnClose: func(_ *Conn, err error) {
			if !errors.Is(err, io.EOF) {
				t.Errorf("close reason %v", err)
			}
			atClose <- served
		},
	})
	c := r.raw()
	var burst []byte
	for i := range n {
		cmd := wire.NewRequest(10, nil, make([]byte, i))
		cmd.Flag = wire.FlagOneway
		burst = append(burst, frame(t, cmd)...)
	}
	r.net.Delay("client", "server", 0)
	go func() { // more than the network's buffer holds
		_, _ = c.Write(burst)
		_ = c.Close()
	}()
	if got := <-atClose; got != n {
		t.Errorf("%d of %d frames served before OnClose", got, n)
	}
}

func TestCallEndsAtItsDeadlineAndWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan func(), 1)
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			if string(req.Body) == "late" {
				late <- func() { _ = c.Reply(req, wire.NewResponse(req, wire.Success, "")) }
			}
		})})
		c := r.connect()
		start := time.Now()
		errs := make(chan error, 1)
		c.CallAsync(wire.NewRequest(1, nil, []byte("late")), start.Add(3*time.Second), func(_ *wire.Command, err error) { errs <- err })
		for i := range 5 { // earlier and later deadlines around it
			c.CallAsync(wire.NewRequest(1, nil, nil), start.Add(time.Duration(5-i)*2*time.Second), func(*wire.Command, error) {})
		}
		if err := <-errs; !errors.Is(err, ErrTimeout) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		(<-late)() // dropped by the client
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		_, err := c.Call(ctx, wire.NewRequest(1, nil, nil))
		if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(10 * time.Second)
		if n := c.Calls(); n != 0 {
			t.Errorf("%d calls still open", n)
		}
		for _, sc := range r.srv.Conns() {
			sc.Close(nil) // its handler never answers
		}
	})
}

func TestCallsFailWhenTheConnectionEnds(t *testing.T) {
	r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		c.Close(errors.New("enough"))
	})})
	c := r.connect()
	_, err := c.Call(t.Context(), wire.NewRequest(1, nil, nil))
	if !errors.Is(err, ErrClosed) || errors.Is(err, ErrNotSent) {
		t.Errorf("open call: %v", err)
	}
	c.Wait()
	_, err = c.Call(t.Context(), wire.NewRequest(1, nil, nil))
	if !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) {
		t.Errorf("call after the end: %v", err)
	}
	failed := make(chan error, 1)
	c.CallAsync(wire.NewRequest(1, nil, nil), time.Time{}, func(_ *wire.Command, err error) { failed <- err })
	if err := <-failed; !errors.Is(err, ErrNotSent) {
		t.Errorf("async call after the end: %v", err)
	}
	if err := c.Send(wire.NewRequest(1, nil, nil)); !errors.Is(err, ErrNotSent) {
		t.Errorf("send after the end: %v", err)
	}
}

func TestUrgentFramesOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			for range 64 {
				big := wire.NewRequest(40, nil, make([]byte, 64<<10))
				_ = c.Send(big)
			}
			_ = c.ReplyWith(req, wire.NewResponse(req, wire.Success, "ping"), WriteOptions{Urgent: true})
		})})
		c := r.raw()
		ping := wire.NewRequest(34, nil, nil)
		if _, err := c.Write(frame(t, ping)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the server has filled the network's buffer and waits
		before := 0
		for {
			f, err := wire.ReadFrame(c, 0)
			if err != nil {
				t.Fatal(err)
			}
			if cmd, _ := wire.Decode(f); cmd.Remark == "ping" {
				break
			}
			before++
		}
		if before > batchSize>>16+1 {
			t.Errorf("%d of 64 big frames before the urgent one", before)
		}
		_ = c.Close()
	})
}

func TestWrittenRunsOnceForEveryFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		c := r.connect()
		var mu sync.Mutex
		ok, failed := 0, 0
		count := WriteOptions{Written: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ok++
			} else {
				failed++
			}
		}}
		for range 10 {
			_ = c.SendWith(wire.NewRequest(1, nil, make([]byte, 10_000)), count)
		}
		synctest.Wait()
		r.net.Freeze("server")
		for range 100 {
			_ = c.SendWith(wire.NewRequest(1, nil, make([]byte, 10_000)), count)
		}
		synctest.Wait()
		c.Close(nil)
		c.Wait()
		_ = c.SendWith(wire.NewRequest(1, nil, nil), count)
		r.net.Thaw("server")
		mu.Lock()
		defer mu.Unlock()
		if ok < 10 || failed < 1 || ok+failed != 111 {
			t.Errorf("%d written, %d failed, want 111 in all", ok, failed)
		}
	})
}

func TestValueAndIDs(t *testing.T) {
	r := newRig(t, ServerConfig{Handler: echo})
	a, b := r.connect(), r.connect()
	if a.ID() == b.ID() {
		t.Error("two connections, one id")
	}
	if a.Value() != nil {
		t.Error("a value from nowhere")
	}
	a.SetValue(42)
	if a.Value() != 42 {
		t.Errorf("value %v", a.Value())
	}
}

func TestCloseWithoutACauseEndsAReadInsideABody(t *testing.T) {
	r := newRig(t, ServerConfig{Handler: echo})
	c := r.raw()
	whole := frame(t, wire.NewRequest(1, nil, make([]byte, 100_000)))
	if _, err := c.Write(whole[:50_000]); err != nil {
		t.Fatal(err)
	}
	for len(r.srv.Conns()) == 0 {
		runtime.Gosched()
	}
	for _, sc := range r.srv.Conns() {
		sc.Close(nil)
		sc.Wait()
		if err := sc.Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
}
