// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
)

// BrokerHealth is the condition of one broker.
type BrokerHealth struct {
	Broker string `json:"broker"`
	Addr   string `json:"addr"`
	// OK: it answers and, if it is one of ours, takes sends and commits.
	OK bool `json:"ok"`
	// Messages is the state of the message log: open, disk full, fenced,
	// closed. Empty if the broker does not tell.
	Messages string `json:"messages"`
	// State is that of the log of topics, groups and positions: healthy,
	// fenced, closed. Empty if the broker does not tell.
	State string `json:"state"`
	// Disk is the used share of the disk that holds the messages.
	Disk float64 `json:"disk"`
	// Problems say what is wrong, and what a start with repair has set aside.
	Problems []string `json:"problems"`
}

// Health asks each broker that the name servers know how it is. A broker that
// does not answer is listed with the reason.
func (c *Client) Health(ctx context.Context) ([]BrokerHealth, error) {
	ms, err := c.masters(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]BrokerHealth, 0, len(ms))
	for _, m := range ms {
		h := BrokerHealth{Broker: m.name, Addr: m.addr, Problems: []string{}}
		if err := c.fillHealth(ctx, &h); err != nil {
			h.Problems = append(h.Problems, err.Error())
		}
		out = append(out, h)
	}
	return out, nil
}

func (c *Client) fillHealth(ctx context.Context, h *BrokerHealth) error {
	resp, err := c.call(ctx, h.Addr, wire.ReqGetBrokerRuntimeInfo, nil, nil)
	if err != nil {
		return err
	}
	var info body.KVTable
	if err := info.Decode(resp.Body); err != nil {
		return fmt.Errorf("admin: condition of %s: %w", h.Broker, err)
	}
	t := info.Table
	h.Messages, h.State = t[body.InfoStoreState], t[body.InfoStateState]
	h.Disk, _ = strconv.ParseFloat(t["commitLogDiskRatio"], 64) // 0: not told
	h.OK = (h.Messages == "" || h.Messages == "open") && (h.State == "" || h.State == "healthy")
	for _, key := range []string{body.InfoStoreError, body.InfoStoreIndex, body.InfoStateError, body.InfoStateSnapshot} {
		if t[key] != "" {
			h.Problems = append(h.Problems, t[key])
		}
	}
	h.count(t[body.InfoRescued], "pulls waited for messages that were there, until the watchdog looked: please report this")
	h.count(t[body.InfoStoreReads], "reads of messages failed since the start")
	h.count(t[body.InfoStoreRepaired], "damaged ranges of the message log were set aside at the start")
	h.count(t[body.InfoStateRepaired], "damaged places of the change log were passed over at the start")
	if files := t[body.InfoStateAside]; files != "" {
		h.Problems = append(h.Problems, "set aside from the change log at the start: "+files)
	}
	return nil
}

// count notes what has happened n times, if it has.
func (h *BrokerHealth) count(n, what string) {
	if n != "" && n != "0" {
		h.Problems = append(h.Problems, n+" "+what)
	}
}
