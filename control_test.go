// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// tool is the connection of an admin tool to the broker.
func tool(t *testing.T, r *realCluster) func(code int32, h wire.Encoder) *wire.Command {
	d := &transport.Dialer{Dial: r.net.Host("tool").Dial}
	conn, err := d.Connect(t.Context(), brokerHost+":10911")
	must(t, err)
	t.Cleanup(func() { conn.Close(errors.New("done")) })
	return func(code int32, h wire.Encoder) *wire.Command {
		t.Helper()
		resp, err := conn.Call(t.Context(), wire.NewRequest(code, h, nil))
		must(t, err)
		return resp
	}
}

// An admin tool sees what a consumer of ours reads, how far it is, how fast it is
// and what it waits for.
func TestRealRunningInfo(t *testing.T) {
	inRealBubble(t, 2, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		c := r.client("c")
		cons := consume(t, c, ConsumerConfig{MemberName: "pod-0", Filter: Tags("a || b")}, func(_ context.Context, m *Message) error {
			time.Sleep(20 * time.Millisecond)
			if m.Body[0] == 'x' {
				return errors.New("poison")
			}
			return nil
		})
		send := func(key, text string) Queue {
			receipt, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: key, Tag: "a", Body: []byte(text)})
			must(t, err)
			return receipt.Queue
		}
		var q Queue
		for range 60 {
			q = send("k", "fine")
		}
		send("k", "x")
		send("k", "behind")
		time.Sleep(20 * time.Second)
		ask := tool(t, r)
		resp := ask(wire.ReqGetConsumerRunningInfo, &header.GetConsumerRunningInfo{ConsumerGroup: "g", ClientID: c.ID(), JstackEnable: header.Some(true)})
		var info body.ConsumerRunningInfo
		if err := info.Decode(resp.Body); resp.Code != wire.Success || err != nil {
			t.Fatalf("%d %s, %v", resp.Code, resp.Remark, err)
		}
		for name, want := range map[string]string{
			body.PropConsumeType: "CONSUME_PASSIVELY", body.PropConsumeOrderly: "true", body.PropThreadPoolCore: "20", body.PropNameserverAddr: "ns:9876;",
		} {
			if got := info.Properties[name]; got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		if len(info.Subscriptions) != 2 || info.Subscriptions[0].SubString != "a || b" {
			t.Errorf("subscriptions %+v", info.Subscriptions)
		}
		at := info.Queues[wireQueue(q)]
		now := time.Now().UnixMilli()
		if len(info.Queues) != 2 || at.CommitOffset != 60 || at.CachedMsgCount != 2 || at.CachedMsgMinOffset != 60 || at.CachedMsgMaxOffset != 61 ||
			!at.Locked || now-at.LastLockTimestamp > 1000 || now-at.LastConsumeTimestamp > 2000 || at.LastPullTimestamp == 0 {
			t.Errorf("queues %+v", info.Queues)
		}
		st := info.Status["t"]
		if st.ConsumeRT < 19 || st.ConsumeRT > 21 || st.ConsumeOKTPS < 0.9 || st.ConsumeFailedTPS <= 0 || st.ConsumeFailedMsgs < 10 || st.PullTPS <= 0 {
			t.Errorf("status %+v", st)
		}
		waits := ""
		for name, text := range info.UserConsumerInfo {
			if strings.HasPrefix(name, "waits "+q.String()) {
				waits += text
			}
		}
		if !strings.Contains(waits, "offset 60: back-off") || !strings.Contains(waits, `key "k"`) || info.UserConsumerInfo["memberName"] != "pod-0" {
			t.Errorf("told %v", info.UserConsumerInfo)
		}
		if !strings.Contains(info.Jstack, "goroutine") {
			t.Error("no stacks")
		}
		stats, err := r.admin().MemberStats(t.Context(), "g")
		must(t, err)
		if len(stats) != 1 || stats[0].ClientID != c.ID() || stats[0].Name != "pod-0" || stats[0].Queues != 2 || stats[0].Cached != 2 || stats[0].Rescues != 0 || len(stats[0].Topic) != 1 {
			t.Fatalf("stats %+v", stats)
		}
		if s := stats[0].Topic[0]; s.Topic != "t" || s.HandlerTime < 19*time.Millisecond || s.HandlerTime > 21*time.Millisecond || s.HandledPerSec < 0.9 || s.FailedHour < 10 {
			t.Errorf("stats %+v", s)
		}
		resp = ask(wire.ReqInvokeBrokerToGetConsumerStatus, &header.GetConsumerStatus{Topic: "t", Group: "g"})
		var status body.ConsumerStatus
		if err := status.Decode(resp.Body); err != nil || status.Consumers[c.ID()][wireQueue(q)] != 60 {
			t.Errorf("status %+v, %v", status, err)
		}
		resp = ask(wire.ReqConsumeMessageDirectly, &header.ConsumeMessageDirectly{ConsumerGroup: "g", ClientID: c.ID()})
		if resp.Code != wire.RequestCodeNotSupported || !strings.Contains(resp.Remark, "out of turn") {
			t.Errorf("direct consumption: %d %s", resp.Code, resp.Remark)
		}
		must(t, cons.end())
	})
}

// A broker that tells its consumers of a reset, as older ones of RocketMQ do,
// finds ours at the new position, and it stays there.
func TestStockResetMovesARunningConsumer(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, fake *fakeCluster) {
		p := newProducer(t, fake.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 10)
		var mu sync.Mutex
		var seen []string
		var cause error
		r := consume(t, fake.client("c"), ConsumerConfig{}, func(ctx context.Context, m *Message) error {
			mu.Lock()
			seen = append(seen, string(m.Body))
			busy := m.Offset == 9 && len(seen) == 10
			mu.Unlock()
			if busy {
				<-ctx.Done()
				cause = context.Cause(ctx)
			}
			return nil
		})
		time.Sleep(5 * time.Second)
		b := fake.brokers["broker-a"]
		table := body.ResetOffset{OffsetTable: map[body.MessageQueue]int64{{Topic: "t", BrokerName: "broker-a"}: 4, {Topic: "t", BrokerName: "broker-a", QueueID: 7}: 1}}
		fake.mu.Lock()
		var conns []*transport.Conn
		for c, data := range b.members {
			if len(data.Consumers) > 0 {
				conns = append(conns, c)
			}
		}
		fake.mu.Unlock()
		for _, c := range conns {
			cmd := wire.NewRequest(wire.ReqResetConsumerClientOffset, &header.ResetConsumerClientOffset{Topic: "t", Group: "g", Timestamp: -1}, table.Encode())
			cmd.Flag |= wire.FlagOneway
			must(t, c.Send(cmd))
		}
		time.Sleep(5 * time.Second)
		if got := b.committed("g", "t", 0); got != 10 {
			t.Errorf("committed %d after all was handled again", got)
		}
		must(t, r.end())
		var want []string
		for i := range 10 {
			want = append(want, fmt.Sprint("k0:", i))
		}
		want = append(want, want[4:]...)
		if !slices.Equal(seen, want) || !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("seen %v, cause %v", seen, cause)
		}
	})
}

// At our broker a reset, back or forth, moves a running consumer at once, in the
// middle of a call too.
func TestRealResetMovesARunningConsumer(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		fill(t, p, 1, 0, 10)
		var mu sync.Mutex
		var seen []int64
		var causes []error
		cons := consume(t, r.client("c"), ConsumerConfig{}, func(ctx context.Context, m *Message) error {
			mu.Lock()
			seen = append(seen, m.Offset)
			mu.Unlock()
			if m.Offset == 9 {
				select {
				case <-ctx.Done():
					causes = append(causes, context.Cause(ctx))
				case <-time.After(30 * time.Second):
				}
			}
			return nil
		})
		ask := tool(t, r)
		for _, to := range []int64{4, 8} {
			time.Sleep(5 * time.Second)
			resp := ask(wire.ReqInvokeBrokerToResetOffset, &header.InvokeBrokerToResetOffset{
				Group: "g", Topic: "t", Timestamp: header.Some(int64(-1)), QueueID: header.Some(int32(0)), Offset: header.Some(to),
			})
			if resp.Code != wire.Success {
				t.Fatalf("reset: %d %s", resp.Code, resp.Remark)
			}
		}
		time.Sleep(40 * time.Second)
		must(t, cons.end())
		if want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9, 8, 9}; !slices.Equal(seen, want) {
			t.Errorf("seen %v", seen)
		}
		if len(causes) != 2 || !errors.Is(causes[0], ErrLeaseLost) || !errors.Is(causes[1], ErrLeaseLost) {
			t.Errorf("causes %v", causes)
		}
	})
}
