// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
)

const (
	engineTopic = "BenchTopic"
	// recordSize is what a message takes in the log, and recordOverhead what of
	// it is not body.
	recordSize     = 1 << 10
	recordOverhead = 91 + len(engineTopic) + len(engineProperties)
	// engineProperties is a key and a tag, so that both indexes have work.
	engineProperties = "KEYS\x01k\x02TAGS\x01t\x02"
)

var anyHost = netip.MustParseAddrPort("127.0.0.1:10911")

// caller appends one request after the other, without allocating.
type caller struct {
	a    store.Append
	done chan error
}

func newCaller(queue int32, batch, body int) *caller {
	c := &caller{done: make(chan error, 1)}
	for range batch {
		c.a.Msgs = append(c.a.Msgs, msg.Message{
			Topic: engineTopic, QueueID: queue, Body: bytes.Repeat([]byte{'x'}, body), Properties: engineProperties,
			BornHost: anyHost, BornTimestamp: time.Now().UnixMilli(),
		})
	}
	c.a.Done = func(_ *store.Append, err error) { c.done <- err }
	return c
}

func (c *caller) append(ctx context.Context, s *store.Store) error {
	if err := s.Append(ctx, &c.a); err != nil {
		return err
	}
	return <-c.done
}

// append lets callers append for a slice of time.
func (b *storeBench) append(ctx context.Context, s *store.Store, callers, batch int) (slice, error) {
	all := make([]*caller, callers)
	for i := range all {
		all[i] = newCaller(int32(i%8), batch, b.Body)
	}
	var n atomic.Int64
	errs := make([]error, callers)
	before := mallocs()
	began := time.Now()
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			for time.Since(began) < b.Slice && n.Load()*recordSize < b.MaxBytes && ctx.Err() == nil && errs[i] == nil {
				if errs[i] = c.append(ctx, s); errs[i] == nil {
					n.Add(int64(batch))
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	out := slice{n: n.Load(), took: took, allocs: (mallocs() - before) * uint64(batch)}
	b.record = int(all[0].a.Msgs[0].StoreSize)
	out.bytes = out.n * int64(b.record)
	return out, errors.Join(errors.Join(errs...), s.Sync(ctx))
}

// mallocs counts all allocations of this process.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
