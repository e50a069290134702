// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Bounds of one query by key.
const (
	maxQueryHits  = 64
	uniqueHits    = 32
	queryTimeout  = 5 * time.Second
	maxQueryBytes = 8 << 20
)

// queryMessage handles QUERY_MESSAGE 12: messages of a topic by a word of their
// keys or by their unique key.
func (b *Broker) queryMessage(r request) {
	var h header.QueryMessage
	if !r.decode(&h) {
		return
	}
	limit := clamp(int(h.MaxNum), 1, maxQueryHits)
	if h.UniqueKey.Value {
		limit = uniqueHits
	}
	b.read(r, func() {
		ctx, cancel := context.WithTimeout(b.ctx, queryTimeout)
		defer cancel()
		records, err := b.store.QueryKey(ctx, h.Topic, h.Key, limit, h.BeginTimestamp, h.EndTimestamp)
		if err != nil {
			r.failed(err)
			return
		}
		var all []byte
		for _, rec := range records {
			if len(all)+len(rec) > maxQueryBytes {
				break
			}
			all = append(all, rec...)
		}
		resp := wire.NewResponse(r.cmd, wire.Success, "")
		if len(all) == 0 {
			resp = wire.NewResponse(r.cmd, wire.QueryNotFound, "can not find message, maybe time range not correct")
		}
		hr := header.QueryMessageResponse{
			IndexLastUpdateTimestamp: b.cfg.Clock().UnixMilli(), IndexLastUpdatePhyOffset: b.store.Positions().KeyIndexed,
		}
		hr.Encode(&resp.Ext)
		resp.Body = all
		r.reply(resp)
	})
}

// viewMessage handles VIEW_MESSAGE_BY_ID 33: the message at a place of the log.
func (b *Broker) viewMessage(r request) {
	var h header.ViewMessage
	if !r.decode(&h) {
		return
	}
	b.read(r, func() {
		rec, err := b.store.Record(h.Offset)
		if err != nil {
			r.fail(wire.SystemError, fmt.Sprintf("can not find message by the offset, %d", h.Offset))
			return
		}
		r.okBody(rec)
	})
}
