// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

var (
	crashPoints = flag.Int("crash.points", 500, "crashes to recover from in TestCrash")
	crashSeed   = flag.Uint64("crash.seed", 0, "seed of the first workload of TestCrash; 0 draws one")
)

// TestCrash stops stores at random writes and syncs, as a killed process and as
// a power cut, and holds what recovery makes of it against the promises. Some
// recoveries are crashed in turn.
func TestCrash(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	var points atomic.Int64
	want := int64(*crashPoints)
	start := time.Now()
	var wg sync.WaitGroup
	for worker := range uint64(2) {
		wg.Go(func() {
			for n := worker; points.Load() < want && !t.Failed(); n += 2 {
				c := newCrashRun(t, seed+n, &points)
				c.run()
			}
		})
	}
	wg.Wait()
	t.Logf("%d crash points in %v, first seed %d", points.Load(), time.Since(start).Round(time.Millisecond), seed)
}

// crashRun is one random workload with its crashes.
type crashRun struct {
	t      *testing.T
	seed   uint64
	points *atomic.Int64
	rng    *rand.Rand // of the goroutine that runs the workload
	o      Options
	retain bool // old messages may go
	drops  bool // topics are dropped

	mu      sync.Mutex
	hookRng *rand.Rand
	acked   []ackedMsg
	sent    map[string]bool // bodies given to Append
	refused map[string]bool // bodies that were definitely not written
	dropped map[string]bool // topics that were dropped
	cases   []*crashCase
	s       *Store
	base    atomic.Int64 // of the clock
}

type ackedMsg struct {
	body   string
	id     QueueID
	off    int64
	phys   int64
	synced bool
}

// crashCase is a file system as found after a crash, and what must be in it.
type crashCase struct {
	fs     *vfs.Mem
	power  bool
	acked  int             // the first so many were acknowledged before
	synced int64           // log position that was durable before
	depth  int             // crashes before this one
	gone   map[string]bool // bodies that an earlier recovery did not find
	more   []ackedMsg      // acknowledged after an earlier recovery
	at     string
	was    string // before it was recovered
}

func newCrashRun(t *testing.T, seed uint64, points *atomic.Int64) *crashRun {
	rng := rand.New(rand.NewPCG(seed, 1))
	c := &crashRun{
		t: t, seed: seed, points: points, rng: rng, hookRng: rand.New(rand.NewPCG(seed, 2)),
		sent: map[string]bool{}, refused: map[string]bool{}, dropped: map[string]bool{},
	}
	c.base.Store(1_700_000_000_000)
	c.o = Options{
		Dir: "/store", SegmentSize: int64(8<<rng.IntN(4)) * kib, FillAhead: int64(4<<rng.IntN(4)) * kib,
		Mode: SyncMode(rng.IntN(2)), SyncEvery: time.Duration(1+rng.IntN(10)) * time.Millisecond,
		StoreHost: testHost, TailCache: int64(4<<rng.IntN(6)) * kib, IndexEvery: int64(1<<rng.IntN(6)) * kib,
		MaxBatch: 512 << rng.IntN(6), Upkeep: time.Duration(1+rng.IntN(20)) * time.Millisecond, OpenFiles: 4,
		MinFree: -1, DiskHigh: 2, Retention: -1,
		Clock: func() time.Time { return time.UnixMilli(c.base.Add(1)) },
	}
	if rng.IntN(4) == 0 {
		c.retain = true
		c.o.Retention = 300 * time.Millisecond
	}
	c.drops = rng.IntN(4) == 0
	return c
}

func (c *crashRun) failf(k *crashCase, format string, args ...any) {
	c.t.Errorf("seed %d, %s mode, power cut %v, after %d crashes, at %s: %s\nbefore recovery: %s", c.seed, c.o.Mode, k.power, k.depth, k.at, fmt.Sprintf(format, args...), k.was)
}

func (c *crashRun) run() {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/"); err != nil {
		c.t.Error(err)
		return
	}
	o := c.o
	o.FS = mem
	mem.SetHook(func(op vfs.MemOp) { c.maybe(mem, op) })
	s, err := Open(context.Background(), o)
	if err != nil {
		c.t.Errorf("seed %d: open: %v", c.seed, err)
		return
	}
	c.mu.Lock()
	c.s = s
	c.mu.Unlock()
	c.workload(s)
	if err := s.Close(); err != nil {
		c.t.Errorf("seed %d: close: %v", c.seed, err)
	}
	mem.SetHook(nil)
	c.mu.Lock()
	cases := c.cases
	c.cases = nil
	c.mu.Unlock()
	for len(cases) > 0 && !c.t.Failed() {
		k := cases[0]
		cases = append(cases[1:], c.check(k)...)
	}
}

// maybe takes crash clones at some of the changes.
func (c *crashRun) maybe(mem *vfs.Mem, op vfs.MemOp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hookRng.IntN(12) != 0 || len(c.cases) > 60 {
		return
	}
	k := &crashCase{acked: len(c.acked), at: fmt.Sprintf("%v of %s", op.Op, op.Name)}
	if c.s != nil {
		k.synced = c.s.Positions().Synced
	}
	k.power = c.hookRng.IntN(2) == 0
	how := vfs.ProcessCrash
	if k.power {
		how = vfs.PowerCut
	}
	k.fs = mem.CrashClone(c.hookRng, how)
	c.cases = append(c.cases, k)
	c.points.Add(1)
}

// workload appends from several goroutines, and does the rarer things.
func (c *crashRun) workload(s *Store) {
	var wg sync.WaitGroup
	for p := range 1 + c.rng.IntN(3) {
		rng := rand.New(rand.NewPCG(c.seed, uint64(10+p)))
		wg.Go(func() { c.produce(s, rng, p) })
	}
	wg.Wait()
}

func (c *crashRun) produce(s *Store, rng *rand.Rand, p int) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for i := range 20 + rng.IntN(60) {
		n := 1
		if rng.IntN(4) == 0 {
			n = 1 + rng.IntN(5)
		}
		a := &Append{}
		for j := range n {
			body := fmt.Sprintf("%d/%d/%d/%s", p, i, j, strings.Repeat("x", rng.IntN(1<<rng.IntN(11))))
			topic := fmt.Sprintf("T%d", rng.IntN(2))
			if c.drops {
				topic = fmt.Sprintf("P%d-%d", p, rng.IntN(2)) // dropped by their producer only
			}
			a.Msgs = append(a.Msgs, message(topic, int32(rng.IntN(3)), body, msg.PropKeys, fmt.Sprintf("key-%d-%d-%d", p, i, j)))
		}
		c.send(a.Msgs)
		inFlight.Add(1)
		a.Done = func(a *Append, err error) {
			c.finish(a.Msgs, err)
			inFlight.Done()
		}
		if err := s.Append(context.Background(), a); err != nil {
			c.finish(a.Msgs, err)
			inFlight.Done()
		}
		if rng.IntN(3) == 0 {
			inFlight.Wait()
		}
		if rng.IntN(16) == 0 {
			c.base.Add(int64(rng.IntN(400)) - 50)
		}
		if c.drops && rng.IntN(20) == 0 {
			inFlight.Wait()
			c.drop(s, fmt.Sprintf("P%d-%d", p, rng.IntN(2)))
		}
	}
}

// drop drops a topic: from the call on its messages may be gone, after it they
// must be.
func (c *crashRun) drop(s *Store, topic string) {
	c.mu.Lock()
	c.dropped[topic] = true
	c.mu.Unlock()
	if err := s.DropTopic(topic); err != nil {
		c.t.Errorf("seed %d: drop: %v", c.seed, err)
	}
}

func (c *crashRun) send(msgs []msg.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range msgs {
		c.sent[string(m.Body)] = true
	}
}

func (c *crashRun) finish(msgs []msg.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range msgs {
		switch {
		case err == nil:
			c.acked = append(c.acked, ackedMsg{string(m.Body), QueueID{m.Topic, m.QueueID}, m.QueueOffset, m.PhysicalOffset, false})
		case !errors.Is(err, ErrUnknown):
			c.refused[string(m.Body)] = true
		}
	}
}

// check recovers a case and holds it against the promises. It returns crashes
// of the recovery and of what came after.
func (c *crashRun) check(k *crashCase) (more []*crashCase) {
	rng := rand.New(rand.NewPCG(c.seed, uint64(c.points.Load())))
	o := c.o
	o.FS = k.fs
	if k.depth < 3 && rng.IntN(3) == 0 {
		left := rng.IntN(60)
		k.fs.SetHook(func(op vfs.MemOp) {
			if left--; left == 0 {
				more = append(more, c.again(k, rng, "recovery: "+op.Op.String()+" of "+op.Name))
			}
		})
	}
	ck, has, _ := readCheckpoint(k.fs, "/store/checkpoint")
	fl, _, ferr := readFloors(k.fs, "/store", 0)
	k.was = fmt.Sprintf("%v %+v, floors %v %v, boot %s", has, ck, fl, ferr, k.fs.BootID())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, o)
	k.fs.SetHook(nil)
	if err != nil {
		c.failf(k, "open: %v", err)
		return nil
	}
	found := c.survivors(k, s)
	if found != nil {
		c.expect(k, s, found)
		if k.depth < 3 && rng.IntN(3) == 0 {
			more = append(more, c.goOn(k, s, rng, found))
		}
	}
	if err := s.Close(); err != nil {
		c.failf(k, "close: %v", err)
	}
	return more
}

// again is a crash in the middle of a recovery: it owes what its case does.
func (c *crashRun) again(k *crashCase, rng *rand.Rand, at string) *crashCase {
	n := *k
	n.depth++
	n.at = k.at + ", then " + at
	how := vfs.ProcessCrash
	if rng.IntN(2) == 0 {
		how = vfs.PowerCut
		n.power = true
	}
	n.fs = k.fs.CrashClone(rng, how)
	c.points.Add(1)
	return &n
}

// goOn appends after a recovery and crashes: what was not found must not be
// found again.
func (c *crashRun) goOn(k *crashCase, s *Store, rng *rand.Rand, found map[string]ackedMsg) *crashCase {
	n := *k
	n.gone = map[string]bool{}
	c.mu.Lock()
	for b := range c.sent {
		if _, ok := found[b]; !ok {
			n.gone[b] = true
		}
	}
	c.mu.Unlock()
	n.more = append([]ackedMsg(nil), k.more...)
	for i := range 1 + rng.IntN(8) {
		body := fmt.Sprintf("again %d/%d/%d/%s", k.depth, i, rng.Int64(), strings.Repeat("y", rng.IntN(600)))
		m := message(fmt.Sprintf("T%d", rng.IntN(2)), int32(rng.IntN(3)), body)
		c.send([]msg.Message{m})
		out, err := s.AppendWait(context.Background(), m)
		if err != nil {
			c.failf(k, "append after recovery: %v", err)
			return &n
		}
		n.more = append(n.more, ackedMsg{body, QueueID{m.Topic, m.QueueID}, out[0].QueueOffset, out[0].PhysicalOffset, false})
	}
	n.synced = s.Positions().Synced
	nn := c.again(&n, rng, "more appends")
	return nn
}

// survivors reads everything that a recovered store has.
func (c *crashRun) survivors(k *crashCase, s *Store) map[string]ackedMsg {
	found := map[string]ackedMsg{}
	for _, topic := range s.Topics() {
		for _, q := range s.Queues(topic) {
			id := QueueID{topic, q}
			if err := c.readQueue(k, s, id, found); err != nil {
				c.failf(k, "read %v: %v", id, err)
				return nil
			}
		}
	}
	if err := extentsInOrder(s); err != nil {
		c.failf(k, "%v", err)
	}
	return found
}

// extentsInOrder checks that each queue's extents follow each other, those in
// memory behind those on disk.
func extentsInOrder(s *Store) error {
	for _, q := range s.core.Load().queues.all() {
		if err := q.inOrder(); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) inOrder() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := int64(0)
	for _, e := range q.disk {
		if e.base < at || e.count <= 0 {
			return fmt.Errorf("%s/%d: extent [%d, %d) of %s after %d", q.topic, q.id, e.base, e.end(), e.file.path, at)
		}
		at = e.end()
	}
	for _, e := range q.mem {
		if e.base < at || len(e.units) == 0 {
			return fmt.Errorf("%s/%d: units [%d, %d) after %d", q.topic, q.id, e.base, e.end(), at)
		}
		at = e.end()
	}
	if at > q.max || q.max > q.next {
		return fmt.Errorf("%s/%d: messages to %d, max %d, next %d", q.topic, q.id, at, q.max, q.next)
	}
	return nil
}

func (c *crashRun) readQueue(k *crashCase, s *Store, id QueueID, found map[string]ackedMsg) error {
	lo, hi := s.Bounds(id.Topic, id.Queue)
	for at := lo; at < hi; {
		r, err := s.Read(id.Topic, id.Queue, at, ReadLimit{MaxMsgs: 7}, nil)
		if err != nil {
			return err
		}
		if r.Holes > 0 && (c.o.Mode == Synced || !k.power) {
			return fmt.Errorf("%d holes at %d of [%d, %d)", r.Holes, at, lo, hi)
		}
		msgs, err := msg.DecodeRecords(r.Records)
		if err != nil {
			return err
		}
		last := at - 1
		for _, m := range msgs {
			body := string(m.Body)
			if m.Topic != id.Topic || m.QueueID != id.Queue || m.QueueOffset <= last {
				return fmt.Errorf("got %s/%d/%d after %d", m.Topic, m.QueueID, m.QueueOffset, last)
			}
			last = m.QueueOffset
			if _, twice := found[body]; twice {
				return fmt.Errorf("%.40q is there twice", body)
			}
			if err := c.known(k, body); err != nil {
				return err
			}
			found[body] = ackedMsg{body, id, m.QueueOffset, m.PhysicalOffset, false}
		}
		if r.Next <= at {
			return fmt.Errorf("next of %d is %d (%v)", at, r.Next, r.Status)
		}
		at = r.Next
	}
	return nil
}

// known makes sure that a body is no ghost.
func (c *crashRun) known(k *crashCase, body string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.sent[body]:
		return fmt.Errorf("nobody sent %.40q", body)
	case c.refused[body]:
		return fmt.Errorf("%.40q was refused", body)
	case k.gone[body]:
		return fmt.Errorf("%.40q has come back", body)
	}
	return nil
}

// expect checks that what was acknowledged is there, at its number.
func (c *crashRun) expect(k *crashCase, s *Store, found map[string]ackedMsg) {
	c.mu.Lock()
	all := append(append([]ackedMsg(nil), c.acked[:k.acked]...), k.more...)
	drops := len(c.dropped) > 0
	c.mu.Unlock()
	newest := int64(-1) // place of the newest message found
	for _, m := range found {
		newest = max(newest, m.phys)
	}
	start := s.Positions().Start
	for _, a := range all {
		m, ok := found[a.body]
		lo, next := s.Bounds(a.id.Topic, a.id.Queue)
		switch {
		case next <= a.off && !(a.off == 0 && next == 0 && c.lost(k, a)):
			c.failf(k, "%v goes on at %d, but offset %d was given out (log %d, found %v, retain %v, drops %v, %d found, synced %d, %+v)", a.id, next, a.off, a.phys, ok, c.retain, c.drops, len(found), k.synced, s.Positions())
			return
		case ok && (m.off != a.off || m.id != a.id || m.phys != a.phys):
			c.failf(k, "%.40q is at %v %d, was acknowledged at %v %d", a.body, m.id, m.off, a.id, a.off)
			return
		case k.gone[a.body] && !ok: // an earlier recovery has told that it is gone
		case ok || a.off < lo && (c.retain && a.phys < start || drops):
		case !c.lost(k, a):
			c.failf(k, "%.40q at %v %d (log %d) is gone; bounds [%d, %d), log start %d, synced %d", a.body, a.id, a.off, a.phys, lo, next, start, k.synced)
			return
		case newest > a.phys:
			c.failf(k, "%.40q at %d is gone, but a later one at %d is not", a.body, a.phys, newest)
			return
		}
	}
	c.query(k, s, found)
}

// lost reports whether a power cut may have taken the message.
func (c *crashRun) lost(k *crashCase, a ackedMsg) bool {
	return k.power && c.o.Mode == Async && a.phys >= k.synced
}

// query looks some messages up by key.
func (c *crashRun) query(k *crashCase, s *Store, found map[string]ackedMsg) {
	n := 0
	for body, m := range found {
		var p, i, j int
		if _, err := fmt.Sscanf(body, "%d/%d/%d/", &p, &i, &j); err != nil {
			continue
		}
		got, err := s.QueryKey(context.Background(), m.id.Topic, fmt.Sprintf("key-%d-%d-%d", p, i, j), 5, 0, 1<<60)
		if m.phys < s.Positions().Start {
			continue // retention has come meanwhile
		}
		if err != nil || len(got) != 1 {
			c.failf(k, "query of %.40q at %d: %d records, %v; %+v", body, m.phys, len(got), err, s.Positions())
			return
		}
		if n++; n == 3 {
			return
		}
	}
}
