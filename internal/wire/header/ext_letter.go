// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
)

// Letter rides on CONSUMER_SEND_MSG_BACK 36: what the message is that a member
// gives up. With it the dead letter is stored once, however often it is asked
// for, and only if the member holds the queue (Fence). The zero value is a stock
// client, or a message that is to be retried.
type Letter struct {
	Given    bool
	Queue    int32  // of the message, in its topic
	Offset   int64  // there
	Attempts int32  // that have ended without success
	Cause    string // the last error, at most MaxCause bytes
}

// MaxCause bounds the text of a dead letter's error.
const MaxCause = 1024

// Encode appends the fields, if a letter is given.
func (h *Letter) Encode(f *wire.Fields) {
	if !h.Given {
		return
	}
	f.Add(ExtLetterQueue, strconv.Itoa(int(h.Queue)))
	f.Add(ExtLetterOffset, strconv.FormatInt(h.Offset, 10))
	f.Add(ExtLetterAttempts, strconv.Itoa(int(h.Attempts)))
	if h.Cause != "" {
		f.Add(ExtLetterCause, h.Cause)
	}
}

// Decode reads the fields; absent is the zero value.
func (h *Letter) Decode(f wire.Fields) error {
	*h = Letter{}
	if !f.Has(ExtLetterOffset) {
		return nil
	}
	r := reader{f: f}
	*h = Letter{
		Given: true, Queue: r.int32(ExtLetterQueue), Offset: r.int64(ExtLetterOffset),
		Attempts: r.optInt32(ExtLetterAttempts).Value, Cause: f.Value(ExtLetterCause),
	}
	if r.err == nil && (h.Queue < 0 || h.Offset < 0) {
		r.fail(ExtLetterOffset, f.Value(ExtLetterOffset), "an offset of 0 or more, in a queue from 0 on")
	}
	if len(h.Cause) > MaxCause {
		h.Cause = h.Cause[:MaxCause]
	}
	return r.err
}
