// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// checkClientConfig handles CHECK_CLIENT_CONFIG 46, which clients ask before
// they start with another filter than tags.
func (b *Broker) checkClientConfig(r request) {
	var req body.CheckClientConfig
	if len(r.cmd.Body) == 0 {
		r.ok(nil)
		return
	}
	if err := req.Decode(r.cmd.Body); err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	if kind := req.Subscription.ExpressionType; kind != "" && kind != msg.ExprTag {
		r.fail(wire.SystemError, "The broker does not support consumer to filter message by "+kind)
		return
	}
	r.ok(nil)
}
