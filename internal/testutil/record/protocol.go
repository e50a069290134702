// SPDX-License-Identifier: Apache-2.0

package record

import "time"

// The protocol: one JSON object a line from a consumer, and one line back for
// each.

type op string

const (
	opHello  op = "hello"  // first line: who is speaking
	opQueues op = "queues" // how many queues the consumer holds now
	opStart  op = "start"  // a handler call begins
	opEnd    op = "end"    // the call numbered Call has ended
)

type request struct {
	Op       op     `json:"op"`
	Consumer string `json:"consumer,omitempty"`
	Queues   int    `json:"queues,omitempty"`
	Start    *Start `json:"start,omitempty"`
	Call     int    `json:"call,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
}

type answer struct {
	Call  int    `json:"call,omitempty"` // of a start: the number of the call
	Act   Act    `json:"act,omitzero"`   // of a start: what the handler is to do
	Error string `json:"error,omitempty"`
}

// Start is what a consumer says of a handler call that begins.
type Start struct {
	Consumer string `json:"-"` // filled in by the recorder
	Key      string `json:"key"`
	Seq      int    `json:"seq"`
	Attempt  int    `json:"attempt,omitempty"`
	Fence    uint64 `json:"fence,omitempty"`
	Queue    string `json:"queue,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
}

// Act is what a handler is to do once its start is on record.
type Act struct {
	Work time.Duration `json:"work,omitempty"` // takes so long
	End  End           `json:"end,omitempty"`  // and ends so
}

// End is a way for a handler call to end.
type End string

// The ways.
const (
	Succeed End = ""
	Fail    End = "fail"
	Panic   End = "panic"
	Goexit  End = "goexit"
)
