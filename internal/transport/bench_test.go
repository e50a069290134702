// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// tcpPair returns a client connection to a server on the loopback interface.
func tcpPair(tb testing.TB, cfg ServerConfig) (*Server, *Conn) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := NewServer(cfg)
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	c, err := new(Dialer).Connect(tb.Context(), ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Close(nil)
		c.Wait()
		if err := srv.Close(tb.Context()); err != nil && tb.Context().Err() == nil {
			tb.Error(err)
		}
		serving.Wait()
	})
	return srv, c
}

// BenchmarkPipelined makes small calls over one connection, 256 at a time.
func BenchmarkPipelined(b *testing.B) {
	for _, form := range []struct {
		name string
		form wire.SerializeType
	}{{"json", wire.SerializeJSON}, {"binary", wire.SerializeRocketMQ}} {
		b.Run(form.name, func(b *testing.B) {
			_, c := tcpPair(b, ServerConfig{Handler: echo})
			tokens := make(chan struct{}, 256)
			done := func(_ *wire.Command, err error) {
				if err != nil {
					b.Error(err)
				}
				<-tokens
			}
			body := make([]byte, 100)
			b.ReportAllocs()
			for b.Loop() {
				req := wire.NewRequest(310, nil, body)
				req.Serialize = form.form
				req.Ext = wire.Fields{{Key: "b", Value: "orders"}, {Key: "e", Value: "3"}}
				tokens <- struct{}{}
				c.CallAsync(req, time.Time{}, done)
			}
			for range cap(tokens) {
				tokens <- struct{}{}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkOneAtATime makes one small call after the other.
func BenchmarkOneAtATime(b *testing.B) {
	_, c := tcpPair(b, ServerConfig{Handler: echo})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), wire.NewRequest(310, nil, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBigBodies answers small requests with 256 KiB, as pulls do.
func BenchmarkBigBodies(b *testing.B) {
	body := make([]byte, 256<<10)
	_, c := tcpPair(b, ServerConfig{Handler: HandlerFunc(func(c *Conn, req *wire.Command) {
		resp := wire.NewResponse(req, wire.Success, "")
		resp.Body = body
		_ = c.Reply(req, resp)
	})})
	tokens := make(chan struct{}, 8)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		tokens <- struct{}{}
		c.CallAsync(wire.NewRequest(11, nil, nil), time.Time{}, func(*wire.Command, error) { <-tokens })
	}
	for range cap(tokens) {
		tokens <- struct{}{}
	}
}
