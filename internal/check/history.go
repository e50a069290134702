// SPDX-License-Identifier: Apache-2.0

// Package check judges recorded histories of ordered messages. It knows
// nothing of brokers: it is given what was sent, which handler calls began and
// ended, and which processes died, all on one clock, and says whether the
// contract of order held:
//
//   - O1: the first sights of a key's messages ascend by one.
//   - O2: message n+1 of a key never starts before n has succeeded or has been
//     dead-lettered.
//   - O3: two handler calls for one key never overlap, across processes too.
//   - O4: each acknowledged message is handled with success or dead-lettered.
//
// The demo, the simulation and the cases with real processes all use it, and
// it is itself tested with histories that break each rule.
package check

import "time"

// Outcome is how a handler call ended.
type Outcome uint8

const (
	// Open: no end was recorded. A call of a process that died ends, for the
	// rules, at the moment of the death.
	Open Outcome = iota
	// Success: the handler returned and reported so.
	Success
	// Failure: the handler reported an error; the message has to come again.
	Failure
)

// Send is one message handed to a producer. Sequence numbers of a key start
// at 1 and ascend by one in the order of the calls.
type Send struct {
	Key   string
	Seq   int
	Acked bool
}

// Call is one handler call. Times are on the recorder's clock.
type Call struct {
	Consumer   string
	Key        string
	Seq        int
	Place      string // where the message stands in its queue, "" if not told
	Start, End time.Duration
	Outcome    Outcome
}

// Kill is the violent end of a consumer's process.
type Kill struct {
	Consumer string
	At       time.Duration
}

// Pause is a time in which a consumer's process stood still. Order promises
// nothing of a process that pauses for longer than half the grace; see overlaps
// for what exactly is forgiven.
type Pause struct {
	Consumer string
	From, To time.Duration
}

// Outage is a time in which the server was dead, or, if a consumer is named,
// could not hear that consumer or be heard by it. What was handled then, or so
// shortly before that it was not committed, may come again.
type Outage struct {
	From, To time.Duration
	Consumer string // "": all of them
}

// outageSlack is how long before and after an outage it explains that a success
// was not committed.
const outageSlack = time.Second

// Message names one message.
type Message struct {
	Key string
	Seq int
}

// History is everything that was recorded in a run.
type History struct {
	Sends       []Send
	Calls       []Call
	Kills       []Kill
	Outages     []Outage
	Pauses      []Pause
	Grace       time.Duration // of the group, to judge pauses by; 0: the default, 1 s
	DeadLetters map[Message]time.Duration
	// End is when recording stopped; calls still open then end there.
	End time.Duration
}
