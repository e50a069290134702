// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/vfs"
)

var crashPoints = flag.Int("crash.points", 500, "crashes to recover from in TestCrashModel")

// TestCrashModel runs random requests against the naive model, stops the state
// at its writes, syncs and renames, and compares what it opens to with the
// model after just as many requests: all that were answered before the end of a
// process, all that were synced before a power cut.
func TestCrashModel(t *testing.T) {
	points, runs := 0, 0
	for points < *crashPoints && !t.Failed() {
		runs++
		rapid.Check(t, func(t *rapid.T) {
			if points < *crashPoints {
				c := &crashRun{t: t, rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "crashes"), 0))}
				c.run()
				points += len(c.crashes)
			}
		})
	}
	t.Logf("%d crash points", points)
}

type crashRun struct {
	t *rapid.T
	o Options

	mu       sync.Mutex
	rng      *rand.Rand
	state    *State
	requests [][]Change // in the order in which they were decided
	written  uint64     // answered
	crashes  []stateCrash
}

type stateCrash struct {
	fs    *vfs.Mem
	power bool
	least uint64 // requests that must be there
	most  int    // requests that had been decided
	at    vfs.MemOp
}

func (c *crashRun) run() {
	mem := vfs.NewMem()
	c.o = Options{
		FS: mem, Dir: "/meta",
		SegmentSize:   int64(rapid.IntRange(200, 3000).Draw(c.t, "segment")),
		SnapshotAfter: int64(rapid.IntRange(200, 8000).Draw(c.t, "snapshot")),
		SyncEvery:     time.Duration(rapid.IntRange(1, 1000).Draw(c.t, "sync")) * time.Microsecond,
	}
	state, err := Open(context.Background(), c.o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.state = state
	mem.SetHook(func(op vfs.MemOp) { c.maybe(mem, op) })
	lives := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []Change {
		return rapid.SliceOfN(rapid.Custom(drawChange), 1, 3).Draw(t, "changes")
	}), 2, 40).Draw(c.t, "requests")
	var wg sync.WaitGroup
	for caller := range 2 {
		wg.Go(func() {
			for i := caller; i < len(lives); i += 2 {
				c.request(state, lives[i], i%9 == 0)
			}
		})
	}
	wg.Wait()
	mem.SetHook(nil)
	if err := state.Close(); err != nil {
		c.t.Error(err)
	}
	models := []model{newModel()}
	for _, changes := range c.requests {
		m := models[len(models)-1].clone()
		for _, change := range changes {
			m.apply(change)
		}
		models = append(models, m)
	}
	c.crashes = append(c.crashes, stateCrash{fs: mem, least: uint64(len(c.requests)), most: len(c.requests)})
	for _, k := range c.crashes {
		c.check(k, models)
	}
}

func (c *crashRun) request(s *State, changes []Change, sync bool) {
	decide := func(*View) ([]Change, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests = append(c.requests, changes)
		return changes, nil
	}
	var err error
	if sync {
		err = s.UpdateSync(context.Background(), decide)
	} else {
		err = s.Update(context.Background(), decide)
	}
	if err != nil {
		c.t.Errorf("request: %v", err)
	}
	seq := s.View().Seq() // our request and all before it are readable
	c.mu.Lock()
	c.written = max(c.written, seq)
	c.mu.Unlock()
}

func (c *crashRun) maybe(mem *vfs.Mem, op vfs.MemOp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.crashes) >= 12 || c.rng.IntN(5) != 0 {
		return
	}
	k := stateCrash{least: c.written, most: len(c.requests), at: op}
	how := vfs.ProcessCrash
	if k.power = c.rng.IntN(2) == 0; k.power {
		how, k.least = vfs.PowerCut, c.state.Health().Synced
	}
	k.fs = mem.CrashClone(c.rng, how)
	c.crashes = append(c.crashes, k)
}

func (c *crashRun) check(k stateCrash, models []model) {
	what := fmt.Sprintf("power cut %v at %v of %s", k.power, k.at.Op, k.at.Name)
	o := c.o
	o.FS = k.fs
	for range 2 {
		s, err := Open(context.Background(), o)
		if err != nil {
			c.t.Fatalf("%s: %v", what, err)
		}
		v := s.View()
		if v.Seq() < k.least || v.Seq() > uint64(k.most) {
			c.t.Errorf("%s: %d requests, not %d to %d; %+v", what, v.Seq(), k.least, k.most, s.Recovery())
		} else {
			got, broken := modelOf(v)
			if d := diffModels(models[v.Seq()], got); d != "" || broken != "" {
				c.t.Errorf("%s: after %d requests %s (-model +state):\n%s", what, v.Seq(), broken, d)
			}
		}
		k.least, k.most = v.Seq(), int(v.Seq()) // opened once, it stays
		if err := s.Close(); err != nil {
			c.t.Errorf("%s: close: %v", what, err)
		}
	}
}
