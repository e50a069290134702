// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

func newPool(t *testing.T, r *rig, cfg PoolConfig) (*Pool, *atomic.Int32) {
	t.Helper()
	var dials atomic.Int32
	cfg.Dialer = &Dialer{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return r.net.Host("client").Dial(ctx, network, addr)
	}}
	p := NewPool(cfg)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, &dials
}

func TestPoolKeepsOneConnectionPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		r.net.Delay("client", "server", 50*time.Millisecond)
		p, dials := newPool(t, r, PoolConfig{})
		var wg sync.WaitGroup
		conns := make([]*Conn, 20)
		for i := range conns {
			wg.Go(func() {
				var err error
				if conns[i], err = p.Get(t.Context(), serverAddr); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, c := range conns {
			if c != conns[0] {
				t.Fatal("two connections to one address")
			}
		}
		if n := dials.Load(); n != 1 {
			t.Errorf("%d dials", n)
		}
		if got := p.Conns(); len(got) != 1 || got[serverAddr] != conns[0] {
			t.Errorf("connections %v", got)
		}
		if _, err := conns[0].Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
			t.Fatal(err)
		}
		r.net.Reset("client", "server")
		conns[0].Wait()
		again, err := p.Get(t.Context(), serverAddr)
		if err != nil || again == conns[0] {
			t.Errorf("after a reset: %v", err)
		}
	})
}

func TestPoolBacksOffAndSaysUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		p, dials := newPool(t, r, PoolConfig{MinBackoff: time.Second, MaxBackoff: 4 * time.Second})
		for _, want := range []time.Duration{1, 2, 4, 4} {
			start := time.Now()
			_, err := p.Get(t.Context(), "nobody:1")
			de, ok := errors.AsType[*DialError](err)
			if !ok || !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, ErrNotSent) {
				t.Fatalf("got %v", err)
			}
			if d := de.RetryAt.Sub(start); d != want*time.Second {
				t.Errorf("back-off %v, want %ds", d, want)
			}
			before := dials.Load()
			if _, err := p.Get(t.Context(), "nobody:1"); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("within the back-off: %v", err)
			}
			if dials.Load() != before {
				t.Error("dialed within the back-off")
			}
			if _, err := p.Get(t.Context(), serverAddr); err != nil {
				t.Errorf("another address: %v", err)
			}
			time.Sleep(time.Until(de.RetryAt))
		}
		ln, err := r.net.Listen("nobody:1")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ln.Close() }()
		c, err := p.Get(t.Context(), "nobody:1")
		if err != nil {
			t.Fatalf("after the back-off: %v", err)
		}
		p.Drop("nobody:1", errors.New("tired"))
		c.Wait()
		if again, err := p.Get(t.Context(), "nobody:1"); err != nil || again == c {
			t.Errorf("after Drop: %v", err)
		}
	})
}

func TestPoolBacksOffFromServersThatCloseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo, MaxConns: 1})
		r.connect()
		synctest.Wait()
		p, dials := newPool(t, r, PoolConfig{})
		start := time.Now()
		for time.Since(start) < 10*time.Second {
			if c, err := p.Get(t.Context(), serverAddr); err == nil {
				c.Wait()
			} else if de, ok := errors.AsType[*DialError](err); ok {
				time.Sleep(time.Until(de.RetryAt))
			}
		}
		if n := dials.Load(); n > 10 {
			t.Errorf("%d dials in 10 s", n)
		}
	})
}

func TestPoolDialOutlivesTheCallerThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		r.net.Cut("client", "server")
		p, _ := newPool(t, r, PoolConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		second := make(chan error, 1)
		go func() {
			time.Sleep(500 * time.Millisecond)
			_, err := p.Get(t.Context(), serverAddr)
			second <- err
		}()
		if _, err := p.Get(ctx, serverAddr); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("first: %v", err)
		}
		r.net.Heal("client", "server")
		if err := <-second; err != nil {
			t.Errorf("second: %v", err)
		}
	})
}

func TestPoolCloseEndsDialsAndConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		p, _ := newPool(t, r, PoolConfig{})
		c, err := p.Get(t.Context(), serverAddr)
		if err != nil {
			t.Fatal(err)
		}
		r.net.Block("client", "elsewhere")
		dialing := make(chan error, 1)
		go func() {
			_, err := p.Get(t.Context(), "elsewhere:1")
			dialing <- err
		}()
		synctest.Wait()
		start := time.Now()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("close took %v", d)
		}
		if err := <-dialing; err == nil {
			t.Error("dial went on")
		}
		if !errors.Is(c.Err(), ErrShutdown) {
			t.Errorf("connection: %v", c.Err())
		}
		if _, err := p.Get(t.Context(), serverAddr); !errors.Is(err, ErrClosed) {
			t.Errorf("get after close: %v", err)
		}
	})
}
