// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// MemberStats is what a member says of itself: RocketMQ's running info. Rates are
// means of the last whole minute.
type MemberStats struct {
	Member
	Name  string       `json:"name,omitempty"` // the member's name, one of ours only
	Start time.Time    `json:"start,omitzero"`
	Topic []TopicStats `json:"topics"`
	// Queues that it has, and messages of them that are in its memory.
	Queues int `json:"queues"`
	Cached int `json:"cached"`
	// Rescues are queues that its watchdog had to set going again; 0 unless
	// Orderly has a fault. Of ours only.
	Rescues int64 `json:"rescues"`
	// Err says why the member does not answer; the rest is empty then.
	Err string `json:"error,omitempty"`
}

// TopicStats are a member's figures for one topic.
type TopicStats struct {
	Topic         string        `json:"topic"`
	PulledPerSec  float64       `json:"pulled_per_second"` // messages
	PullTime      time.Duration `json:"pull_time_ns"`      // of a pull that brought some
	HandledPerSec float64       `json:"handled_per_second"`
	FailedPerSec  float64       `json:"failed_per_second"`
	HandlerTime   time.Duration `json:"handler_time_ns"` // of a call
	FailedHour    int64         `json:"failed_last_hour"`
}

// MemberStats asks each member of a group how it fares, stock ones too.
func (c *Client) MemberStats(ctx context.Context, group string) ([]MemberStats, error) {
	list := []MemberStats{}
	err := c.each(ctx, func(m master) error {
		info := GroupInfo{Group: Group{Name: group}}
		if err := c.addMembers(ctx, &info, m); err != nil {
			return err
		}
		for _, member := range info.Members {
			if slices.ContainsFunc(list, func(have MemberStats) bool { return have.ClientID == member.ClientID }) {
				continue
			}
			s, err := c.memberStats(ctx, group, member, m)
			if err != nil {
				s = MemberStats{Member: member, Topic: []TopicStats{}, Err: err.Error()}
			}
			list = append(list, s)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b MemberStats) int { return cmp.Compare(a.ClientID, b.ClientID) })
	return list, err
}

func (c *Client) memberStats(ctx context.Context, group string, member Member, m master) (MemberStats, error) {
	h := &header.GetConsumerRunningInfo{ConsumerGroup: group, ClientID: member.ClientID}
	resp, err := c.call(ctx, m.addr, wire.ReqGetConsumerRunningInfo, h, nil)
	if err != nil {
		return MemberStats{}, err
	}
	var info body.ConsumerRunningInfo
	if err := info.Decode(resp.Body); err != nil {
		return MemberStats{}, fmt.Errorf("admin: running info of %s: %w", member.ClientID, err)
	}
	s := MemberStats{Member: member, Name: info.UserConsumerInfo[body.InfoMember], Topic: []TopicStats{}, Queues: len(info.Queues)}
	s.Rescues, _ = strconv.ParseInt(info.UserConsumerInfo[body.InfoRescues], 10, 64) // 0: not told
	if ms, err := strconv.ParseInt(info.Properties[body.PropConsumerStartAt], 10, 64); err == nil {
		s.Start = fromMillis(ms)
	}
	for _, q := range info.Queues {
		s.Cached += int(q.CachedMsgCount)
	}
	for topic, t := range info.Status {
		s.Topic = append(s.Topic, TopicStats{
			Topic: topic, PulledPerSec: t.PullTPS, PullTime: fromMilliseconds(t.PullRT), HandledPerSec: t.ConsumeOKTPS,
			FailedPerSec: t.ConsumeFailedTPS, HandlerTime: fromMilliseconds(t.ConsumeRT), FailedHour: t.ConsumeFailedMsgs,
		})
	}
	slices.SortFunc(s.Topic, func(a, b TopicStats) int { return cmp.Compare(a.Topic, b.Topic) })
	return s, nil
}

func fromMilliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
