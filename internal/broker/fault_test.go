// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

func TestSendsAreRefusedWhileTheLogIsFencedAndGoOnAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.SyncMode = store.Synced })
		p := r.connect("client")
		p.send("T", 0, "safe")
		heal := r.fs.Add(vfs.Rule{Op: vfs.OpWrite | vfs.OpSync, Path: "data/store", Err: errors.New("disk is broken")})
		resp := p.do(wire.ReqSendMessageV2, sendHeader("T", 0), []byte("lost"))
		if resp.Code != wire.ServiceNotAvailable || resp.Remark == "" {
			t.Errorf("the first send to a broken disk: %s %q", wire.ResponseName(resp.Code), resp.Remark)
		}
		p.want(wire.ServiceNotAvailable, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("refused"))
		if _, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); len(msgs) != 1 {
			t.Errorf("%d messages can be read", len(msgs))
		}
		if h := r.b.Health(); h.OK() || h.Store.State != store.StateFenced {
			t.Errorf("health %+v", h.Store)
		}
		if info := p.runtimeInfo(); info[body.InfoStoreState] != "fenced" || info[body.InfoStoreError] == "" || info[body.InfoStateState] != "healthy" {
			t.Errorf("runtime info %v", info)
		}
		time.Sleep(30 * time.Second)
		p.want(wire.ServiceNotAvailable, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("still broken"))
		heal()
		time.Sleep(30 * time.Second)
		if h := p.send("T", 0, "works again"); h.QueueOffset != 1 {
			t.Errorf("offset %d: a refused message took a place", h.QueueOffset)
		}
		if h := r.b.Health(); !h.OK() {
			t.Errorf("health %+v", h.Store)
		}
	})
}

func TestCommitsAreRefusedWhenTheStateCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("client")
		p.createTopic("T", 1, "")
		p.send("T", 0, "x")
		p.beat("c1", "G", "T", "*")
		r.fs.Add(vfs.Rule{Op: vfs.OpWrite | vfs.OpSync, Path: "data/meta", Err: errors.New("disk is broken")})
		if resp := p.commit("G", "T", 0, 1, 0); resp.Code != wire.ServiceNotAvailable {
			t.Errorf("commit: %s %q", wire.ResponseName(resp.Code), resp.Remark)
		}
		if ids, _ := p.lockAny("c1", "G", "T", 0); ids != nil {
			t.Errorf("locked %v", ids)
		}
		if h := r.b.Health(); h.OK() {
			t.Error("healthy without a change log")
		}
		if info := p.runtimeInfo(); info[body.InfoStateState] != "fenced" || info[body.InfoStateError] == "" || info[body.InfoStoreState] != "open" {
			t.Errorf("runtime info %v", info)
		}
		p.send("T", 0, "sends go on")
		r.fs.Reset()
		ctx, cancel := closeContext()
		defer cancel()
		_ = r.b.Close(ctx) // says that the log was fenced
		r.start()
	})
}

// TestReadOnlyDirectory: a start says so, and a disk that becomes read-only
// under the broker stops sends and commits, not reads.
func TestReadOnlyDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.SyncMode = store.Synced })
		p := r.connect("client")
		p.createTopic("T", 1, "")
		p.send("T", 0, "kept")
		p.beat("c1", "G", "T", "*")
		const writes = vfs.OpCreate | vfs.OpMkdir | vfs.OpRename | vfs.OpRemove | vfs.OpWrite | vfs.OpTruncate | vfs.OpSync | vfs.OpLock
		r.fs.Add(vfs.Rule{Op: writes, Err: syscall.EROFS})
		p.want(wire.ServiceNotAvailable, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("refused"))
		if resp := p.commit("G", "T", 0, 1, 0); resp.Code != wire.ServiceNotAvailable {
			t.Errorf("commit: %s", wire.ResponseName(resp.Code))
		}
		if _, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); len(msgs) != 1 {
			t.Errorf("%d messages can be read", len(msgs))
		}
		ctx, cancel := closeContext()
		defer cancel()
		_ = r.b.Close(ctx) // says that the logs are fenced
		b, err := New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Start(context.Background()); !errors.Is(err, syscall.EROFS) {
			t.Errorf("start on a read-only disk: %v", err)
		}
		r.fs.Reset()
		r.start()
		p = r.connect("client")
		if _, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); len(msgs) != 1 {
			t.Errorf("%d messages after the disk is back", len(msgs))
		}
	})
}

// runtimeInfo asks for what tools show of a broker.
func (p *peer) runtimeInfo() map[string]string {
	p.t.Helper()
	var kv body.KVTable
	if err := kv.Decode(p.want(wire.Success, wire.ReqGetBrokerRuntimeInfo, nil, nil).Body); err != nil {
		p.t.Fatal(err)
	}
	return kv.Table
}

// lockAny is lock for an answer that may be an error.
func (p *peer) lockAny(client, group, topic string, queues ...int32) ([]int32, int32) {
	p.t.Helper()
	resp := p.do(wire.ReqLockBatchMQ, nil, lockBody(client, group, topic, queues...))
	if resp.Code != wire.Success {
		return nil, resp.Code
	}
	var granted body.LockBatchResponse
	if err := granted.Decode(resp.Body); err != nil {
		p.t.Fatal(err)
	}
	var ids []int32
	for _, q := range granted.Locked {
		ids = append(ids, q.QueueID)
	}
	return ids, resp.Code
}

func TestFullDiskRefusesSendsAndServesPulls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		r := newRig(t, func(c *Config) {
			c.FS = mem
			opts := c.Store
			c.Store = func(o *store.Options) {
				opts(o)
				o.MinFree = 1 << 20
			}
		})
		p := r.connect("client")
		p.send("T", 0, "first")
		p.beat("c1", "G", "T", "*")
		usage, err := mem.Usage("")
		if err != nil {
			t.Fatal(err)
		}
		mem.SetCapacity(usage.Total - usage.Free + 1000)
		time.Sleep(3 * time.Second)
		p.want(wire.ServiceNotAvailable, wire.ReqSendMessageV2, sendHeader("T", 0), []byte("no room"))
		if resp := p.commit("G", "T", 0, 1, 0); resp.Code != wire.Success || p.position("G", "T", 0) != 1 {
			t.Errorf("commit on a full disk: %s", wire.ResponseName(resp.Code))
		}
		if info := p.runtimeInfo(); info[body.InfoStoreState] != "disk full" || info[body.InfoStoreError] == "" {
			t.Errorf("runtime info %v", info)
		}
		if _, _, msgs := p.pull(pullHeader("G", "T", 0, 0)); len(msgs) != 1 {
			t.Errorf("%d messages can be read", len(msgs))
		}
		mem.SetCapacity(1 << 30)
		time.Sleep(3 * time.Second)
		p.send("T", 0, "room again")
	})
}

// TestWallClockStepsMoveNoLease steps the broker's wall clock by an hour both
// ways: leases live on monotonic time, store times do not go back.
func TestWallClockStepsMoveNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step atomic.Int64
		r := newRig(t, func(c *Config) {
			c.Clock = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
		})
		p, q := r.connect("one"), r.connect("two")
		p.createTopic("T", 1, "+message.type=FIFO")
		p.openSession("c1", "G", "T")
		q.openSession("c2", "G", "T")
		p.lock("c1", "G", "T", 0)
		p.send("T", 0, "before")
		for _, d := range []time.Duration{time.Hour, -time.Hour} {
			step.Store(int64(d))
			for range 8 {
				time.Sleep(250 * time.Millisecond)
				p.ping()
				q.ping()
			}
			if ids, _ := q.lock("c2", "G", "T", 0); len(ids) != 0 {
				t.Errorf("a step of %v freed a lease", d)
			}
			p.send("T", 0, "after a step")
		}
		_, _, msgs := p.pull(pullHeader("Other", "T", 0, 0))
		for i := 1; i < len(msgs); i++ {
			if msgs[i].StoreTimestamp < msgs[i-1].StoreTimestamp {
				t.Errorf("store time went back by %d ms", msgs[i-1].StoreTimestamp-msgs[i].StoreTimestamp)
			}
		}
		step.Store(0)
		r.net.Cut("one", "broker-a")
		time.Sleep(12 * time.Second)
		q.ping()
		q.ping()
		if ids, _ := q.lock("c2", "G", "T", 0); len(ids) != 1 {
			t.Error("the lease of a silent member did not end")
		}
		r.net.HealAll()
	})
}

func TestMemberWithoutLockOnAnOrderedTopicIsReported(t *testing.T) {
	r := newRig(t, nil)
	p, tool := r.connect("one"), r.connect("tool")
	p.createTopic("T", 1, "+message.type=FIFO")
	p.send("T", 0, "x")
	p.beat("c1", "G", "T", "*")
	tool.pull(pullHeader("G", "T", 0, 0))
	if n := r.b.stats.unlocked.Load(); n != 0 {
		t.Errorf("a tool's pull was reported")
	}
	p.pull(pullHeader("G", "T", 0, 0))
	if n := r.b.stats.unlocked.Load(); n != 1 {
		t.Errorf("%d pulls without a lock counted", n)
	}
	p.lock("c1", "G", "T", 0)
	p.pull(pullHeader("G", "T", 0, 0))
	if n := r.b.stats.unlocked.Load(); n != 1 {
		t.Errorf("%d after the lock", n)
	}
}

// TestNonsenseIsAnswered sends every request with random custom headers and
// bodies: each gets an answer, and the broker goes on.
func TestNonsenseIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("odd")
		p.createTopic("T", 2, "")
		p.send("T", 0, "x")
		rng := rand.New(rand.NewPCG(1, 2))
		for _, h := range handlers() {
			for range 40 {
				req := nonsense(rng, h.code)
				if resp := p.doRaw(req); resp == nil {
					t.Fatalf("%s: no answer to %v %q", h.name, req.Ext, req.Body)
				}
			}
		}
		check := r.connect("check")
		check.createTopic("Check", 1, "")
		check.send("Check", 0, "still there")
	})
}

// doRaw sends a request; nil if the connection broke.
func (p *peer) doRaw(req *wire.Command) *wire.Command {
	ctx, cancel := closeContext()
	defer cancel()
	resp, err := p.conn.Call(ctx, req)
	if err != nil {
		return nil
	}
	return resp
}

func nonsense(rng *rand.Rand, code int32) *wire.Command {
	names := []string{
		"topic", "consumerGroup", "group", "groupName", "queueId", "queueOffset", "offset", "commitOffset", "maxMsgNums", "sysFlag", "subscription",
		"suspendTimeoutMillis", "subVersion", "expressionType", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "timestamp",
		"producerGroup", "defaultTopic", "defaultTopicQueueNums", "bornTimestamp", "flag", "properties", "batch", "delayLevel", "oSession", "oEpoch",
		"oRanges", "oAttempts", "oLane", "oPing", "oAck", "clientID", "clientId", "key", "maxNum", "beginTimestamp", "endTimestamp", "msgId",
		"readQueueNums", "writeQueueNums", "perm", "topicFilterType", "order", "attributes", "srcGroup", "destGroup", "statsName", "statsKey",
		"index", "count", "oFrom", "oMember", "oClosing", "isOrder", "readable",
	}
	values := []string{
		"", "0", "1", "-1", "2", "99", "2147483647", "-9223372036854775808", "9223372036854775807", "x", "T", "G", "%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX",
		"true", "*", "|| ||", "SQL92", "SINGLE_TAG", "+message.type=FIFO", "a\x01b\x02", "TRAN_MSG\x01true\x02", "DELAY\x0199\x02", "1-2,3-4", "5:1+", "new",
		"TBW102", "time:x", "deadbeef",
	}
	bodies := []string{
		"", "x", "{}", "[]", "null", `{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{"topic":"T","subString":"*"}]}]}`,
		`{"clientId":"c","consumerGroup":"G","mqSet":[{"topic":"T","queueId":0,"brokerName":"broker-a"},{"topic":"T","queueId":-5}]}`,
		`{"consumerGroup":"G","topic":"T","clientId":"c","strategyName":"AVG"}`, `{"groupName":"G","retryQueueNums":-1}`, "\x00\x00\x00\x16aaaaaaaaaaaaaaaaaa",
	}
	req := wire.NewRequest(code, nil, []byte(bodies[rng.IntN(len(bodies))]))
	for _, name := range names {
		if rng.IntN(2) == 0 {
			req.Ext.Add(name, values[rng.IntN(len(values))])
		}
	}
	return req
}

func TestMessagesOfManySizesComeBackAsTheyWere(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("client")
	rng := rand.New(rand.NewPCG(3, 4))
	var want []string
	for i := range 60 {
		text := fmt.Sprint(i, "/")
		for range rng.IntN(12) {
			text += text[:min(len(text), 100_000/12)]
		}
		p.send("T", 0, text, msg.PropTags, "A")
		want = append(want, text)
	}
	var got []string
	for at := int64(0); at < 60; {
		h := pullHeader("G", "T", 0, at)
		_, ph, msgs := p.pull(h)
		got = append(got, texts(msgs)...)
		at = ph.NextBeginOffset
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("message %d: %d bytes, want %d", i, len(got[i]), len(want[i]))
		}
	}
}
