// SPDX-License-Identifier: Apache-2.0

package header

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
)

// LockGrants rides on the answer to LOCK_BATCH_MQ 41. Its lists run parallel to
// the lockOKMQSet of the body.
type LockGrants struct {
	Grants  []LockGrant
	Refused []LockRefusal
}

// LockGrant is what a client has to know of a queue it was granted.
type LockGrant struct {
	Epoch    uint64 // of the lease, the fence number
	Start    int64  // committed offset; -1 unknown
	Progress Progress
}

// LockRefusal says why a queue was not granted.
type LockRefusal struct {
	Topic  string `json:"topic"`
	Queue  int32  `json:"q"`
	Holder string `json:"holder,omitempty"` // client id
	Why    string `json:"why"`              // WhyHeld, ...
}

// Values of LockRefusal.Why.
const (
	WhyHeld    = "held"    // another member's lease is alive
	WhyGrace   = "grace"   // its former holder's grace still runs
	WhyRestart = "restart" // the broker honours leases from before its restart
)

// Encode appends the fields.
func (h *LockGrants) Encode(f *wire.Fields) {
	n := len(h.Grants)
	epochs, starts := make([]string, n), make([]string, n)
	ranges, attempts := make([]string, n), make([]string, n)
	for i, g := range h.Grants {
		epochs[i] = strconv.FormatUint(g.Epoch, 10)
		starts[i] = strconv.FormatInt(g.Start, 10)
		ranges[i], attempts[i] = g.Progress.Ranges, g.Progress.Attempts
	}
	if n > 0 {
		f.Add(ExtEpochs, strings.Join(epochs, ","))
		f.Add(ExtStart, strings.Join(starts, ","))
	}
	addUnlessBlank(f, ExtRanges, ranges)
	addUnlessBlank(f, ExtAttempts, attempts)
	if len(h.Refused) > 0 {
		if text, err := json.Marshal(h.Refused); err == nil { // texts and numbers always marshal
			f.Add(ExtRefused, string(text))
		}
	}
}

// addUnlessBlank adds a list of texts that hold commas: it is separated by '|'.
func addUnlessBlank(f *wire.Fields, key string, list []string) {
	text := strings.Join(list, "|")
	if strings.Trim(text, "|") != "" {
		f.Add(key, text)
	}
}

// Decode reads the fields; an answer of a stock broker has none.
func (h *LockGrants) Decode(f wire.Fields) error {
	*h = LockGrants{}
	if text := f.Value(ExtRefused); text != "" {
		if err := json.Unmarshal([]byte(text), &h.Refused); err != nil {
			return &FieldError{Field: ExtRefused, Value: text, Want: "a list of refused queues"}
		}
	}
	epochs := list(f, ExtEpochs, ",")
	starts := list(f, ExtStart, ",")
	ranges := list(f, ExtRanges, "|")
	attempts := list(f, ExtAttempts, "|")
	h.Grants = make([]LockGrant, len(epochs))
	for i, text := range epochs {
		g := &h.Grants[i]
		var err error
		if g.Epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
			return &FieldError{Field: ExtEpochs, Value: text, Want: "a lease epoch"}
		}
		if g.Start = -1; i < len(starts) {
			if g.Start, err = strconv.ParseInt(starts[i], 10, 64); err != nil {
				return &FieldError{Field: ExtStart, Value: starts[i], Want: "an offset"}
			}
		}
		g.Progress = Progress{Ranges: at(ranges, i), Attempts: at(attempts, i)}
	}
	return nil
}

func list(f wire.Fields, key, sep string) []string {
	if text := f.Value(key); text != "" {
		return strings.Split(text, sep)
	}
	return nil
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
