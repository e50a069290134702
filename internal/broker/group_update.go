// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// updateGroup handles UPDATE_AND_CREATE_SUBSCRIPTIONGROUP 200. Without a body
// nothing happens, as in RocketMQ.
func (b *Broker) updateGroup(r request) {
	if len(r.cmd.Body) == 0 {
		r.ok(nil)
		return
	}
	var cfg body.SubscriptionGroupConfig
	if err := cfg.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	if err := b.putGroup(&cfg); err != nil {
		r.fail(sendErrorCode(err), err.Error())
		return
	}
	r.ok(nil)
}

// updateGroups handles UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST 225.
func (b *Broker) updateGroups(r request) {
	var list body.SubscriptionGroupList
	if err := list.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	for i := range list.Groups {
		if err := b.putGroup(&list.Groups[i]); err != nil {
			r.fail(sendErrorCode(err), err.Error())
			return
		}
	}
	r.ok(nil)
}

// putGroup creates or changes one group.
func (b *Broker) putGroup(cfg *body.SubscriptionGroupConfig) error {
	if strings.TrimSpace(cfg.GroupName) == "" {
		return &sendError{wire.InvalidParameter, "The specified group is blank."}
	}
	if err := msg.CheckGroup(cfg.GroupName); err != nil {
		return &sendError{wire.InvalidParameter, err.Error()}
	}
	err := b.meta.UpdateSync(b.ctx, func(v *meta.View) ([]meta.Change, error) {
		old, _ := v.Group(cfg.GroupName)
		if old == nil && v.GroupCount() >= b.cfg.MaxGroups {
			return nil, &sendError{wire.SystemError, fmt.Sprintf("there are %d groups, the limit", v.GroupCount())}
		}
		g, err := groupFrom(cfg, old)
		if err != nil {
			return nil, &sendError{wire.InvalidParameter, err.Error()}
		}
		return []meta.Change{meta.PutGroup{Group: g, At: b.clock.at()}}, nil
	})
	if err != nil {
		return err
	}
	b.reconfigure(cfg.GroupName)
	b.log.Info("consumer group stored", "group", cfg.GroupName)
	return nil
}
