// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestDelayedMessagesComeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 2, "")
		start := time.Now()
		p.send("T", 1, "in 5 s", msg.PropDelay, "2")
		p.send("T", 1, "in 1 s", msg.PropDelay, "1")
		time.Sleep(10 * time.Millisecond)
		p.send("T", 1, "in 1 s too", msg.PropDelay, "1")
		p.send("T", 1, "now")
		h := pullHeader("G", "T", 1, 0)
		h.SysFlag |= header.PullSuspend
		var got []string
		var when []time.Duration
		for len(got) < 4 {
			_, ph, msgs := p.pull(h)
			h.QueueOffset = ph.NextBeginOffset
			for range msgs {
				when = append(when, time.Since(start).Round(50*time.Millisecond))
			}
			got = append(got, texts(msgs)...)
		}
		if want := []string{"now", "in 1 s", "in 1 s too", "in 5 s"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if when[0] > time.Second/10 || when[1] != time.Second || when[3] != 5*time.Second {
			t.Errorf("at %v", when)
		}
		time.Sleep(time.Second)
		if delivered, stored := r.b.delayOffsets(1); delivered != 2 || stored != 2 {
			t.Errorf("level 1: %d of %d delivered", delivered, stored)
		}
	})
}

func TestDelayedMessagesSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 1, "")
		p.send("T", 0, "first", msg.PropDelay, "1")
		p.send("T", 0, "second", msg.PropDelay, "3")
		time.Sleep(2 * time.Second)
		p.close()
		r.restart()
		p = r.connect("one")
		time.Sleep(10 * time.Second)
		_, _, msgs := p.pull(pullHeader("G", "T", 0, 0))
		if got := texts(msgs); !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestSendBackRetriesAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 1, "")
		p.send("T", 0, "poison", msg.PropTags, "TagA")
		p.beat("c1", "G", "T", "*")
		_, _, msgs := p.pull(pullHeader("G", "T", 0, 0))
		first := msgs[0]
		back := func(m *msg.Message, level int32) {
			t.Helper()
			p.want(wire.Success, wire.ReqConsumerSendMsgBack, &header.ConsumerSendMsgBack{
				Offset: m.PhysicalOffset, Group: "G", DelayLevel: level, OriginTopic: "T", MaxReconsumeTimes: header.Some(int32(2)),
			}, nil)
		}
		back(&first, 0)
		start := time.Now()
		h := pullHeader("G", "%RETRY%G", 0, 0)
		h.SysFlag |= header.PullSuspend
		_, _, msgs = p.pull(h)
		if len(msgs) != 1 || time.Since(start).Round(time.Second) != 10*time.Second {
			t.Fatalf("%d messages after %v", len(msgs), time.Since(start))
		}
		m := msgs[0]
		props := msg.ParseProperties(m.Properties)
		if m.ReconsumeTimes != 1 || props[msg.PropRetryTopic] != "T" || props[msg.PropOriginID] != first.OffsetID() || props[msg.PropTags] != "TagA" || props[msg.PropDelay] != "3" {
			t.Errorf("first retry %d %q", m.ReconsumeTimes, props)
		}
		back(&m, 1)
		h.QueueOffset = 1
		_, _, msgs = p.pull(h)
		m = msgs[0]
		if props := msg.ParseProperties(m.Properties); m.ReconsumeTimes != 2 || props[msg.PropOriginID] != first.OffsetID() {
			t.Errorf("second retry %d %q", m.ReconsumeTimes, props)
		}
		back(&m, 0)
		_, _, msgs = p.pull(pullHeader("G", "%DLQ%G", 0, 0))
		if len(msgs) != 1 || string(msgs[0].Body) != "poison" || msgs[0].ReconsumeTimes != 3 {
			t.Fatalf("dead letters %+v", msgs)
		}
		back(&first, -1)
		if _, _, msgs = p.pull(pullHeader("G", "%DLQ%G", 0, 1)); len(msgs) != 1 {
			t.Error("a negative level is no dead letter")
		}
		p.want(wire.SystemError, wire.ReqConsumerSendMsgBack, &header.ConsumerSendMsgBack{Offset: 1 << 40, Group: "G"}, nil)
		p.want(wire.SystemError, wire.ReqConsumerSendMsgBack, nil, nil, "group", "G")
	})
}

func TestSendsToTheRetryTopic(t *testing.T) {
	r := newRig(t, nil)
	p := r.connect("one")
	send := func(times int32, limit header.Opt[int32]) {
		t.Helper()
		h := sendHeader("%RETRY%G", 0)
		h.ReconsumeTimes, h.MaxReconsumeTimes = times, limit
		p.want(wire.Success, wire.ReqSendMessageV2, h, []byte(fmt.Sprint(times)))
	}
	depth := func(topic string) int64 {
		_, high := r.b.store.Bounds(topic, 0)
		return high
	}
	send(1, header.Some(int32(3)))
	send(3, header.Some(int32(3)))
	if depth("%RETRY%G") != 2 || depth("%DLQ%G") != 0 {
		t.Fatalf("%d retries, %d dead letters", depth("%RETRY%G"), depth("%DLQ%G"))
	}
	send(4, header.Some(int32(3)))
	send(16, header.Opt[int32]{})
	send(17, header.Opt[int32]{})
	if depth("%RETRY%G") != 3 || depth("%DLQ%G") != 2 {
		t.Fatalf("%d retries, %d dead letters", depth("%RETRY%G"), depth("%DLQ%G"))
	}
	// While the group holds a queue lock, it is an orderly one that gives up.
	p.createTopic("T", 1, "")
	p.lock("c1", "G", "T", 0)
	send(1, header.Some(int32(3)))
	if depth("%DLQ%G") != 3 {
		t.Errorf("%d dead letters", depth("%DLQ%G"))
	}
}
