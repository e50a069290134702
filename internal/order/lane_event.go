// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// LaneConfig holds the rules by which one queue is consumed. The zero value is
// good: in queue order, one message at a time, retried in place for ever.
type LaneConfig struct {
	ByKey   bool // keys run in parallel, each in order; else the queue is one lane
	Workers int  // by key: hand-outs at once; zero means 16
	Batch   int  // messages per hand-out; zero means 1
	Manual  bool // queue order only: Success holds, Commit and Rollback decide
	Poll    bool // queue order only: a reader takes what it wants of a hand-out (Done) and commits by itself
	Stock   bool // the broker is an Apache RocketMQ one: attempts are not reported

	MaxCount int           // cached messages, zero means 1000
	MaxBytes int64         // cached bytes, zero means 100 MiB
	PullWait time.Duration // pause after each pull that brought messages

	Backoff     []time.Duration // waits before attempts 2, 3, ...; the last one repeats; empty means 1 s
	MaxBackoff  time.Duration   // zero means 30 s; the lower bound is 10 ms
	MaxAttempts int             // zero: for ever
	Poison      Poison          // what happens after MaxAttempts

	Timeout       time.Duration // a handler's context ends after it; zero: never
	Redeliver     bool          // after Timeout hand out again without waiting for the return (receipt handles)
	MaxHandler    time.Duration // longest time that a handler may ignore its ended context before the queue is released; zero: for ever
	MaxTurn       time.Duration // consumption in a row before others get their turn; zero means 60 s
	CommitEvery   time.Duration // shortest time between commits; zero means 1 s
	SettleTimeout time.Duration // what a handler may need after its context ended: G/2; zero means 500 ms
}

// Poison is what happens to a message that has used up its attempts.
type Poison uint8

// Poison policies.
const (
	PoisonBlock  Poison = iota // keep trying
	PoisonLetter               // dead-letter it and go on
	PoisonPark                 // its lane waits until it is resumed
)

// Entry is one message as a lane sees it.
type Entry struct {
	Offset int64
	Size   int32
	Key    uint64 // hash of the ordering key; 0: none (a barrier of the queue)
	Ref    any    // the driver's own; never looked at
}

// LaneEventKind says what happened; see the constants.
type LaneEventKind uint8

// The events of a lane.
const (
	// LaneTick lets time pass. Feed it when Next is reached and when the session
	// turned silent or alive.
	LaneTick LaneEventKind = iota
	// LaneStart begins at Grant (once, first).
	LaneStart
	// LanePulled: the pull under way was answered with Entries (ascending), the
	// next one starts at Next. An answer without messages has only Next.
	LanePulled
	// LaneRefilled: the refill under way was answered with Entries, up to Next. If
	// the queue now starts above its offset, with no Entries and Next as the
	// start of the queue.
	LaneRefilled
	// LaneRefillFailed: the refill failed; try again after Delay (zero means 1 s).
	LaneRefillFailed
	// LanePullFailed: the pull failed; try again after Delay (zero means 1 s).
	LanePullFailed
	// LanePullMoved: the broker says the pull's offset is outside of the queue,
	// which starts at Offset and ends at Next.
	LanePullMoved
	// LaneSettle: the handler of Token came back with Verdict; Delay asks for a
	// wait of its own (zero: the back-off's), Done of the first messages of the
	// hand-out succeeded whatever the verdict.
	LaneSettle
	// LaneExtend moves the deadline of Token to Deadline.
	LaneExtend
	// LaneLettered: the message at Offset was stored in the dead-letter queue;
	// with Failed it was not.
	LaneLettered
	// LaneCommitted: the commit ID was answered; with Failed it was not done
	// (no answer or an error; not: fenced).
	LaneCommitted
	// LanePause and LaneResume: by the user; what runs ends, nothing new starts.
	LanePause
	LaneResume
	// LaneCommitTo: poll mode: the reader is done with what lies below Offset;
	// more than it was handed counts as all of that.
	LaneCommitTo
	// LaneRetryNow, LaneLetterNow, LaneParkNow, LaneUnpark: verbs of an operator
	// on the message at Offset, the head of its key.
	LaneRetryNow
	LaneLetterNow
	LaneParkNow
	LaneUnpark
	// LaneHold and LaneGo: nothing is handed out in between, because the lease
	// may be lost; what runs goes on.
	LaneHold
	LaneGo
	// LaneRevoke: give the queue up: no pull, no hand-out, wait for handlers,
	// commit, release. At Deadline (Never: no bound) contexts end, and
	// SettleTimeout later the lane is released whatever still runs.
	LaneRevoke
	// LaneLost: the lease is lost (fenced, not granted again, another epoch):
	// nothing of it may be committed; end contexts, wait for handlers, release.
	LaneLost
)

// LaneEvent is one event.
type LaneEvent struct {
	Kind LaneEventKind
	// Until: nothing may be handed out from then on, and contexts end. The lower
	// one of Session.Until (our broker) and the Until of the queue's last
	// ClaimStart or ClaimGo; read just before Step and set in every event.
	Until Time
	// Hold: nothing may be handed out, because the lease may be lost: set from
	// ClaimHold to ClaimGo, read just after Until and set in every event. A
	// driver that feeds its lanes from mailboxes needs it: LaneHold may still
	// wait in one when Until has moved on. With one lock for claims and lanes
	// LaneHold and LaneGo do.
	Hold bool

	Grant    Grant
	Entries  []Entry // copied
	Offset   int64
	Next     int64
	Token    LaneToken
	ID       uint64
	Verdict  Verdict
	Delay    time.Duration
	Done     int
	Deadline Time
	Failed   bool
}

// LaneToken names one hand-out of a lane. A token is never used again.
type LaneToken uint64

// Verdict is the outcome of a handler call. Any value that is not listed here,
// or does not belong to the mode, is a Retry.
type Verdict uint8

// Verdicts.
const (
	Retry    Verdict = iota // error, panic, time-out, suspend: again, in place
	Success                 // done; in manual mode: held until Commit
	Commit                  // manual mode: this and all held messages are done; poll mode: what was polled is, below Offset if that is not 0
	Rollback                // manual mode: this and all held messages again; no attempt is counted
	Letter                  // dead-letter the message and go on
)

// LaneActionKind says what the driver must do; see the constants.
type LaneActionKind uint8

// The actions of a lane.
const (
	// LanePull: pull from Offset; the broker may wait for new messages. One at a
	// time; answer with LanePulled, LanePullFailed or LanePullMoved. Nothing else
	// stops it: a lane that is revoked or lost drops the answer.
	LanePull LaneActionKind = iota
	// LaneRefill: by-key mode: messages that were not kept are needed now. Read
	// from Offset, without waiting for new messages, beside a pull under way.
	// One at a time; answer with LaneRefilled or LaneRefillFailed.
	LaneRefill
	// LaneHandOut: call the handler with Entries (valid until Token is settled),
	// attempt Attempt of the first one, until Deadline. Its context ends on LaneCancel. SameTurn says that
	// the worker may go on with it at once, before others.
	LaneHandOut
	// LaneCancel: end the context of Token; Cause says why.
	LaneCancel
	// LaneCommit: commit Offset with the settled ranges (AppendSettled) and
	// attempts (AppendAttempts) as they are now; ID comes back with the answer.
	LaneCommit
	// LaneLetter: store Entries[0] in the dead-letter queue (once; look its
	// identity up first), then feed LaneLettered.
	LaneLetter
	// LaneReleased: the lane is over, and takes no more events. Unless Lost, what
	// was settled is committed. Overrun: handlers still run.
	LaneReleased
	// LaneSkipped: the broker no longer has the messages from Offset up to Next;
	// report the loss.
	LaneSkipped
	// LaneBeyond: the position Offset lies past the end Next of the queue; report
	// it; the lane waits until the queue has grown.
	LaneBeyond
	// LaneOverrun: the handler of Token ignores its ended context; report it.
	LaneOverrun
)

// LaneAction is one thing to do.
type LaneAction struct {
	Kind     LaneActionKind
	Token    LaneToken
	Entries  []Entry
	Attempt  int32
	SameTurn bool
	Deadline Time
	Cause    Cause
	ID       uint64
	Offset   int64
	Next     int64
	Epoch    Epoch
	Lost     bool
	Overrun  bool
}

// Cause is why a handler's context ended.
type Cause uint8

// Causes.
const (
	CauseNone    Cause = iota
	CauseTimeout       // the handler's time is up
	CauseSilent        // the broker has not been heard for half the grace
	CauseLost          // another member may have the queue
	CauseRevoked       // the time to give the queue up is over
)
