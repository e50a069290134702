// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// ends records why connections ended.
type ends chan error

func (e ends) onClose(_ *Conn, err error) { e <- err }

func newEnds() ends { return make(ends, 100) }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestLyingFrameClosesTheConnectionAndIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		closed := newEnds()
		r := newRig(t, ServerConfig{Handler: echo, OnClose: closed.onClose, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		other := r.connect()
		c := r.raw()
		if _, err := c.Write(prefix(1<<31, 0)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read %d, %v; want the connection closed", n, err)
		}
		if err := <-closed; !isFrameError(err) {
			t.Errorf("reason %v", err)
		}
		if line := log.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "2147483652 bytes announced") || !strings.Contains(line, "peer=client:") {
			t.Errorf("log: %s", line)
		}
		if _, err := other.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
			t.Errorf("another connection: %v", err)
		}
	})
}

func TestUnfinishedFrameTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := newEnds()
		r := newRig(t, ServerConfig{Handler: echo, OnClose: closed.onClose})
		c := r.raw()
		start := time.Now()
		whole := frame(t, wire.NewRequest(1, nil, make([]byte, 1000)))
		for i := range whole { // a byte every 5 s keeps the link busy, but not for ever
			if _, err := c.Write(whole[i : i+1]); err != nil {
				break
			}
			time.Sleep(5 * time.Second)
		}
		if err := <-closed; !isFrameError(err) || !strings.Contains(err.Error(), "not ended within 30s") {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if d := time.Since(start); d > 40*time.Second {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestIdleConnectionIsClosedAndABusyOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := newEnds()
		parked := make(chan *wire.Command, 1)
		r := newRig(t, ServerConfig{OnClose: closed.onClose, Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			if req.Code == 11 {
				parked <- req
				return
			}
			echo(c, req)
		})})
		idle, busy, pushed := r.connect(), r.connect(), r.connect()
		start := time.Now()
		_, _ = pushed.Call(t.Context(), wire.NewRequest(1, nil, nil))
		for time.Since(start) < 95*time.Second {
			time.Sleep(10 * time.Second)
			if _, err := busy.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
				t.Fatal(err)
			}
		}
		for _, sc := range r.srv.Conns() { // only written to
			if sc.RemoteAddr().String() == pushed.LocalAddr().String() {
				_ = sc.Send(wire.NewRequest(40, nil, nil))
			}
		}
		idle.Wait()
		if d := time.Since(start); d != 120*time.Second {
			t.Errorf("idle connection closed after %v", d)
		}
		if !errors.Is(idle.Err(), ErrIdle) && !errors.Is(idle.Err(), io.EOF) {
			t.Errorf("reason %v", idle.Err())
		}
		<-closed
		time.Sleep(60 * time.Second)
		if busy.Err() != nil || pushed.Err() != nil {
			t.Errorf("busy: %v, written to: %v", busy.Err(), pushed.Err())
		}
	})
}

func TestTooManyUnansweredRequestsStopTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var held []*wire.Command
		var conn *Conn
		r := newRig(t, ServerConfig{
			Limits: Limits{MaxInFlightBytes: 100_000},
			Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
				mu.Lock()
				defer mu.Unlock()
				conn, held = c, append(held, req)
			}),
		})
		c := r.connect()
		const n, size = 100, 10_000
		answered := make(chan error, n)
		for range n {
			c.CallAsync(wire.NewRequest(10, nil, make([]byte, size)), time.Time{}, func(_ *wire.Command, err error) { answered <- err })
		}
		synctest.Wait()
		mu.Lock()
		if len(held)*size > 100_000 || len(held) < 9 {
			t.Errorf("%d requests taken in", len(held))
		}
		mu.Unlock()
		for done := 0; done < n; {
			synctest.Wait()
			mu.Lock()
			if _, b := conn.Requests(); b > 100_000+size+2*requestCost {
				t.Errorf("%d bytes in flight", b)
			}
			now, on := held, conn
			held = nil
			mu.Unlock()
			for _, req := range now {
				_ = on.Reply(req, wire.NewResponse(req, wire.Success, ""))
			}
			done += len(now)
		}
		for range n {
			if err := <-answered; err != nil {
				t.Fatal(err)
			}
		}
		if reqs, _ := r.srv.InFlight(); reqs != 0 {
			t.Errorf("%d bytes still charged", reqs)
		}
	})
}

func TestTotalBoundRefusesLargeRequestsAndServesSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var mu sync.Mutex
		var held []func()
		r := newRig(t, ServerConfig{
			MaxTotalInFlightBytes: 100_000,
			Logger:                slog.New(slog.NewTextHandler(&log, nil)),
			Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
				if req.Code != 10 {
					echo(c, req)
					return
				}
				mu.Lock()
				held = append(held, func() { echo(c, req) })
				mu.Unlock()
			}),
		})
		greedy, other := r.connect(), r.connect()
		for range 8 {
			greedy.CallAsync(wire.NewRequest(10, nil, make([]byte, 12_000)), time.Time{}, func(*wire.Command, error) {})
		}
		synctest.Wait()
		resp, err := other.Call(t.Context(), wire.NewRequest(10, nil, make([]byte, 20_000)))
		if err != nil || resp.Code != wire.SystemBusy || !strings.HasPrefix(resp.Remark, "[OVERLOAD]") {
			t.Errorf("large request: %+v, %v", resp, err)
		}
		if resp, err := other.Call(t.Context(), wire.NewRequest(34, nil, make([]byte, 1000))); err != nil || resp.Code != wire.Success {
			t.Errorf("small request: %+v, %v", resp, err)
		}
		if !strings.Contains(log.String(), "request refused") {
			t.Errorf("log: %s", log.String())
		}
		mu.Lock()
		for _, answer := range held {
			answer()
		}
		held = nil
		mu.Unlock()
		synctest.Wait()
		if reqs, _ := r.srv.InFlight(); reqs != 0 {
			t.Errorf("%d bytes still charged", reqs)
		}
	})
}

func TestChargesOfAnEndedConnectionAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reqs := make(chan *wire.Command, 1)
		conns := make(chan *Conn, 1)
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			reqs <- req
			conns <- c
		})})
		c := r.connect()
		c.CallAsync(wire.NewRequest(10, nil, make([]byte, 50_000)), time.Time{}, func(*wire.Command, error) {})
		req, sc := <-reqs, <-conns
		c.Close(nil)
		sc.Wait()
		if n, _ := r.srv.InFlight(); n != 0 {
			t.Errorf("%d bytes still charged", n)
		}
		if err := sc.Reply(req, wire.NewResponse(req, wire.Success, "")); !errors.Is(err, ErrClosed) {
			t.Errorf("late answer: %v", err)
		}
		if n, _ := r.srv.InFlight(); n != 0 {
			t.Errorf("%d bytes charged after the late answer", n)
		}
	})
}

func TestPeerThatDoesNotReadIsClosed(t *testing.T) {
	t.Run("by bytes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := newEnds()
			r := newRig(t, ServerConfig{Limits: Limits{MaxQueuedBytes: 1 << 20}, OnClose: closed.onClose, Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
				resp := wire.NewResponse(req, wire.Success, "")
				resp.Body = make([]byte, 100_000)
				_ = c.Reply(req, resp)
			})})
			c := r.raw()
			for range 20 {
				if _, err := c.Write(frame(t, wire.NewRequest(11, nil, nil))); err != nil {
					break
				}
			}
			if err := <-closed; !errors.Is(err, ErrSlowPeer) {
				t.Errorf("reason %v", err)
			}
			if _, queued := r.srv.InFlight(); queued != 0 {
				t.Errorf("%d bytes still queued", queued)
			}
		})
	})
	t.Run("by time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := newEnds()
			r := newRig(t, ServerConfig{OnClose: closed.onClose, Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
				resp := wire.NewResponse(req, wire.Success, "")
				resp.Body = make([]byte, 1<<20)
				_ = c.Reply(req, resp)
			})})
			c := r.raw()
			start := time.Now()
			if _, err := c.Write(frame(t, wire.NewRequest(11, nil, nil))); err != nil {
				t.Fatal(err)
			}
			if err := <-closed; !errors.Is(err, ErrSlowPeer) || time.Since(start) != 34*time.Second { // and a second for each 256 KiB
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
	t.Run("by the total", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := newEnds()
			r := newRig(t, ServerConfig{MaxTotalQueuedBytes: 3 << 20, OnClose: closed.onClose, Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
				resp := wire.NewResponse(req, wire.Success, "")
				resp.Body = make([]byte, 500_000)
				_ = c.Reply(req, resp)
			})})
			slow, good := r.raw(), r.connect()
			for range 10 {
				if _, err := slow.Write(frame(t, wire.NewRequest(11, nil, nil))); err != nil {
					break
				}
			}
			if err := <-closed; !errors.Is(err, ErrSlowPeer) {
				t.Errorf("reason %v", err)
			}
			if _, err := good.Call(t.Context(), wire.NewRequest(11, nil, nil)); err != nil {
				t.Errorf("the other peer: %v", err)
			}
		})
	})
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		r := newRig(t, ServerConfig{Handler: echo, MaxConns: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		a, b := r.connect(), r.connect()
		synctest.Wait()
		for range 3 {
			c := r.raw()
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("third connection: %v", err)
			}
		}
		if n := strings.Count(log.String(), "connections refused"); n != 1 {
			t.Errorf("%d log lines: %s", n, log.String())
		}
		a.Close(nil)
		a.Wait()
		synctest.Wait()
		for _, c := range []*Conn{b, r.connect()} {
			if _, err := c.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(*Conn, *wire.Command) {})})
		r.d.Limits.MaxCalls = 3
		c := r.connect()
		errs := make(chan error, 4)
		for range 4 {
			c.CallAsync(wire.NewRequest(1, nil, nil), time.Now().Add(time.Second), func(_ *wire.Command, err error) { errs <- err })
		}
		if err := <-errs; !errors.Is(err, ErrTooManyCalls) || !errors.Is(err, ErrNotSent) {
			t.Errorf("fourth call: %v", err)
		}
		for range 3 {
			if err := <-errs; !errors.Is(err, ErrTimeout) {
				t.Error(err)
			}
		}
		for _, sc := range r.srv.Conns() {
			sc.Close(nil)
		}
	})
}

func TestCloseDrainsWhatWasAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan func(), 10)
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
			arrived <- func() { echo(c, req) }
		})})
		c := r.connect()
		const n = 5
		answers := make(chan error, n)
		for range n {
			c.CallAsync(wire.NewRequest(10, nil, make([]byte, 100_000)), time.Time{}, func(resp *wire.Command, err error) { answers <- err })
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- r.srv.Close(t.Context()) }()
		time.Sleep(time.Second)
		select {
		case err := <-closed:
			t.Fatalf("closed with work open: %v", err)
		default:
		}
		for range n {
			(<-arrived)()
		}
		for range n {
			if err := <-answers; err != nil {
				t.Errorf("accepted request: %v", err)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		c.Wait()
		if _, err := r.net.Dial(t.Context(), serverAddr); err == nil {
			t.Error("still listening")
		}
	})
}

func TestCloseIsCutShortByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(*Conn, *wire.Command) {})})
		c := r.connect()
		c.CallAsync(wire.NewRequest(10, nil, nil), time.Time{}, func(*wire.Command, error) {})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		err := r.srv.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 connections cut") || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestShutdownOfAConnectionWritesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan int, 100)
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(_ *Conn, req *wire.Command) { got <- len(req.Body) })})
		c := r.connect()
		r.net.Delay("client", "server", 100*time.Millisecond)
		const n = 30
		for range n {
			if err := c.Send(wire.NewRequest(35, nil, make([]byte, 50_000))); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Shutdown(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for range n {
			<-got
		}
	})
}
