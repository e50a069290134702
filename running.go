// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// A wait of less than that is the ordinary course of things and is not told,
// unless something has failed.
const tellAfter = time.Second

// laneView is where a lane stands, for operators.
type laneView struct {
	state    order.LaneState
	waits    []order.Wait
	now      order.Time // of the view
	locked   bool
	lockedAt time.Time // when the lock was last proven
	pulledAt time.Time
	calledAt time.Time
	queued   int // hand-outs that wait for a handler slot
}

// view asks the lane's goroutine. ok is false if the lane has ended.
func (l *lane) view(ctx context.Context) (v laneView, ok bool) {
	answer := make(chan laneView, 1)
	select {
	case l.asked <- answer:
		return <-answer, true
	case <-l.over:
	case <-ctx.Done():
	}
	return v, false
}

// look is the lane's goroutine's answer to view.
func (l *lane) look() laneView {
	now, until := l.m.c.now(), l.until()
	v := laneView{state: l.core.State(), waits: l.core.Waits(now, until, nil), now: now, pulledAt: l.pulledAt, calledAt: l.calledAt, queued: int(l.queued.Load())}
	v.locked = l.m.cfg.locks() && now < until && !l.held.Load()
	if until != order.Never {
		good := stockLockGood
		if l.b.ours() {
			good = time.Duration(l.b.grace.Load()) / 2
		}
		v.lockedAt = time.Now().Add(until.Sub(now) - good)
	}
	return v
}

// stockLockGood is how long a lock at a stock broker is good for.
const stockLockGood = 30 * time.Second

// maxTold bounds the lines about what waits.
const maxTold = 64

// runningInfo is the answer to GET_CONSUMER_RUNNING_INFO.
func (m *member) runningInfo(views map[Queue]laneView, missing []missingQueue) *body.ConsumerRunningInfo {
	info := &body.ConsumerRunningInfo{
		Properties: map[string]string{
			body.PropConsumeType:     body.ConsumePassively,
			body.PropClientVersion:   wire.VersionName(wire.Version),
			body.PropNameserverAddr:  strings.Join(m.c.cfg.NameServers, ";") + ";",
			body.PropConsumeOrderly:  strconv.FormatBool(m.cfg.Order != Unordered),
			body.PropThreadPoolCore:  strconv.Itoa(m.cfg.Concurrency),
			body.PropConsumerStartAt: strconv.FormatInt(m.version, 10),
		},
		Subscriptions:    m.heartbeatData().Subscriptions,
		Queues:           map[body.MessageQueue]body.ProcessQueueInfo{},
		Status:           map[string]body.ConsumeStatus{},
		UserConsumerInfo: map[string]string{"client": "orderly"},
	}
	for _, s := range m.subscriptions() {
		info.Status[s.topic] = m.rates.status(time.Now())
	}
	if m.pull != nil {
		info.Properties[body.PropConsumeType] = body.ConsumeActively
	}
	if m.cfg.MemberName != "" {
		info.UserConsumerInfo[body.InfoMember] = m.cfg.MemberName
	}
	info.UserConsumerInfo[body.InfoWaits] = body.EncodeWaits(m.waits(views, missing))
	info.UserConsumerInfo[body.InfoRescues] = strconv.FormatInt(m.rescues.Load(), 10)
	for q, v := range views {
		info.Queues[wireQueue(q)] = v.wire()
		for i, w := range v.waits {
			if len(info.UserConsumerInfo) < maxTold {
				info.UserConsumerInfo[fmt.Sprintf("waits %v #%d", q, i)] = v.tell(&w)
			}
		}
	}
	return info
}

func (v *laneView) wire() body.ProcessQueueInfo {
	p := body.ProcessQueueInfo{
		CommitOffset: v.state.Low, CachedMsgCount: int32(v.state.Cached), CachedMsgSizeInMiB: int32(v.state.Bytes >> 20),
		TransactionMsgCount: int32(v.state.Running), Locked: v.locked,
		LastLockTimestamp: millis(v.lockedAt), LastPullTimestamp: millis(v.pulledAt), LastConsumeTimestamp: millis(v.calledAt),
	}
	if v.state.Cached > 0 {
		p.CachedMsgMinOffset, p.CachedMsgMaxOffset = v.state.Low, v.state.High
	}
	return p
}

// tell puts in words what waits, for how long and why.
func (v *laneView) tell(w *order.Wait) string {
	text := fmt.Sprintf("offset %d: %v for %v, %d behind it", w.Offset, w.Why, v.now.Sub(w.Since).Round(time.Millisecond), w.Behind)
	if w.Attempt > 0 {
		text += fmt.Sprintf(", %d attempts failed", w.Attempt)
	}
	if r, ok := w.Ref.(*storedMessage); ok {
		text += fmt.Sprintf(", key %.64q", r.OrderingKey())
	}
	return text
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// maxStacks bounds the dump of goroutines that a tool may ask for.
const maxStacks = 256 << 10

func stacks() string {
	buf := make([]byte, maxStacks)
	return string(buf[:runtime.Stack(buf, true)])
}
