// SPDX-License-Identifier: Apache-2.0

package netproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a proxy before a server that sends back what it gets.
func echo(t *testing.T) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	p, err := Listen(t.Context(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ln.Close()
		p.Close()
		wg.Wait()
	})
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func silence(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
}

func TestCarriesBothWaysAndEnds(t *testing.T) {
	c := dial(t, echo(t))
	say(t, c, "hello")
	hear(t, c, "hello")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestDelay(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	p.Delay(50 * time.Millisecond)
	began := time.Now()
	say(t, c, "one")
	hear(t, c, "one")
	if d := time.Since(began); d < 100*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

func TestSwallowsOneDirection(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	var up bytes.Buffer
	var mu sync.Mutex
	p.Watch(func(d Direction, b []byte) {
		if d == ToServer && bytes.Contains(b, []byte("two")) {
			p.Swallow(ToClient, true)
			mu.Lock()
			up.Write(b)
			mu.Unlock()
		}
	})
	say(t, c, "one")
	hear(t, c, "one")
	say(t, c, "two")
	silence(t, c)
	mu.Lock()
	if up.String() != "two" {
		t.Errorf("forwarded %q", up.String())
	}
	mu.Unlock()
	p.Swallow(ToClient, false)
	say(t, c, "three")
	hear(t, c, "three")
}

func TestResetAndRefuse(t *testing.T) {
	p := echo(t)
	c := dial(t, p)
	say(t, c, "one")
	hear(t, c, "one")
	p.Refuse(true)
	if n := p.Reset(); n != 1 {
		t.Errorf("%d links were reset", n)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v, want a reset", err)
	}
	if err := tryLink(p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("new link: %v, want a reset", err)
	}
	p.Refuse(false)
	c = dial(t, p)
	say(t, c, "two")
	hear(t, c, "two")
	if n := p.Links(); n != 1 {
		t.Errorf("%d links", n)
	}
}

// tryLink connects and waits for the other end's word. A reset may come as
// early as the connection.
func tryLink(p *Proxy) error {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}
