// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"sync"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// statusCollect gathers the answers of several clients into one.
type statusCollect struct {
	request
	open counterDown

	mu  sync.Mutex
	out body.ConsumerStatus
}

// add takes one client's answer in; a client that does not answer is left out.
func (c *statusCollect) add(client string, resp *wire.Command, err error) {
	if err == nil && resp.Code == wire.Success {
		var status body.ConsumerStatus
		if status.Decode(resp.Body) == nil {
			c.mu.Lock()
			c.out.Consumers[client] = status.Queues
			c.mu.Unlock()
		}
	}
	c.one()
}

// one ends one part; the last one answers.
func (c *statusCollect) one() {
	if c.open.Done() {
		c.okBody(c.out.Encode())
	}
}
