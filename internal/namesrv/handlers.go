// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// handler answers one request. A nil answer without an error means that the
// handler has arranged for the answer itself. An error is answered SYSTEM_ERROR
// with its text.
type handler func(s *Server, c *transport.Conn, req *wire.Command) (*wire.Command, error)

// handlers lists the requests served. Each is in a file of its name.
func handlers() map[int32]handler {
	return map[int32]handler{
		wire.ReqPutKVConfig:                   (*Server).putKVConfig,
		wire.ReqGetKVConfig:                   (*Server).getKVConfig,
		wire.ReqDeleteKVConfig:                (*Server).deleteKVConfig,
		wire.ReqGetKVListByNamespace:          (*Server).getKVList,
		wire.ReqRegisterBroker:                (*Server).registerBroker,
		wire.ReqUnregisterBroker:              (*Server).unregisterBroker,
		wire.ReqBrokerHeartbeat:               (*Server).brokerHeartbeat,
		wire.ReqQueryDataVersion:              (*Server).queryDataVersion,
		wire.ReqGetBrokerMemberGroup:          (*Server).getBrokerMemberGroup,
		wire.ReqGetRouteInfoByTopic:           (*Server).getRouteInfo,
		wire.ReqGetBrokerClusterInfo:          (*Server).getClusterInfo,
		wire.ReqWipeWritePermOfBroker:         (*Server).wipeWritePerm,
		wire.ReqAddWritePermOfBroker:          (*Server).addWritePerm,
		wire.ReqGetAllTopicListFromNameServer: (*Server).getAllTopics,
		wire.ReqGetTopicsByCluster:            (*Server).getTopicsByCluster,
		wire.ReqGetSystemTopicListFromNS:      (*Server).getSystemTopics,
		wire.ReqGetUnitTopicList:              (*Server).getUnitTopics,
		wire.ReqGetHasUnitSubTopicList:        (*Server).getUnitTopics,
		wire.ReqGetHasUnitSubUnunitTopicList:  (*Server).getUnitTopics,
		wire.ReqDeleteTopicInNamesrv:          (*Server).deleteTopic,
		wire.ReqRegisterTopicInNamesrv:        (*Server).registerTopic,
		wire.ReqUpdateNamesrvConfig:           (*Server).updateConfig,
		wire.ReqGetNamesrvConfig:              (*Server).getConfig,
	}
}

// Serve implements transport.Handler.
func (s *Server) Serve(c *transport.Conn, req *wire.Command) {
	handle := s.handlers[req.Code]
	if handle == nil {
		s.log.Warn("request of an unknown code", "code", req.Code, "name", wire.RequestName(req.Code), "peer", c.RemoteAddr().String())
		s.answer(c, req, wire.NewResponse(req, wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", req.Code)))
		return
	}
	resp, err := handle(s, c, req)
	if err != nil {
		s.log.Warn("request failed", "code", req.Code, "name", wire.RequestName(req.Code), "peer", c.RemoteAddr().String(), "err", err)
		resp = wire.NewResponse(req, wire.SystemError, err.Error())
	}
	if resp != nil {
		s.answer(c, req, resp)
	}
}

func (s *Server) answer(c *transport.Conn, req, resp *wire.Command) {
	if err := c.Reply(req, resp); err != nil {
		s.log.Debug("answer not delivered", "code", req.Code, "peer", c.RemoteAddr().String(), "err", err)
	}
}

// ok is a plain success.
func ok(req *wire.Command) *wire.Command { return wire.NewResponse(req, wire.Success, "") }

// okBody is a success with a body.
func okBody(req *wire.Command, body []byte) *wire.Command {
	resp := ok(req)
	resp.Body = body
	return resp
}

// okHeader is a success with a custom header, which may be empty.
func okHeader(req *wire.Command, h wire.Encoder) *wire.Command {
	resp := ok(req)
	resp.Ext = wire.Fields{}
	if h != nil {
		h.Encode(&resp.Ext)
	}
	return resp
}
