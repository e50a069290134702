// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

const (
	relayTimeout  = 10 * time.Second
	statusTimeout = 5 * time.Second
)

// relayRunningInfo handles GET_CONSUMER_RUNNING_INFO 307: the client is asked,
// its answer is passed on.
func (b *Broker) relayRunningInfo(r request) {
	var h header.GetConsumerRunningInfo
	if !r.decode(&h) {
		return
	}
	b.relay(r, h.ConsumerGroup, h.ClientID, r.cmd.Body)
}

// relayConsumeDirectly handles CONSUME_MESSAGE_DIRECTLY 309: the client gets
// the message that the request names.
func (b *Broker) relayConsumeDirectly(r request) {
	var h header.ConsumeMessageDirectly
	var verb header.Verb
	if !r.decode(&h) || !r.decode(&verb) {
		return
	}
	if verb.Verb != "" {
		b.relayVerb(r, &h, &verb)
		return
	}
	if _, ok := b.client(h.ConsumerGroup, h.ClientID); !ok || h.MsgID == "" {
		b.relay(r, h.ConsumerGroup, h.ClientID, nil)
		return
	}
	_, at, err := msg.ParseOffsetID(h.MsgID)
	if err != nil {
		r.fail(wire.SystemError, err.Error())
		return
	}
	b.read(r, func() {
		rec, err := b.store.Record(at)
		if err != nil {
			r.fail(wire.SystemError, fmt.Sprintf("message %s: %v", h.MsgID, err))
			return
		}
		r.cmd.Ext.Set("brokerName", b.cfg.Name)
		b.relay(r, h.ConsumerGroup, h.ClientID, rec)
	})
}

// client finds a member's connection.
func (b *Broker) client(group, clientID string) (memberLink, bool) {
	links, _ := b.membersOf(group)
	for _, l := range links {
		if l.client == clientID {
			return l, true
		}
	}
	return memberLink{}, false
}

// relay passes a request on to a client, under a number of its own, and the
// answer back.
func (b *Broker) relay(r request, group, clientID string, data []byte) {
	link, ok := b.client(group, clientID)
	if !ok {
		r.fail(wire.SystemError, fmt.Sprintf("The Consumer <%s> <%s> not online", group, clientID))
		return
	}
	if link.version < wire.VersionConsumerInfo {
		r.fail(wire.SystemError, fmt.Sprintf("The Consumer <%s> Version <%s> too low to finish, please upgrade it", clientID, wire.VersionName(link.version)))
		return
	}
	req := wire.NewRequest(r.cmd.Code, nil, data)
	req.Ext = r.cmd.Ext
	link.conn.t.CallAsync(req, time.Now().Add(relayTimeout), func(resp *wire.Command, err error) {
		switch {
		case errors.Is(err, transport.ErrTimeout):
			r.fail(wire.ConsumeMsgTimeout, fmt.Sprintf("consumer <%s> <%s> did not answer in %v", group, clientID, relayTimeout))
		case err != nil:
			r.fail(wire.SystemError, fmt.Sprintf("consumer <%s> <%s>: %v", group, clientID, err))
		default:
			out := wire.NewResponse(r.cmd, resp.Code, resp.Remark)
			out.Ext, out.Body = resp.Ext, resp.Body
			r.reply(out)
		}
	})
}

// relayConsumerStatus handles INVOKE_BROKER_TO_GET_CONSUMER_STATUS 223: every
// client of the group is asked where it is, with 221.
func (b *Broker) relayConsumerStatus(r request) {
	var h header.GetConsumerStatus
	if !r.decode(&h) {
		return
	}
	links, _ := b.membersOf(h.Group)
	if len(links) == 0 {
		r.fail(wire.SystemError, fmt.Sprintf("no consumer of group %s is online", h.Group))
		return
	}
	c := &statusCollect{request: r, out: body.ConsumerStatus{Consumers: map[string]map[body.MessageQueue]int64{}}}
	c.open.Add(1)
	for _, l := range links {
		if h.ClientAddr != "" && h.ClientAddr != l.client {
			continue
		}
		if l.version < wire.VersionConsumerStatus {
			r.fail(wire.SystemError, fmt.Sprintf("the client does not support this feature. version=%d", l.version))
			return
		}
		c.open.Add(1)
		req := wire.NewRequest(wire.ReqGetConsumerStatusFromClient, &header.GetConsumerStatus{Topic: h.Topic, Group: h.Group}, nil)
		l.conn.t.CallAsync(req, time.Now().Add(statusTimeout), func(resp *wire.Command, err error) { c.add(l.client, resp, err) })
	}
	c.one()
}
