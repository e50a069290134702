// SPDX-License-Identifier: Apache-2.0

package body

import (
	"encoding/json"
	"fmt"
)

// InfoWaits is the key of ConsumerRunningInfo.UserConsumerInfo under which a
// member of ours tells what waits in it, as JSON. InfoRescues has the number of
// queues that its watchdog has set going again.
const (
	InfoWaits   = "orderly.waits"
	InfoRescues = "orderly.rescues"
	InfoMember  = "memberName"
)

// MaxWaits bounds the waits that a member tells.
const MaxWaits = 1000

// MemberWait is one thing that waits in a member: a key of a queue, or a whole
// queue.
type MemberWait struct {
	Topic    string `json:"topic"`
	Broker   string `json:"broker"`
	Queue    int32  `json:"queue"`
	Offset   int64  `json:"offset"` // the first message that waits; -1 not known
	Key      string `json:"key,omitempty"`
	Attempts int32  `json:"attempts,omitempty"` // that ended without success
	Why      string `json:"why"`
	Since    int64  `json:"since,omitempty"`  // ms
	Next     int64  `json:"next,omitempty"`   // ms; 0: not by time
	Behind   int    `json:"behind,omitempty"` // messages that wait behind it
}

// EncodeWaits is the value of InfoWaits.
func EncodeWaits(waits []MemberWait) string {
	if len(waits) > MaxWaits {
		waits = waits[:MaxWaits]
	}
	text, err := json.Marshal(waits)
	if err != nil { // texts and numbers always marshal
		return "[]"
	}
	return string(text)
}

// DecodeWaits reads the value of InfoWaits.
func DecodeWaits(text string) ([]MemberWait, error) {
	var waits []MemberWait
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &waits); err != nil {
		return nil, fmt.Errorf("what waits in a member: %w", err)
	}
	return waits, nil
}
