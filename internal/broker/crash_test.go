// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// promised is what a broker has acknowledged.
type promised struct {
	mu      sync.Mutex
	sent    map[int64]string // offset in the queue: text
	topics  map[string]bool
	commit  int64
	epoch   uint64
	answers int
}

// TestNothingAcknowledgedIsLostInACrash stops brokers at random moments of a
// workload, as a kill or a power cut would, and starts them again on what is
// left of the disk.
func TestNothingAcknowledgedIsLostInACrash(t *testing.T) {
	for seed := range uint64(12) {
		for how, name := range map[vfs.Crash]string{vfs.ProcessCrash: "kill", vfs.PowerCut: "power cut"} {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { crashOnce(t, seed, how) })
			})
		}
	}
}

// TestCommitsAreSyncedInTimeAndAtOnceOnALeave looks at what a power cut would
// take.
func TestCommitsAreSyncedInTimeAndAtOnceOnALeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("client")
		p.createTopic("T", 1, "")
		for _, text := range []string{"a", "b"} {
			p.send("T", 0, text)
		}
		p.beat("c1", "G", "T", "*")
		time.Sleep(2 * time.Second)
		unsynced := func() uint64 {
			h := r.b.meta.Health()
			return h.Written - h.Synced
		}
		if n := unsynced(); n != 0 {
			t.Fatalf("%d changes are not on disk after two seconds", n)
		}
		p.commit("G", "T", 0, 1, 0)
		if unsynced() == 0 {
			t.Error("a commit waits for the disk")
		}
		time.Sleep(time.Second)
		if n := unsynced(); n != 0 {
			t.Errorf("%d changes are not on disk after a second", n)
		}
		p.commit("G", "T", 0, 2, 0)
		p.want(wire.Success, wire.ReqUnregisterClient, &header.UnregisterClient{ClientID: "c1", ConsumerGroup: "G"}, nil)
		synctest.Wait() // no time passes
		if n := unsynced(); n != 0 {
			t.Errorf("%d changes are not on disk after the client has left", n)
		}
	})
}

func crashOnce(t *testing.T, seed uint64, how vfs.Crash) {
	rng := rand.New(rand.NewPCG(seed, uint64(how)))
	mem := vfs.NewMem()
	r := newRig(t, func(c *Config) { c.FS, c.SyncMode = mem, store.Synced })
	p := r.connect("client")
	p.createTopic("T", 1, "+message.type=FIFO")
	p.openSession("c1", "G", "T")
	acked := &promised{sent: map[int64]string{}, topics: map[string]bool{"T": true}}
	var work sync.WaitGroup
	stop := make(chan struct{})
	run := func(pause time.Duration, step func(i int)) {
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					step(i)
					time.Sleep(pause)
				}
			}
		})
	}
	run(time.Millisecond, func(i int) { acked.sendMany(r, p, i) })
	run(2*time.Millisecond, func(int) { acked.consume(p) })
	run(3*time.Millisecond, func(i int) {
		p.send(fmt.Sprintf("Auto%d", i), 0, "x")
		acked.note(func() { acked.topics[fmt.Sprintf("Auto%d", i)] = true })
	})
	want := 100 + rng.IntN(400)
	for {
		time.Sleep(700 * time.Microsecond)
		acked.mu.Lock()
		if acked.answers >= want {
			break
		}
		acked.mu.Unlock()
	}
	left := mem.CrashClone(rng, how)
	kept := &promised{sent: maps.Clone(acked.sent), topics: maps.Clone(acked.topics), commit: acked.commit, epoch: acked.epoch}
	acked.mu.Unlock()
	close(stop)
	work.Wait()
	checkAfterCrash(t, left, kept, how)
}

func (a *promised) note(f func()) {
	a.mu.Lock()
	f()
	a.answers++
	a.mu.Unlock()
}

// sendMany sends some messages without waiting for each answer.
func (a *promised) sendMany(r *rig, p *peer, round int) {
	var answers []<-chan *wire.Command
	text := func(i int) string { return fmt.Sprintf("%d/%d", round, i) }
	for i := range 20 {
		answers = append(answers, p.later(wire.ReqSendMessageV2, sendHeader("T", 0, msg.PropShardingKey, "k"), []byte(text(i))))
	}
	for i, answer := range answers {
		resp := <-answer
		if resp == nil || resp.Code != wire.Success {
			r.t.Errorf("send: %+v", resp)
			return
		}
		var h header.SendMessageResponse
		if err := h.Decode(resp.Ext); err != nil {
			r.t.Error(err)
		}
		a.note(func() { a.sent[h.QueueOffset] = text(i) })
	}
}

// consume locks the queue, commits what has come, and gives the queue back.
func (a *promised) consume(p *peer) {
	p.ping()
	p.ping()
	_, grants := p.lock("c1", "G", "T", 0)
	if len(grants.Grants) == 0 {
		time.Sleep(10 * time.Millisecond)
		return
	}
	epoch := grants.Grants[0].Epoch
	a.note(func() { a.epoch = max(a.epoch, epoch) })
	for range 3 {
		a.mu.Lock()
		to := int64(len(a.sent))
		a.mu.Unlock()
		if resp := p.commit("G", "T", 0, to/2, epoch); resp.Code == wire.Success {
			a.note(func() { a.commit = to / 2 })
		}
		time.Sleep(time.Millisecond)
	}
	p.unlock("c1", "G", "T", 0)
}

func checkAfterCrash(t *testing.T, left *vfs.Mem, kept *promised, how vfs.Crash) {
	r := newRigOn(t, memnet.New(), func(c *Config) { c.FS, c.SyncMode = left, store.Synced })
	p := r.connect("client")
	for topic := range kept.topics {
		if _, ok := r.b.topic(topic); !ok {
			t.Errorf("topic %s is gone", topic)
		}
	}
	found := map[int64]string{}
	_, end := r.b.store.Bounds("T", 0)
	for at := int64(0); at < end; {
		_, h, msgs := p.pull(pullHeader("Other", "T", 0, at))
		for i := range msgs {
			found[msgs[i].QueueOffset] = string(msgs[i].Body)
		}
		at = h.NextBeginOffset
	}
	for offset, text := range kept.sent {
		if found[offset] != text {
			t.Errorf("offset %d holds %q, acknowledged was %q", offset, found[offset], text)
		}
	}
	position := p.position("G", "T", 0)
	if position > end || how == vfs.ProcessCrash && position < kept.commit {
		t.Errorf("position %d, acknowledged %d, the queue ends at %d", position, kept.commit, end)
	}
	time.Sleep(5 * time.Second) // what the former session held is free by now
	p.openSession("c2", "G", "T")
	ids, grants := p.lock("c2", "G", "T", 0)
	if len(ids) != 1 || grants.Grants[0].Epoch <= kept.epoch {
		t.Errorf("locked %v under %+v, the largest epoch before was %d", ids, grants.Grants, kept.epoch)
	}
	if h := p.send("T", 0, "goes on"); h.QueueOffset < end {
		t.Errorf("next offset %d, the queue ended at %d", h.QueueOffset, end)
	}
}
