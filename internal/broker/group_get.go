// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getGroupConfig handles GET_SUBSCRIPTIONGROUP_CONFIG 352. A group that is not
// there is created if that is allowed, as in RocketMQ.
func (b *Broker) getGroupConfig(r request) {
	var h header.GetSubscriptionGroupConfig
	if !r.decode(&h) {
		return
	}
	if _, err := b.ensureGroup(b.ctx, h.Group); err != nil {
		r.fail(errorCodeOr(err, wire.SubscriptionGroupNotExist), "No group in this broker: "+err.Error())
		return
	}
	g, ok := b.meta.View().Group(h.Group)
	if !ok {
		r.fail(wire.SubscriptionGroupNotExist, "No group in this broker")
		return
	}
	cfg := groupBody(g)
	r.okBody(cfg.Encode())
}

// getAllGroupConfig handles GET_ALL_SUBSCRIPTIONGROUP_CONFIG 201: all groups,
// whatever page was asked for.
func (b *Broker) getAllGroupConfig(r request) {
	v := b.meta.View()
	w := body.SubscriptionGroupWrapper{
		DataVersion: dataVersion(v.GroupVersion()),
		Groups:      map[string]body.SubscriptionGroupConfig{},
		Forbidden:   map[string]map[string]int32{},
	}
	for g := range v.Groups() {
		w.Groups[g.Name] = groupBody(g)
		if len(g.Forbidden) > 0 {
			w.Forbidden[g.Name] = g.Forbidden
		}
	}
	r.okBody(w.Encode())
}
