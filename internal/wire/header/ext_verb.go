// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"

	"github.com/orderlymq/orderly/internal/wire"
)

// Verb rides on CONSUME_MESSAGE_DIRECTLY 309: an operator's word on a message
// that a member of ours has in hand. The broker passes it on to the queue's
// holder; clientId may be empty then. With VerbRelease it rides on
// UNLOCK_BATCH_MQ 42, and Offset does not count.
type Verb struct {
	Verb   string // VerbRetry, ...; "": none
	Topic  string
	Queue  int32
	Offset int64 // of the message, the first unfinished one of its key
}

// The verbs.
const (
	VerbRetry   = "retry"       // try it now
	VerbLetter  = "dead-letter" // give it up and go on
	VerbPark    = "park"        // stop its key there
	VerbResume  = "resume"      // let a parked key go on
	VerbRelease = "release"     // take the queue from its holder
)

// Encode appends the fields, if there is a verb.
func (h *Verb) Encode(f *wire.Fields) {
	if h.Verb == "" {
		return
	}
	f.Add(ExtVerb, h.Verb)
	f.Add(ExtVerbTopic, h.Topic)
	f.Add(ExtVerbQueue, strconv.Itoa(int(h.Queue)))
	f.Add(ExtVerbOffset, strconv.FormatInt(h.Offset, 10))
}

// Decode reads the fields; without a verb the rest is not looked at.
func (h *Verb) Decode(f wire.Fields) error {
	*h = Verb{Verb: f.Value(ExtVerb)}
	switch h.Verb {
	case "":
		return nil
	case VerbRetry, VerbLetter, VerbPark, VerbResume, VerbRelease:
	default:
		return &FieldError{Field: ExtVerb, Value: h.Verb, Want: "retry, dead-letter, park, resume or release"}
	}
	r := reader{f: f}
	h.Topic = r.str(ExtVerbTopic)
	h.Queue = r.int32(ExtVerbQueue)
	h.Offset = r.int64(ExtVerbOffset)
	if r.err == nil && (h.Queue < 0 || h.Offset < 0) {
		r.fail(ExtVerbQueue, f.Value(ExtVerbQueue)+" "+f.Value(ExtVerbOffset), "a queue and an offset of 0 or more")
	}
	return r.err
}
