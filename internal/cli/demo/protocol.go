// SPDX-License-Identifier: Apache-2.0

package demo

// The recorder's protocol: one JSON object a line from a consumer process,
// and one line back for each. A handler call goes on only when its start has
// been answered, and counts as done only when its end has.

type op string

const (
	opHello  op = "hello"  // first line: who is speaking
	opQueues op = "queues" // how many queues the consumer holds now
	opStart  op = "start"  // a handler call begins
	opEnd    op = "end"    // the call numbered Call has succeeded
)

type request struct {
	Op       op     `json:"op"`
	Consumer string `json:"consumer,omitempty"`
	Queues   int    `json:"queues,omitempty"`
	Key      string `json:"key,omitempty"`
	Seq      int    `json:"seq,omitempty"`
	Call     int    `json:"call,omitempty"`
}

type answer struct {
	Call  int    `json:"call,omitempty"` // of a start: the number of the call
	Error string `json:"error,omitempty"`
}
