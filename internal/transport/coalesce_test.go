// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// countingConn counts writes and can hold them back.
type countingConn struct {
	net.Conn
	writes *atomic.Int32
	gate   chan struct{}
}

func (c countingConn) Write(b []byte) (int, error) {
	<-c.gate
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func TestFramesQueuedTogetherAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ServerConfig{Handler: echo})
		var writes atomic.Int32
		gate := make(chan struct{})
		r.d.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := r.net.Host("client").Dial(ctx, network, addr)
			return countingConn{c, &writes, gate}, err
		}
		c := r.connect()
		const n = 1000
		answers := make(chan error, n)
		for range n {
			c.CallAsync(wire.NewRequest(1, nil, make([]byte, 50)), time.Time{}, func(_ *wire.Command, err error) { answers <- err })
		}
		close(gate)
		for range n {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
		}
		if w := writes.Load(); w > n/20 {
			t.Errorf("%d writes for %d small frames", w, n)
		}
	})
}
