// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

func TestCaughtUpServesWhatArrivedDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int32
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(*Conn, *wire.Command) { served.Add(1) })})
		a, b := r.connect(), r.connect()
		synctest.Wait()
		for round := range int32(5) {
			r.net.Freeze("server")
			for range 20 {
				_ = a.Send(wire.NewRequest(34, nil, make([]byte, 200)))
				_ = b.Send(wire.NewRequest(34, nil, make([]byte, 200)))
			}
			synctest.Wait()
			time.Sleep(20 * time.Second)
			r.net.Thaw("server")
			if err := r.srv.CaughtUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := served.Load(); got != 40*(round+1) {
				t.Fatalf("round %d: %d served when caught up, want %d", round, got, 40*(round+1))
			}
		}
		time.Sleep(90 * time.Second) // the deadlines are as before
		if a.Err() != nil {
			t.Errorf("connection ended: %v", a.Err())
		}
		time.Sleep(40 * time.Second)
		if !errors.Is(a.Err(), ErrIdle) && a.Err() == nil {
			t.Errorf("idle connection lives: %v", a.Err())
		}
	})
}

func TestCaughtUpOnSockets(t *testing.T) {
	var served atomic.Int32
	srv, c := tcpPair(t, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		served.Add(1)
		echo(c, req)
	})})
	raw, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := c.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
		t.Fatal(err)
	}
	for len(srv.Conns()) < 2 {
		if _, err := c.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
			t.Fatal(err)
		}
	}
	served.Store(0)
	one := wire.NewRequest(34, nil, nil)
	one.Flag = wire.FlagOneway
	for round := range int32(50) {
		if _, err := raw.Write(frame(t, one)); err != nil {
			t.Fatal(err)
		}
		if err := srv.CaughtUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := served.Load(); got != round+1 {
			t.Fatalf("round %d: %d served when caught up", round, got)
		}
		if err := c.CaughtUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCaughtUpEndsWithItsContextAndTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newRig(t, ServerConfig{Handler: HandlerFunc(func(*Conn, *wire.Command) { <-gate })})
		c := r.connect()
		_ = c.Send(wire.NewRequest(34, nil, nil))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.srv.CaughtUp(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while a handler hangs: %v", err)
		}
		close(gate)
		c.Close(nil)
		if err := c.CaughtUp(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("on an ended connection: %v", err)
		}
		if err := r.srv.CaughtUp(t.Context()); err != nil {
			t.Errorf("server: %v", err)
		}
	})
}
