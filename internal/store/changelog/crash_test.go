// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/vfs"
)

var (
	crashPoints = flag.Int("crash.points", 500, "crashes to recover from in TestCrash")
	crashSeed   = flag.Uint64("crash.seed", 0, "first seed of TestCrash; 0 draws one")
)

// TestCrash stops logs at their writes, syncs and renames, as a killed process
// and as a power cut, and holds what Open makes of it against the promises. A
// log that was opened again goes on and is stopped again, while it recovers too.
func TestCrash(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	points, began := 0, time.Now()
	for n := uint64(0); points < *crashPoints && !t.Failed(); n++ {
		c := &crashes{
			t: t, seed: seed + n, budget: 150,
			rng: rand.New(rand.NewPCG(seed+n, 0)), hookRng: rand.New(rand.NewPCG(seed+n, 1)),
		}
		c.o = Options{
			Dir: "/log", SegmentSize: int64(300 + c.rng.IntN(5000)), SnapshotAfter: int64(500 + c.rng.IntN(20_000)),
			SyncEvery: time.Duration(1+c.rng.IntN(2000)) * time.Microsecond, ID: seed,
		}
		c.todo = []crash{{fs: vfs.NewMem()}}
		for len(c.todo) > 0 && !t.Failed() {
			next := c.todo[0]
			c.todo = c.todo[1:]
			c.recover(next)
		}
		points += 150 - c.budget
	}
	t.Logf("%d crash points in %v, first seed %d", points, time.Since(began).Round(time.Millisecond), seed)
}

// crash is a file system as a crash left it, and what must be found in it.
type crash struct {
	fs      *vfs.Mem
	how     vfs.Crash
	history []string // all that was prepared for writing before
	written int      // so many were answered before
	synced  int      // so many were on disk before
	depth   int
	at      string
}

type crashes struct {
	t    *testing.T
	seed uint64
	o    Options
	rng  *rand.Rand

	mu      sync.Mutex
	budget  int
	hookRng *rand.Rand
	todo    []crash
	now     crash // what the running log has promised so far
	log     *Log  // that runs, nil while it recovers
}

// recover opens what a crash left, checks it, and lets the log go on.
func (c *crashes) recover(k crash) {
	if k.how == vfs.PowerCut {
		k.written = k.synced
	}
	c.now, c.log = k, nil
	every := 1 + c.rng.IntN(12)
	k.fs.SetHook(func(op vfs.MemOp) { c.maybe(k.fs, op, every) })
	defer k.fs.SetHook(nil)
	o := c.o
	o.FS = k.fs
	h := &history{}
	l, err := Open(context.Background(), o, h)
	if err != nil {
		c.failf(k, "open: %v", err)
		return
	}
	n := len(h.records)
	if n < k.written || n > len(k.history) {
		c.failf(k, "%d records found, not %d to %d; %+v", n, k.written, len(k.history), l.Recovery())
	}
	for i, r := range h.records[:min(n, len(k.history))] {
		if r != k.history[i] {
			c.failf(k, "record %d is %q, not %q", i+1, r, k.history[i])
			break
		}
	}
	c.mu.Lock()
	c.now = crash{history: k.history[:n:n], written: n, synced: n, depth: k.depth + 1}
	c.log = l
	c.mu.Unlock()
	if k.depth < 3 {
		c.work(l, h, k.depth+1)
	}
	if err := l.Close(); err != nil {
		c.failf(k, "close: %v", err)
	}
}

// work appends from some goroutines, with and without syncs and snapshots.
func (c *crashes) work(l *Log, h *history, life int) {
	var wg sync.WaitGroup
	for g := range 1 + c.rng.IntN(3) {
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), 1))
		wg.Go(func() {
			for i := range rng.IntN(60) {
				p := fmt.Sprintf("life %d, caller %d, number %d%s", life, g, i, strings.Repeat(".", rng.IntN(200)))
				c.append(l, h, p, rng.IntN(8) == 0)
				if rng.IntN(40) == 0 {
					_ = l.Snapshot(context.Background()) // the next one tells
				}
			}
		})
	}
	wg.Wait()
}

func (c *crashes) append(l *Log, h *history, payload string, sync bool) {
	r := h.record(payload, sync, nil)
	prepare := r.Prepare
	r.Prepare = func(dst []byte, seq uint64) ([]byte, error) {
		c.mu.Lock()
		c.now.history = append(c.now.history, payload)
		c.mu.Unlock()
		return prepare(dst, seq)
	}
	seq, err := l.wait(context.Background(), r)
	if err != nil {
		c.t.Errorf("seed %d: append: %v", c.seed, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.written = max(c.now.written, int(seq))
	if sync {
		c.now.synced = max(c.now.synced, int(seq))
	}
}

// maybe takes a clone of the file system as a crash at this moment leaves it.
func (c *crashes) maybe(fs *vfs.Mem, op vfs.MemOp, every int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budget == 0 || c.hookRng.IntN(every) != 0 {
		return
	}
	c.budget--
	k := c.now
	if c.log != nil {
		k.synced = max(k.synced, int(c.log.Health().Synced))
	}
	if k.how = vfs.ProcessCrash; c.hookRng.IntN(2) == 0 {
		k.how = vfs.PowerCut
	}
	k.fs = fs.CrashClone(c.hookRng, k.how)
	k.history = k.history[:len(k.history):len(k.history)]
	k.at = fmt.Sprintf("%v of %s, half %v", op.Op, op.Name, op.Half)
	c.todo = append(c.todo, k)
}

func (c *crashes) failf(k crash, format string, args ...any) {
	c.t.Errorf("seed %d, power cut %v at %s, life %d: %s", c.seed, k.how == vfs.PowerCut, k.at, k.depth, fmt.Sprintf(format, args...))
}
