// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// getProducerConnections handles GET_PRODUCER_CONNECTION_LIST 204.
func (b *Broker) getProducerConnections(r request) {
	var h header.GetProducerConnectionList
	if !r.decode(&h) {
		return
	}
	links := b.producers.of(h.ProducerGroup)
	if len(links) == 0 {
		r.fail(wire.SystemError, fmt.Sprintf("the producer group[%s] not exist", h.ProducerGroup))
		return
	}
	r.okBody((&body.ProducerConnection{Connections: connections(links)}).Encode())
}

// getAllProducers handles GET_ALL_PRODUCER_INFO 328.
func (b *Broker) getAllProducers(r request) {
	out := body.ProducerTable{Data: map[string][]body.ProducerInfo{}}
	for group, links := range b.producers.all() {
		for _, l := range links {
			out.Data[group] = append(out.Data[group], body.ProducerInfo{
				ClientID: l.client, RemoteIP: l.conn.host, Language: l.language, Version: l.version, LastUpdateTimestamp: l.updated,
			})
		}
	}
	r.okBody(out.Encode())
}
