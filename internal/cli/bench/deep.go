// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/orderlymq/orderly/bench/load"
	"github.com/orderlymq/orderly/internal/store"
)

// deep fills one queue by the engine itself, and then starts servers on it.
func deep(ctx context.Context, t Target, o ScaleOptions) (r DeepResult, err error) {
	dir, err := os.MkdirTemp(t.Dir, "orderly-bench-")
	if err != nil {
		return r, fmt.Errorf("bench: %w", err)
	}
	s := &server{t: t, dir: dir}
	defer s.closeInto(&err)
	r = DeepResult{Disk: "async", Messages: o.Messages}
	if err := r.fill(ctx, o, s.data()); err != nil {
		return r, fmt.Errorf("bench: fill one queue: %w", err)
	}
	if err := s.run(ctx); err != nil {
		return r, err
	}
	r.Clean = s.process()
	if err := s.killUnderLoad(ctx); err != nil {
		return r, err
	}
	if err := s.run(ctx); err != nil {
		return r, err
	}
	r.Killed = s.process()
	return r, nil
}

func openDeep(ctx context.Context, data string) (*store.Store, error) {
	dir := filepath.Join(data, "store") // where a broker has it
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{Dir: dir, Mode: store.Async, StoreHost: anyHost, Retention: -1, DiskHigh: 2})
}

// fill stores the messages in four parts and reads after each. The last part
// ends with a clean stop and a start of the engine alone.
func (r *DeepResult) fill(ctx context.Context, o ScaleOptions, data string) error {
	before := liveHeap()
	s, err := openDeep(ctx, data)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var took time.Duration
	for part := int64(1); part <= 4; part++ {
		began := time.Now()
		if err := appendUpTo(ctx, s, o, o.Messages*part/4); err != nil {
			return err
		}
		took += time.Since(began)
		p, err := readDeep(ctx, s)
		if err != nil {
			return err
		}
		p.Heap -= before
		r.Points = append(r.Points, p)
	}
	r.PerSecond = round2(float64(o.Messages) / took.Seconds())
	r.LogBytes = s.Positions().Written
	if err := s.Close(); err != nil {
		return err
	}
	began := time.Now()
	again, err := openDeep(ctx, data)
	if err != nil {
		return err
	}
	r.OpenMS = millis(time.Since(began))
	return again.Close()
}

func appendUpTo(ctx context.Context, s *store.Store, o ScaleOptions, n int64) error {
	const batch, ahead = 64, 4
	_, have := s.Bounds(engineTopic, 0)
	callers := make([]*caller, ahead)
	for i := range callers {
		callers[i] = newCaller(0, batch, o.Body)
		callers[i].done <- nil // free
	}
	for i := 0; have < n; i++ {
		c := callers[i%ahead]
		if err := <-c.done; err != nil {
			return err
		}
		c.a.Msgs = c.a.Msgs[:min(batch, n-have)]
		if err := s.Append(ctx, &c.a); err != nil {
			return err
		}
		have += int64(len(c.a.Msgs))
	}
	for _, c := range callers {
		if err := <-c.done; err != nil {
			return err
		}
	}
	return s.Sync(ctx)
}

// readDeep pulls at random offsets.
func readDeep(ctx context.Context, s *store.Store) (DeepPoint, error) {
	const reads, pull = 2000, 32
	var times load.Latencies
	lo, hi := s.Bounds(engineTopic, 0)
	rng := rand.New(rand.NewPCG(uint64(hi), 1))
	var buf []byte
	for range reads {
		if err := ctx.Err(); err != nil {
			return DeepPoint{}, context.Cause(ctx)
		}
		at := lo + rng.Int64N(max(hi-lo-pull, 1))
		began := time.Now()
		got, err := s.Read(engineTopic, 0, at, store.ReadLimit{MaxMsgs: pull, Buf: buf[:0]}, nil)
		if err != nil || got.Count == 0 {
			return DeepPoint{}, fmt.Errorf("read at %d of [%d, %d): %d messages, %w", at, lo, hi, got.Count, err)
		}
		times.Add(time.Since(began))
		buf = got.Records
	}
	return DeepPoint{Messages: hi - lo, Heap: liveHeap(), Read: times.Summary()}, nil
}

// killUnderLoad kills the server while it is sent to.
func (s *server) killUnderLoad(ctx context.Context) (err error) {
	c, err := s.connect(ctx, slog.New(slog.DiscardHandler)) // it would report the kill
	if err != nil {
		return err
	}
	defer c.Close()
	const topic = "scale-kill"
	if err := s.topic(ctx, topic, 8, true); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = load.Send(ctx, c, load.SendOptions{ // it fails when the server is gone
			Topic: topic, Senders: 4, InFlight: 16, Keys: 64, Body: 1024, Count: 1 << 40, Duration: time.Minute,
		})
	}()
	const underLoad = time.Second
	timer := time.NewTimer(underLoad)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	s.kill()
	cancel()
	_ = c.Close()
	<-sent
	return nil
}
