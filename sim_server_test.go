// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	brokerd "github.com/orderlymq/orderly/internal/broker"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/vfs"
)

// simServer is the broker of a simulation: a process that dies and comes back,
// on a disk that stays.
type simServer struct {
	s     *sim
	disk  *vfs.Mem
	fault *vfs.Faulty
	skew  atomic.Int64 // of its wall clock
	gate  simGate
	slow  time.Duration // the disk works again then

	b     *brokerd.Broker
	alive *atomic.Bool // of the process that b is
	dying sync.WaitGroup
}

func newSimServer(s *sim) *simServer {
	return &simServer{s: s, disk: vfs.NewMem()}
}

func (v *simServer) open() {
	v.fault = vfs.NewFaulty(v.disk)
	alive := &atomic.Bool{}
	alive.Store(true)
	host := v.s.net.Host(brokerHost)
	cfg := brokerd.Config{
		ListenAddr: brokerHost + ":10911", AdvertiseAddr: brokerHost + ":10911", NameServers: []string{"ns:9876"},
		Dir: "/data", FS: v.fault, SegmentSize: 1 << 20, Listen: host.Listen, Logger: v.s.logger("broker-a"),
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialAlive(ctx, host.Dial, addr, alive)
		},
		Clock: func() time.Time { return time.Now().Add(time.Duration(v.skew.Load())) },
	}
	pace, begun := time.Duration(1), time.Now()
	if v.s.sabotage == simHastyBroker {
		pace = 30
	}
	cfg.Mono = func() time.Duration {
		v.gate.pass()
		return pace * time.Since(begun)
	}
	b, err := brokerd.New(cfg)
	must(v.s.t, err)
	must(v.s.t, b.Start(context.Background()))
	v.b, v.alive = b, alive
}

var errDead = errors.New("the process is dead")

// dialAlive dials for a process, which may die while the call is on its way.
func dialAlive(
	ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), addr string, alive *atomic.Bool,
) (net.Conn, error) {
	if !alive.Load() {
		return nil, errDead
	}
	c, err := dial(ctx, "tcp", addr)
	if err == nil && !alive.Load() {
		_ = c.Close()
		return nil, errDead
	}
	return c, err
}

// stop ends the process in peace.
func (v *simServer) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	v.s.rescued("broker", v.b.Health().Rescued)
	if err := v.b.Close(ctx); err != nil && ctx.Err() == nil {
		v.s.t.Errorf("seed %d: close of the broker: %v", v.s.seed, err)
	}
	v.alive.Store(false)
}

// crash kills the process: nobody hears of it again, and its disk is as it was.
func (v *simServer) crash() {
	v.alive.Store(false)
	v.s.net.Kill(brokerHost)
	v.disk = v.disk.CrashClone(v.s.plan, vfs.ProcessCrash)
	old := v.b
	v.s.rescued("broker", old.Health().Rescued)
	v.dying.Go(func() { // it is no more; this only ends its goroutines
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = old.Close(ctx)
	})
}

// restart ends the process by how and starts it again after down.
func (v *simServer) restart(how func(), down time.Duration) {
	v.thaw()
	from := v.s.now()
	how()
	time.Sleep(down)
	v.open()
	v.s.outage(check.Outage{From: from, To: v.s.now()})
}

// stall makes every write and sync wait until d has passed.
func (v *simServer) stall(d time.Duration) {
	from := v.s.now()
	v.s.outage(check.Outage{From: from, To: from + d})
	v.slow = max(v.slow, from+d)
	remove := v.fault.Add(vfs.Rule{Op: vfs.OpWrite | vfs.OpSync, Do: func(vfs.Op, string) { v.s.until(from + d) }})
	time.AfterFunc(d, remove)
}

// freeze makes the process stand still for d. It begins at a moment at which
// nothing is under way, so that nobody waits for a lock of somebody who sleeps:
// simulated time would stand still with him.
func (v *simServer) freeze(d time.Duration) {
	v.thaw()
	v.s.until(v.slow + time.Millisecond)
	synctest.Wait()
	v.s.net.Freeze(brokerHost)
	v.gate.close()
	v.s.outage(check.Outage{From: v.s.now(), To: v.s.now() + d})
	time.AfterFunc(d, v.thaw)
}

func (v *simServer) thaw() {
	if _, was := v.gate.open(); was {
		v.s.net.Thaw(brokerHost)
	}
}

func (v *simServer) heal() {
	v.thaw()
	v.fault.Reset()
}

func (v *simServer) close() {
	v.stop()
	v.dying.Wait()
}

// logger writes to the test's output when ORDERLY_TEST_LOG is set.
func (s *sim) logger(host string) *slog.Logger { return testLogger(host) }
