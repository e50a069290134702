// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/body"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// Versions that change the body of a registration.
const (
	versionRegisterBody = 37  // below: a bare topic table
	versionMappingPart  = 413 // from here on a compressed body has static topics, too
)

// registerBroker serves REGISTER_BROKER 103. The answer's body is the
// ordered-topic configuration, from which a RocketMQ broker learns which of its
// topics are ordered.
func (s *Server) registerBroker(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	var h header.RegisterBroker
	if err := h.Decode(req.Ext); err != nil {
		return nil, err
	}
	if crc := h.BodyCRC32.Value; crc != 0 && crc != int32(crc32.ChecksumIEEE(req.Body)&0x7fffffff) {
		return refuseRegistration(req, "crc32 not match"), nil
	}
	wrapper, err := registrationBody(req, h.Compressed)
	if err != nil {
		return nil, fmt.Errorf("register broker %s: %w", h.BrokerName, err)
	}
	r := Registration{
		Cluster: h.ClusterName, Broker: h.BrokerName, Addr: h.BrokerAddr, HAAddr: h.HAServerAddr,
		Zone: h.ZoneName, ID: h.BrokerID, ActingMaster: h.EnableActingMaster.Value,
		Timeout: time.Duration(max(h.HeartbeatTimeoutMillis.Value, 0)) * time.Millisecond,
		Version: versionOf(wrapper.DataVersion),
		Topics:  topicsOf(wrapper.Topics),
		Conn:    c.ID(),
	}
	return s.register(req, r)
}

func (s *Server) register(req *wire.Command, r Registration) (*wire.Command, error) {
	s.mu.Lock()
	_, known := s.table.Members(r.Cluster, r.Broker)
	answer, err := s.table.Register(time.Now(), r)
	order := s.table.KVNamespace(NamespaceOrder)
	s.mu.Unlock()
	if errors.Is(err, errRegisterFailed) {
		return refuseRegistration(req, err.Error()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("register broker %s: %w", r.Broker, err)
	}
	if !known {
		s.log.Info("broker registered", "broker", r.Broker, "id", r.ID, "addr", r.Addr, "cluster", r.Cluster, "topics", len(r.Topics))
	}
	for _, c := range answer.Conflicts {
		s.log.Error("ordered topic registered by a second broker: keys of this topic may be in two places; delete the topic on one of them",
			"topic", c.Topic, "owner", c.Owner, "other", c.Other)
	}
	resp := okHeader(req, &header.RegisterBrokerResponse{HAServerAddr: answer.HAAddr, MasterAddr: answer.MasterAddr})
	if len(order) > 0 {
		resp.Body = (&body.KVTable{Table: order}).Encode()
	}
	return resp, nil
}

func refuseRegistration(req *wire.Command, remark string) *wire.Command {
	resp := wire.NewResponse(req, wire.SystemError, remark)
	resp.Ext = wire.Fields{}
	return resp
}

// registrationBody reads the topic table. A missing body is an empty table. A
// compressed body is known by its first byte, because RocketMQ's brokers fail
// to set the flag.
func registrationBody(req *wire.Command, compressed bool) (body.TopicConfigSerializeWrapper, error) {
	const zlibMagic = 0x78
	switch {
	case len(req.Body) == 0:
		return body.TopicConfigSerializeWrapper{}, nil
	case compressed || req.Body[0] == zlibMagic:
		return compressedBody(req.Body)
	case req.Version < versionRegisterBody:
		var w body.TopicConfigSerializeWrapper
		err := w.Decode(req.Body)
		return w, err
	}
	var b body.RegisterBroker
	err := b.Decode(req.Body)
	return b.Topics, err
}

func versionOf(v body.DataVersion) DataVersion {
	return DataVersion{State: v.StateVersion, Timestamp: v.Timestamp, Counter: v.Counter}
}

func topicsOf(configs map[string]body.TopicConfig) []Topic {
	topics := make([]Topic, 0, len(configs))
	for name, t := range configs {
		topics = append(topics, Topic{
			// A copy: the name lives long, the text it was cut from need not.
			Name: strings.Clone(name), Read: t.ReadQueueNums, Write: t.WriteQueueNums,
			Perm: t.Perm, SysFlag: t.TopicSysFlag, Ordered: isOrdered(t),
		})
	}
	slices.SortFunc(topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return topics
}

// isOrdered says whether a topic is declared ordered, in RocketMQ's old way or
// in that of version 5.
func isOrdered(t body.TopicConfig) bool {
	return t.Order || strings.EqualFold(t.Attributes["message.type"], "FIFO")
}
