// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"errors"

	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// putKVConfig serves PUT_KV_CONFIG 100. It is answered once the item is on
// disk.
func (s *Server) putKVConfig(c *transport.Conn, req *wire.Command) (*wire.Command, error) {
	namespace, key := req.Ext.Value("namespace"), req.Ext.Value("key")
	value, given := req.Ext.Get("value")
	if namespace == "" || key == "" {
		return nil, errors.New("namespace or key is null")
	}
	if !given {
		return nil, errors.New("value is null")
	}
	s.submit(func(t *Table) error {
		if err := t.CheckKV(namespace, key, value); err != nil {
			return err
		}
		t.PutKV(namespace, key, value)
		return nil
	}, func(err error) { s.answerEdit(c, req, err) })
	return nil, nil
}

// answerEdit answers a request that has changed the KV table, or has not.
func (s *Server) answerEdit(c *transport.Conn, req *wire.Command, err error) {
	switch {
	case err == nil:
		s.answer(c, req, ok(req))
	case errors.Is(err, errKVBusy):
		s.answer(c, req, wire.NewResponse(req, wire.SystemBusy, err.Error()))
	default:
		s.answer(c, req, wire.NewResponse(req, wire.SystemError, err.Error()))
	}
}
