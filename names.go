// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// nameServers asks the configured name servers, beginning with the one that
// answered last.
type nameServers struct {
	c     *Client
	addrs []string
	at    atomic.Int32
}

// try calls ask with the address of one name server after the other until one
// answers, if only to refuse.
func (n *nameServers) try(ctx context.Context, ask func(ctx context.Context, addr string) error) error {
	var errs []error
	first := int(n.at.Load())
	for i := range n.addrs {
		at := (first + i) % len(n.addrs)
		err := n.one(ctx, n.addrs[at], ask)
		if _, refused := errors.AsType[*BrokerError](err); err == nil || refused {
			n.at.Store(int32(at))
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", n.addrs[at], err))
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("orderly: no name server answers: %w", errors.Join(errs...))
}

func (n *nameServers) one(ctx context.Context, addr string, ask func(context.Context, string) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.c.cfg.RequestTimeout)
	defer cancel()
	return ask(ctx, addr)
}
