// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestDeadLetterTellsItsStory: a dead letter keeps its key and says where it came
// from, how often it was tried and why it failed; sent back it comes behind what
// its key has there, once.
func TestDeadLetterTellsItsStory(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		a := r.admin()
		r.group("g", admin.GroupPolicy{MaxAttempts: 3, Poison: "dead-letter", Backoff: []time.Duration{time.Second}})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		q := put(t, p, "k", "1", "2", "3")
		var seen handled
		broken := true
		cons := consume(t, r.client("c"), ConsumerConfig{}, func(_ context.Context, m *Message) error {
			seen.add(m)
			if string(m.Body) == "2" && broken {
				return fmt.Errorf("no account\x01 of %s", strings.Repeat("x", 2000))
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		letters, err := a.DeadLetters(t.Context(), "g")
		must(t, err)
		if len(letters) != 1 {
			t.Fatalf("dead letters %+v", letters)
		}
		l := letters[0]
		if l.Key != "k" || l.Topic != "t" || l.Queue != q.ID || l.Offset != 1 || l.Attempts != 3 || !strings.HasPrefix(l.Cause, "no account") ||
			l.Letter != 0 || string(l.Body) != "2" || time.Since(l.Time) > 20*time.Second {
			t.Errorf("dead letter %+v", l)
		}
		broken = false
		must(t, a.Resend(t.Context(), "g", l))
		if err := a.Resend(t.Context(), "g", l); err == nil || !strings.Contains(err.Error(), "sent back before") {
			t.Errorf("sent back twice: %v", err)
		}
		time.Sleep(5 * time.Second)
		if got, want := seen.String(), "k:1#1 k:2#1 k:2#2 k:2#3 k:3#1 k:2#1"; got != want {
			t.Errorf("hand-outs %s, want %s", got, want)
		}
		must(t, cons.end())
	})
}

// TestDeadLetterIsStoredOnce swallows the answers to send-backs: the member asks
// again, and again.
func TestDeadLetterIsStoredOnce(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		r.group("g", admin.GroupPolicy{MaxAttempts: 1, Poison: "dead-letter", Grace: 20 * time.Second})
		p := newProducer(t, r.client("p"), ProducerConfig{})
		put(t, p, "k", "1", "2")
		var seen handled
		cut := make(chan struct{}, 1)
		cons := consume(t, r.client("c"), ConsumerConfig{}, func(_ context.Context, m *Message) error {
			seen.add(m)
			if string(m.Body) == "1" {
				cut <- struct{}{}
				return errors.New("poison")
			}
			return nil
		})
		<-cut
		r.net.Block(brokerHost, "c")
		time.Sleep(7 * time.Second)
		r.net.Unblock(brokerHost, "c")
		time.Sleep(time.Minute)
		letters, err := a.DeadLetters(t.Context(), "g")
		must(t, err)
		if len(letters) != 1 || !strings.HasSuffix(seen.String(), "k:2#1") {
			t.Errorf("%d dead letters, handled %s", len(letters), seen.String())
		}
		must(t, cons.end())
	})
}

// TestFormerOwnerWritesNoDeadLetter sends a dead letter under an epoch that is
// over.
func TestFormerOwnerWritesNoDeadLetter(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		a := r.admin()
		p := newProducer(t, r.client("p"), ProducerConfig{})
		put(t, p, "k", "1")
		stuck := consume(t, r.client("c"), ConsumerConfig{}, func(ctx context.Context, _ *Message) error {
			<-ctx.Done()
			return ctx.Err()
		})
		time.Sleep(time.Second)
		ask := tool(t, r)
		letter := letterOf{Letter: header.Letter{Given: true, Attempts: 1}}
		h := both{&header.ConsumerSendMsgBack{Group: "g", DelayLevel: -1, OriginTopic: "t"}, &letter, header.Fence{Session: header.Session{Token: 7}, Epoch: 1}}
		if resp := ask(wire.ReqConsumerSendMsgBack, h); resp.Code != wire.CodeFenced {
			t.Errorf("answered %d %s", resp.Code, resp.Remark)
		}
		letters, err := a.DeadLetters(t.Context(), "g")
		if err != nil || len(letters) != 0 {
			t.Errorf("dead letters %v, %v", letters, err)
		}
		must(t, stuck.end())
	})
}

// both is a send-back with all that ours says.
type both struct {
	*header.ConsumerSendMsgBack
	letter *letterOf
	fence  header.Fence
}

func (h both) Encode(f *wire.Fields) {
	h.ConsumerSendMsgBack.Encode(f)
	h.letter.Encode(f)
	h.fence.Encode(f)
}
