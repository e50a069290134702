// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// claim asks for a producer's identity or next epoch.
func (p *peer) claim(client string, c header.ProducerClaim) (int32, header.ProducerGrant) {
	p.t.Helper()
	req := p.request(wire.ReqHeartBeat, nil, (&body.HeartbeatData{ClientID: client}).Encode())
	c.Encode(&req.Ext)
	resp := p.do(wire.ReqHeartBeat, nil, req.Body, flat(req.Ext)...)
	var g header.ProducerGrant
	if err := g.Decode(resp.Ext); err != nil {
		p.t.Fatal(err)
	}
	return resp.Code, g
}

func flat(f wire.Fields) []string {
	var out []string
	for _, kv := range f {
		out = append(out, kv.Key, kv.Value)
	}
	return out
}

// numbered sends one numbered message, or a batch of several.
func (p *peer) numbered(topic string, queue int32, n header.Numbers, texts ...string) (code int32, offset int64, a header.SendNumbersAnswer) {
	p.t.Helper()
	return p.sent(<-p.numberedLater(topic, queue, n, texts...))
}

func (p *peer) numberedLater(topic string, queue int32, n header.Numbers, texts ...string) <-chan *wire.Command {
	var f wire.Fields
	n.Encode(&f)
	h := sendHeader(topic, queue)
	data := []byte(texts[0])
	if len(texts) > 1 {
		h.Batch = true
		var batch []msg.BatchMessage
		for _, text := range texts {
			batch = append(batch, msg.BatchMessage{Body: []byte(text)})
		}
		var err error
		if data, err = msg.AppendBatch(nil, batch); err != nil {
			p.t.Error(err)
		}
	}
	return p.later(wire.ReqSendMessageV2, h, data, flat(f)...)
}

func (p *peer) sent(resp *wire.Command) (code int32, offset int64, a header.SendNumbersAnswer) {
	p.t.Helper()
	if resp == nil {
		return -1, -1, a
	}
	if err := a.Decode(resp.Ext); err != nil {
		p.t.Error(err)
	}
	offset = -1
	if resp.Code == wire.Success {
		var h header.SendMessageResponse
		if err := h.Decode(resp.Ext); err != nil {
			p.t.Error(err)
		}
		if offset = h.QueueOffset; h.MsgID == "" {
			p.t.Errorf("answer without message ids: %v", resp.Ext)
		}
	}
	return resp.Code, offset, a
}

func TestNumberedSends(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { numberedSends(t, restart) })
		})
	}
}

func numberedSends(t *testing.T, restart bool) {
	r := newRig(t, func(c *Config) { c.SyncMode = store.Synced })
	p := r.connect("client")
	p.createTopic("T", 2, "")
	again := func() {
		if restart {
			p.close()
			r.restart()
			p = r.connect("client")
		}
	}
	code, g := p.claim("c1", header.ProducerClaim{Name: "P"})
	if code != wire.Success || g.Producer == 0 || g.Epoch != 1 {
		t.Fatalf("claim: %d %+v", code, g)
	}
	n := header.Numbers{Producer: g.Producer, Epoch: 1}
	step := func(what string, first uint64, texts []string, wantCode int32, wantOffset int64, want header.SendNumbersAnswer) {
		t.Helper()
		n.First = first
		if code, offset, a := p.numbered("T", 0, n, texts...); code != wantCode || offset != wantOffset || a != want {
			t.Errorf("%s: %d at %d %+v, want %d at %d %+v", what, code, offset, a, wantCode, wantOffset, want)
		}
	}
	gap := func(next uint64) header.SendNumbersAnswer { return header.SendNumbersAnswer{Next: header.Some(next)} }
	repeat, fresh := header.SendNumbersAnswer{Repeat: true}, header.SendNumbersAnswer{}
	step("gap at first", 1, []string{"x"}, wire.CodeSequenceGap, -1, gap(0))
	step("first", 0, []string{"a"}, wire.Success, 0, fresh)
	step("batch", 1, []string{"b", "c"}, wire.Success, 1, fresh)
	again()
	step("repeat of one", 0, []string{"a"}, wire.Success, 0, repeat)
	step("repeat of batch", 1, []string{"b", "c"}, wire.Success, 1, repeat)
	step("part of batch", 1, []string{"b"}, wire.CodeSequenceGap, -1, gap(3))
	step("gap", 4, []string{"x"}, wire.CodeSequenceGap, -1, gap(3))
	step("next", 3, []string{"d"}, wire.Success, 3, fresh)
	time.Sleep(3 * time.Second) // noted
	again()
	step("repeat of noted", 3, []string{"d"}, wire.Success, 3, repeat)
	queues := []header.ProducerQueue{{Topic: "T", Queue: 0}, {Topic: "T", Queue: 1}}
	claim := header.ProducerClaim{Name: "P", Producer: g.Producer, Epoch: 1, Queues: queues}
	code, g2 := p.claim("c1", claim)
	if code != wire.Success || g2.Epoch != 2 || len(g2.Stored) != 2 || g2.Stored[0].Next != 4 || len(g2.Stored[0].Frames) != 3 || g2.Stored[1].Next != 0 {
		t.Fatalf("next epoch: %d %+v", code, g2)
	}
	again()
	if code, g3 := p.claim("c1", claim); code != wire.Success || g3.Epoch != 2 || g3.Stored[0].Next != 4 {
		t.Errorf("claim whose answer was lost: %d %+v", code, g3)
	}
	if code, _ := p.claim("c2", claim); code != wire.CodeProducerFenced {
		t.Errorf("claim of an old epoch: %d", code)
	}
	step("old epoch", 4, []string{"x"}, wire.CodeProducerFenced, -1, fresh)
	n.Epoch = 2
	step("new epoch", 0, []string{"e"}, wire.Success, 4, fresh)
	n.Epoch = 3
	step("epoch to come", 1, []string{"x"}, wire.CodeProducerUnknown, -1, fresh)
	n.Epoch = 2
	if code, g4 := p.claim("c2", header.ProducerClaim{Name: "P"}); code != wire.Success || g4.Epoch != 3 || g4.Producer != g.Producer {
		t.Errorf("claim of the name: %d %+v", code, g4)
	}
	step("fenced", 1, []string{"x"}, wire.CodeProducerFenced, -1, fresh)
	n.Producer++
	step("nobody's", 1, []string{"x"}, wire.CodeProducerUnknown, -1, fresh)
	if _, end := r.b.store.Bounds("T", 0); end != 5 {
		t.Errorf("%d messages are stored, want 5", end)
	}
}

// TestNumberedSendsInACrash sends pipelined frames, kills the broker or cuts
// its power, and repeats: what was acknowledged is a repeat with the same
// offset, the rest is stored once.
func TestNumberedSendsInACrash(t *testing.T) {
	for seed := range uint64(12) {
		for how, name := range map[vfs.Crash]string{vfs.ProcessCrash: "kill", vfs.PowerCut: "power cut"} {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { numberedCrash(t, seed, how) })
			})
		}
	}
}

func numberedCrash(t *testing.T, seed uint64, how vfs.Crash) {
	rng := rand.New(rand.NewPCG(seed, uint64(how)))
	mem := vfs.NewMem()
	r := newRig(t, func(c *Config) { c.FS, c.SyncMode = mem, store.Synced })
	p := r.connect("client")
	p.createTopic("T", 1, "")
	_, g := p.claim("c1", header.ProducerClaim{Name: "P"})
	frame := func(i int) (header.Numbers, []string) { // every third one is a batch of two
		first, texts := uint64(i/3*4+i%3), []string{fmt.Sprint(i)}
		if i%3 == 2 {
			texts = append(texts, fmt.Sprint(i, "+"))
		}
		return header.Numbers{Producer: g.Producer, Epoch: g.Epoch, First: first}, texts
	}
	acked, mu := map[int]int64{}, sync.Mutex{}
	total := 20 + rng.IntN(200)
	stopAt := rng.IntN(total)
	var left *vfs.Mem
	kept, sent := map[int]int64{}, 0
	var work sync.WaitGroup
	window := make(chan struct{}, 8)
	for i := range total {
		window <- struct{}{}
		n, texts := frame(i)
		answer := p.numberedLater("T", 0, n, texts...)
		work.Go(func() {
			code, offset, _ := p.sent(<-answer)
			mu.Lock()
			defer mu.Unlock()
			if code != wire.Success {
				t.Errorf("frame %d: %d", i, code)
			}
			acked[i] = offset
			<-window
		})
		if i%10 == 9 {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		}
		if i == stopAt {
			mu.Lock()
			left, kept, sent = mem.CrashClone(rng, how), maps.Clone(acked), i+1
			mu.Unlock()
		}
	}
	work.Wait()
	numbersAfterCrash(t, left, kept, sent, frame)
}

func numbersAfterCrash(t *testing.T, left *vfs.Mem, kept map[int]int64, sent int, frame func(int) (header.Numbers, []string)) {
	r := newRigOn(t, memnet.New(), func(c *Config) { c.FS, c.SyncMode = left, store.Synced })
	p := r.connect("client")
	for i := max(0, sent-16); i < sent; i++ { // as a client would: in order, from the oldest unanswered on or before
		n, texts := frame(i)
		code, offset, a := p.numbered("T", 0, n, texts...)
		if want, ok := kept[i]; code != wire.Success || ok && (!a.Repeat || offset != want) {
			t.Errorf("frame %d again: %d at %d %+v, acknowledged %v at %d", i, code, offset, a, ok, want)
		}
	}
	at := int64(0)
	for i := range sent {
		_, texts := frame(i)
		for _, text := range texts {
			res, err := r.b.store.Read("T", 0, at, store.ReadLimit{MaxMsgs: 1}, nil)
			msgs, derr := msg.DecodeRecords(res.Records)
			if err != nil || derr != nil || len(msgs) != 1 || string(msgs[0].Body) != text {
				t.Fatalf("offset %d: %v, want %q, %v %v", at, texts, text, err, derr)
			}
			at++
		}
	}
	if _, end := r.b.store.Bounds("T", 0); end != at {
		t.Errorf("%d messages are stored, want %d", end, at)
	}
}

// TestSendsOfAConnectionKeepTheirOrder holds the broker to its promise to stock
// producers: what one connection sends to one queue is stored in the order in
// which it came, whatever the kind of send.
func TestSendsOfAConnectionKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.SyncMode = store.Synced })
		p, other := r.connect("client"), r.connect("other")
		p.createTopic("T", 1, "")
		rng := rand.New(rand.NewPCG(1, 2))
		var want []string
		for i := range 400 {
			text := fmt.Sprint(i)
			switch h := sendHeader("T", 0); rng.IntN(3) {
			case 0:
				want = append(want, text)
				p.later(wire.ReqSendMessageV2, h, []byte(text))
			case 1:
				want = append(want, text)
				req := p.request(wire.ReqSendMessageV2, h, []byte(text))
				req.Flag |= wire.FlagOneway
				if err := p.conn.Send(req); err != nil {
					t.Fatal(err)
				}
			default:
				want = append(want, text, text+"+")
				h.Batch = true
				data, err := msg.AppendBatch(nil, []msg.BatchMessage{{Body: []byte(text)}, {Body: []byte(text + "+")}})
				if err != nil {
					t.Fatal(err)
				}
				p.later(wire.ReqSendBatchMessage, h, data)
			}
			if i%7 == 0 {
				other.later(wire.ReqSendMessageV2, sendHeader("T", 0), []byte("other"))
			}
		}
		time.Sleep(time.Second)
		var got []string
		for at := int64(0); ; {
			res, err := r.b.store.Read("T", 0, at, store.ReadLimit{MaxMsgs: 1000}, nil)
			if err != nil {
				t.Fatal(err)
			}
			msgs, _ := msg.DecodeRecords(res.Records)
			if len(msgs) == 0 {
				break
			}
			for _, text := range texts(msgs) {
				if text != "other" {
					got = append(got, text)
				}
			}
			at = res.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("stored\n%v\nsent\n%v", got, want)
		}
	})
}
