// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"
	"sync"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
)

// inUse returns the heap and stack memory in use.
func inUse() uint64 {
	runtime.GC()
	runtime.GC() // pools give up what the first one left them
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// TestIdleConnectionsTakeLittleMemory holds a connection that has been used and
// is idle now to 20 KiB; 32 KiB are promised for a server with all its parts.
// Both ends are in this process and alike, so half of what is used counts.
func TestIdleConnectionsTakeLittleMemory(t *testing.T) {
	const n, allowed = 1000, 20 << 10
	srv, first := tcpPair(t, ServerConfig{Handler: echo})
	if _, err := first.Call(t.Context(), wire.NewRequest(1, nil, nil)); err != nil {
		t.Fatal(err)
	}
	before := inUse()
	conns := make([]*Conn, n)
	var d Dialer
	var wg sync.WaitGroup
	for i := range conns {
		c, err := d.Connect(t.Context(), srv.Addr().String())
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = c
		wg.Go(func() { // small and large frames, so that buffers have been borrowed
			for _, size := range []int{10, 100_000, 10} {
				if _, err := c.Call(t.Context(), wire.NewRequest(1, nil, make([]byte, size))); err != nil {
					t.Error(err)
				}
			}
		})
		if i%50 == 0 {
			wg.Wait()
		}
	}
	wg.Wait()
	perConn := (inUse() - before) / (2 * n)
	t.Logf("%d bytes for each end of an idle connection", perConn)
	if perConn > allowed {
		t.Errorf("%d bytes for each end of an idle connection; %d are allowed", perConn, allowed)
	}
	for _, c := range conns {
		c.Close(nil)
		c.Wait()
	}
}
