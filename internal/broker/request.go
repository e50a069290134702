// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"

	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

// faq is where RocketMQ points people to; some tools look for it.
const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

// request is one request being handled. It gets exactly one answer, at once or
// later, from any goroutine; the transport drops answers to one-way requests.
type request struct {
	c   *conn
	cmd *wire.Command
}

// decoder is a custom header.
type decoder interface{ Decode(wire.Fields) error }

// decode reads the custom header. If it cannot, it answers and reports false.
func (r request) decode(h decoder) bool {
	if err := h.Decode(r.cmd.Ext); err != nil {
		r.fail(wire.SystemError, err.Error())
		return false
	}
	return true
}

// reply sends an answer. A peer that is gone needs none.
func (r request) reply(resp *wire.Command) { r.replyWith(resp, transport.WriteOptions{}) }

func (r request) replyWith(resp *wire.Command, o transport.WriteOptions) {
	err := r.c.t.ReplyWith(r.cmd, resp, o)
	if err != nil && !errors.Is(err, transport.ErrClosed) {
		r.c.b.log.Warn("answer not sent", "request", wire.RequestName(r.cmd.Code), "peer", r.c.peer, "err", err)
	}
}

// fail answers with an error code and the reason.
func (r request) fail(code int32, remark string) {
	r.reply(wire.NewResponse(r.cmd, code, remark))
}

// ok answers with success and, if h is not nil, a custom header.
func (r request) ok(h wire.Encoder) {
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	if h != nil {
		h.Encode(&resp.Ext)
	}
	r.reply(resp)
}

// okBody answers with success and a body.
func (r request) okBody(body []byte) {
	resp := wire.NewResponse(r.cmd, wire.Success, "")
	resp.Body = body
	r.reply(resp)
}

// failed answers with what an error of the store or the change log means to a
// client.
func (r request) failed(err error) {
	r.fail(errorCode(err), err.Error())
}

// errorCode translates an error of the stores.
func errorCode(err error) int32 {
	var fenced *changelog.FencedError
	switch {
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
		return wire.MessageIllegal
	case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrFenced),
		errors.As(err, &fenced), errors.Is(err, changelog.ErrClosed), errors.Is(err, errClosing), errors.Is(err, context.Canceled):
		return wire.ServiceNotAvailable
	case errors.Is(err, errNoGroup):
		return wire.SubscriptionGroupNotExist
	}
	return wire.SystemError
}

// errorCodeOr is errorCode, with a code of its own for what is no error of a
// store.
func errorCodeOr(err error, other int32) int32 {
	if code := errorCode(err); code != wire.SystemError {
		return code
	}
	return other
}
