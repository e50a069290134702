// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f in a synctest bubble with a connection from a to b.
func bubble(t *testing.T, f func(t *testing.T, n *Network, a, b net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := New()
		a, b := connect(t, n, "a", "b:1")
		f(t, n, a, b)
		_ = a.Close()
		_ = b.Close()
	})
}

func connect(t *testing.T, n *Network, from, to string) (dialer, listener net.Conn) {
	t.Helper()
	ln, err := n.Listen(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	dialer, err = n.Host(from).Dial(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	listener, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return dialer, listener
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}

// silent checks that nothing can be read for d.
func silent(t *testing.T, c net.Conn, d time.Duration) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(d))
	if n, err := c.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	_ = c.SetReadDeadline(time.Time{})
}

func TestBytesArriveInOrderThenTheClose(t *testing.T) {
	bubble(t, func(t *testing.T, _ *Network, a, b net.Conn) {
		rng := rand.New(rand.NewPCG(1, 2))
		want := make([]byte, 1<<20)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}
		go func() {
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(50_000))
				if _, err := a.Write(rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
			}
			_ = a.Close()
		}()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write to a closed peer: %v", err)
		}
		if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write on a closed connection: %v", err)
		}
	})
}

func TestWriterWaitsForARoomInTheBuffer(t *testing.T) {
	bubble(t, func(t *testing.T, _ *Network, a, b net.Conn) {
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := a.Write(make([]byte, 10<<20))
		if n != bufferSize || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d, %v; want %d and a time-out", n, err, bufferSize)
		}
		if got := b.(*conn).Buffered(); got != bufferSize {
			t.Errorf("%d bytes buffered", got)
		}
	})
}

func TestDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T, _ *Network, a, b net.Conn) {
		start := time.Now()
		silent(t, b, 3*time.Second)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("timed out after %v", d)
		}
		go func() { // a deadline set later ends a read under way
			time.Sleep(time.Second)
			_ = b.SetReadDeadline(time.Now())
		}()
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		send(t, a, "late")
		if _, err := b.Read(make([]byte, 4)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read after the deadline: %v", err)
		}
		_ = b.SetReadDeadline(time.Time{})
		receive(t, b, "late")
	})
}

func TestBlockIsSilentAndDeliversLater(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		send(t, a, "before ")
		n.Block("a", "b")
		send(t, a, "during ")
		receive(t, b, "before ")
		send(t, b, "the other way")
		receive(t, a, "the other way")
		silent(t, b, time.Minute)
		_ = a.Close()
		silent(t, b, time.Minute)
		if _, err := b.Write([]byte("x")); err != nil {
			t.Errorf("b knows of a's close: %v", err)
		}
		n.Unblock("a", "b")
		receive(t, b, "during ")
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("after the block: %v", err)
		}
	})
}

func TestBlockedWriterFillsItsBufferOnly(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, _ net.Conn) {
		n.Cut("a", "b")
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		if k, err := a.Write(make([]byte, 1<<20)); k != bufferSize || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d, %v", k, err)
		}
	})
}

func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		n.Delay("a", "b", 200*time.Millisecond)
		start := time.Now()
		send(t, a, "one")
		time.Sleep(50 * time.Millisecond)
		send(t, a, "two")
		n.Delay("a", "b", 0)
		send(t, a, "three") // behind the others, whatever its own delay
		receive(t, b, "one")
		if d := time.Since(start); d != 200*time.Millisecond {
			t.Errorf("one after %v", d)
		}
		receive(t, b, "twothree")
		if d := time.Since(start); d != 250*time.Millisecond {
			t.Errorf("two after %v", d)
		}
		n.Delay("*", "*", time.Second)
		start = time.Now()
		c, d := connect(t, n, "a", "c:1")
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("connected after %v", d)
		}
		_, _ = c.Close(), d.Close()
	})
}

func TestABlockTakesWhatIsOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		n.Delay("a", "b", time.Second)
		send(t, a, "hi")
		n.Block("a", "b")
		silent(t, b, time.Minute)
		n.Unblock("a", "b")
		start := time.Now()
		receive(t, b, "hi")
		if d := time.Since(start); d != time.Second {
			t.Errorf("sent again after %v", d)
		}
	})
}

func TestBlackholeSwallowsForGood(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		send(t, a, "seen")
		n.Blackhole("a", "b")
		if k, err := a.Write(make([]byte, 10*bufferSize)); k != 10*bufferSize || err != nil {
			t.Errorf("wrote %d, %v", k, err)
		}
		receive(t, b, "seen")
		n.HealAll()
		_ = a.Close()
		silent(t, b, time.Hour)
		c, d := connect(t, n, "a", "b:2")
		send(t, c, "new connections work")
		receive(t, d, "new connections work")
		_, _ = c.Close(), d.Close()
	})
}

func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		send(t, a, "lost")
		reading := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			reading <- err
		}()
		synctest.Wait()
		n.Reset("b", "a")
		if err := <-reading; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read under way: %v", err)
		}
		if _, err := b.Read(make([]byte, 4)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
	})
}

func TestFrozenHostStandsStill(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		n.Freeze("b")
		send(t, a, "kernel takes it")
		type result struct {
			at time.Time
			s  string
		}
		got := make(chan result, 1)
		go func() {
			p := make([]byte, 100)
			k, err := b.Read(p)
			if err != nil {
				t.Error(err)
			}
			got <- result{time.Now(), string(p[:k])}
		}()
		_ = b.SetReadDeadline(time.Now().Add(time.Hour))
		start := time.Now()
		time.Sleep(time.Minute)
		n.Thaw("b")
		if r := <-got; r.s != "kernel takes it" || r.at.Sub(start) != time.Minute {
			t.Errorf("read %q after %v", r.s, r.at.Sub(start))
		}
	})
}

func TestFrozenHostAcceptsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		ln, err := n.Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		n.Freeze("b")
		accepted := make(chan time.Time, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			accepted <- time.Now()
			_ = c.Close()
		}()
		start := time.Now()
		c, err := n.Dial(t.Context(), "b:1")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		n.Thaw("b")
		if at := <-accepted; at.Sub(start) != time.Minute {
			t.Errorf("accepted after %v", at.Sub(start))
		}
		_, _ = c.Close(), ln.Close()
	})
}

func TestKillClosesWhatTheHostHad(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, b net.Conn) {
		ln, err := n.Host("b").Listen("tcp", ":7")
		if err != nil {
			t.Fatal(err)
		}
		send(t, b, "last words")
		n.Kill("b")
		receive(t, a, "last words")
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read: %v", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := n.Dial(t.Context(), "b:7"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v", err)
		}
	})
}

func TestKillBehindAPartitionIsNotSeen(t *testing.T) {
	bubble(t, func(t *testing.T, n *Network, a, _ net.Conn) {
		n.Partition([]string{"a"}, []string{"b", "c"})
		n.Kill("b")
		silent(t, a, time.Hour)
		n.HealAll()
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read: %v", err)
		}
	})
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := n.Dial(ctx, "b:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
		if _, err := n.Dial(ctx, "b"); err == nil || !strings.Contains(err.Error(), "want host:port") {
			t.Errorf("no port: %v", err)
		}
		ln, err := n.Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Listen("b:1"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("listen twice: %v", err)
		}
		n.Block("b", "client") // the answer to the first packet does not come back
		start := time.Now()
		if _, err := n.Dial(ctx, "b:1"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("blocked: after %v: %v", time.Since(start), err)
		}
		go func() {
			time.Sleep(time.Second)
			n.HealAll()
		}()
		if c, err := n.Dial(t.Context(), "b:1"); err != nil {
			t.Errorf("healed: %v", err)
		} else {
			_ = c.Close()
		}
		_ = ln.Close()
	})
}

func TestFullBacklogMakesDialersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		ln, err := n.Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		for range backlog {
			if _, err := n.Dial(t.Context(), "b:1"); err != nil {
				t.Fatal(err)
			}
		}
		dialed := make(chan error, 1)
		go func() {
			_, err := n.Dial(t.Context(), "b:1")
			dialed <- err
		}()
		synctest.Wait()
		select {
		case err := <-dialed:
			t.Fatalf("dialed into a full backlog: %v", err)
		default:
		}
		if _, err := ln.Accept(); err != nil {
			t.Fatal(err)
		}
		if err := <-dialed; err != nil {
			t.Error(err)
		}
		_ = ln.Close()
	})
}

func TestAddresses(t *testing.T) {
	n := New()
	any0, err := n.Host("broker-a").Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	addr := any0.Addr().(Addr)
	if addr.Host() != "broker-a" || addr.Network() != "mem" || !strings.HasPrefix(addr.String(), "broker-a:4") {
		t.Errorf("address %v", addr)
	}
	again := n.addrOf("broker-a", 5)
	if !addr.AddrPort().Addr().Is4() || addr.AddrPort().Addr() != again.AddrPort().Addr() {
		t.Errorf("numbers %v and %v", addr.AddrPort(), again.AddrPort())
	}
	if other := n.addrOf("broker-b", 5); other.AddrPort() == again.AddrPort() {
		t.Errorf("two hosts, one address %v", other.AddrPort())
	}
	if lit := n.addrOf("192.0.2.7", 5); lit.AddrPort().String() != "192.0.2.7:5" {
		t.Errorf("literal %v", lit.AddrPort())
	}
	_, port, _ := net.SplitHostPort(addr.String())
	c, err := n.Host("broker-a").Dial(t.Context(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatalf("loopback: %v", err)
	}
	if c.RemoteAddr().String() != addr.String() || n.Conns("broker-a", "*") != 1 {
		t.Errorf("remote %v, %d connections", c.RemoteAddr(), n.Conns("*", "*"))
	}
	_, _ = c.Close(), any0.Close()
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("write after close")
	}
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	n := New()
	a, b := connect(t, n, "a", "b:1")
	if n.Conns("a", "b") != 1 {
		t.Errorf("%d connections", n.Conns("a", "b"))
	}
	_ = a.Close()
	_ = b.Close()
	if n.Conns("*", "*") != 0 {
		t.Errorf("%d connections left", n.Conns("*", "*"))
	}
}
