// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// updateForbidden handles UPDATE_AND_GET_GROUP_FORBIDDEN 353: whether a group
// may read a topic.
func (b *Broker) updateForbidden(r request) {
	var h header.UpdateGroupForbidden
	if !r.decode(&h) {
		return
	}
	if h.Readable.Set {
		bits := int32(0)
		if !h.Readable.Value {
			bits = 1
		}
		if err := b.meta.Apply(b.ctx, meta.SetForbidden{Group: h.Group, Topic: h.Topic, Bits: bits, At: b.clock.at()}); err != nil {
			r.failed(err)
			return
		}
	}
	readable := true
	if g, ok := b.meta.View().Group(h.Group); ok {
		readable = g.Forbidden[h.Topic]&1 == 0
	}
	r.okBody((&body.GroupForbidden{Group: h.Group, Topic: h.Topic, Readable: readable}).Encode())
}
