// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every request with its own body and ext fields.
var echo = HandlerFunc(func(c *Conn, req *wire.Command) {
	resp := wire.NewResponse(req, wire.Success, "")
	resp.Ext, resp.Body = req.Ext, req.Body
	_ = c.Reply(req, resp)
})

// rig is a server on a memory network and the means to reach it.
type rig struct {
	t   *testing.T
	net *memnet.Network
	srv *Server
	d   *Dialer
}

const serverAddr = "server:1"

// newRig starts a server that is closed when the test ends.
func newRig(t *testing.T, cfg ServerConfig) *rig {
	t.Helper()
	n := memnet.New()
	ln, err := n.Listen(serverAddr)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, net: n, srv: NewServer(cfg), d: &Dialer{Dial: n.Host("client").Dial}}
	served := make(chan error, 1)
	go func() { served <- r.srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.srv.Close(ctx); err != nil {
			t.Errorf("close server: %v", err)
		}
		if err := <-served; err != nil && !errors.Is(err, ErrShutdown) { // a test may end before the server has begun
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

// connect opens a connection that is closed when the test ends.
func (r *rig) connect() *Conn {
	r.t.Helper()
	c, err := r.d.Connect(r.t.Context(), serverAddr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		c.Close(nil)
		c.Wait()
	})
	return c
}

// raw opens a network connection without the protocol on it.
func (r *rig) raw() net.Conn {
	r.t.Helper()
	c, err := r.net.Dial(r.t.Context(), serverAddr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func frame(t testing.TB, cmd *wire.Command) []byte {
	t.Helper()
	b, err := wire.AppendFrame(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
