// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// notifyChanged sends NOTIFY_CONSUMER_IDS_CHANGED 40. It is one-way: a client
// that misses it looks again by itself within 20 s.
func (c *conn) notifyChanged(group string) {
	cmd := wire.NewRequest(wire.ReqNotifyConsumerIDsChanged, &header.NotifyConsumerIDsChanged{ConsumerGroup: group}, nil)
	cmd.Flag |= wire.FlagOneway
	_ = c.t.Send(cmd) // the end of the connection is noticed elsewhere
}
