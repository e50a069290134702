// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// LeaseConfig holds the rules of one group at the broker.
type LeaseConfig struct {
	Grace time.Duration // G; zero means 1 s, kept within 0.25 to 60 s
	Lease time.Duration // L; zero means the larger of 10 s and 2 G, never below 2 G

	// StockFastRelease gives a stock client's queues to others 5 s after its
	// last link closed, unless its client id shows up again.
	StockFastRelease bool

	// Start is the time at which the broker began to serve.
	Start Time
}

// LeaseEventKind says what happened; see the constants.
type LeaseEventKind uint8

// The events of a lease table. Behind each stand the fields that it reads;
// Link is read by all that name it. Session is 0 for a stock client.
const (
	// LeaseTick lets time pass. Only a tick ends leases. The driver sends one
	// whenever Next is reached; a tick that comes too late tells the table that
	// the broker itself was paused, and every lease is given G more.
	LeaseTick LeaseEventKind = iota

	// LeaseRestore puts back what was stored, before the first other event:
	// Queue, Epoch (the last one given), Offset (the position or Unknown), Reset
	// as last stored, and if the queue was leased Client, Session, Name and Host.
	LeaseRestore

	// LeaseEpochs gives the table the epochs from Epoch up to and without
	// EpochEnd, reserved and synced. Must lie above all earlier ones.
	LeaseEpochs

	// LeaseJoin: a heartbeat that names the group came on Link. Host (address
	// without port), Port (listening port), Client, Session, Name (member name).
	LeaseJoin

	// LeaseKnown: Link has made itself known without being a member: a
	// heartbeat without this group, or a pull or lock of another group. Only
	// needed while a commit of Link waits in this table (LeaseWait was seen).
	LeaseKnown

	// LeaseRefresh: a ping of ours on Link acknowledged the answer that was sent
	// at Sent (see PingLog).
	LeaseRefresh

	// LeaseClosed: Link is closed, and all frames it brought were applied.
	LeaseClosed

	// LeaseLeave: Link's client unregistered from the group.
	LeaseLeave

	// LeaseLock: a lock request. Link, Host, Port, Client, Session, Queues, and
	// for our clients Starts: per queue the offset where the group starts by its
	// policy, used only where Position is Unknown.
	LeaseLock

	// LeaseUnlock: an unlock request. Link, Client, Session, Queues. Overrun says
	// that the holder gave up a queue whose handler still runs.
	LeaseUnlock

	// LeasePull: a pull. Link, Host, Session, Epoch, Queue, Offset, Known.
	LeasePull

	// LeaseCommit: an offset commit, or the commit part of a pull (fed before the
	// pull, with Async). Link, Host, Session, Epoch, Queue, Offset, End, Async,
	// Known, Ordered.
	LeaseCommit

	// LeaseReset: an operator sets the position of Queue to Offset, which the
	// driver has brought inside of the queue.
	LeaseReset

	// LeaseRelease: an operator takes Queue from whoever holds it: the holder is
	// fenced at once, others get the queue after G.
	LeaseRelease

	// LeaseForget: Queue was deleted.
	LeaseForget

	// LeaseAssign: Queues are meant for Client/Session, by the broker's own split.
	// Whoever they were meant for before, they no longer are.
	LeaseAssign
)

// LeaseEvent is one event. Which fields count depends on Kind. Driver tags are
// not 0.
type LeaseEvent struct {
	Kind LeaseEventKind
	Tag  uint64 // of the driver; comes back in the actions that answer the event

	Link    LinkID
	Host    string // the peer's address without port
	Port    int32  // the broker's port that the link came in on
	Client  string // client id
	Session Token  // 0: stock
	Name    string // member name, if any

	Queue    Queue
	Queues   []Queue // not kept
	Starts   []int64 // parallel to Queues, or nil; not kept
	Epoch    Epoch
	EpochEnd Epoch
	Offset   int64
	End      int64 // the queue's next offset; 0 when not known
	Sent     Time

	Async   bool // nobody waits for the answer: one-way, or from a Go client
	Known   bool // the link has sent a heartbeat, lock or pull of any group
	Ordered bool // the topic is an ordered one
	Overrun bool
	Reset   bool
}

// LeaseActionKind says what the driver must do; see the constants.
type LeaseActionKind uint8

// The actions of a lease table, to be carried out in their order. Those marked
// 'change' are changes of stored state: they are written before any answer
// that follows them is sent.
const (
	// LeaseGranted (change if Fresh or Start): Queue is leased to Client/Session
	// under Epoch; Offset is the group's position or Unknown. With Start this
	// fixes Offset as the position, in the same change. Answers a lock.
	LeaseGranted LeaseActionKind = iota
	// LeaseRefused: Queue is not leased to the asker; Client holds it (or is
	// empty), Why says why. Answers a lock, and an unlock that was not done: the
	// client must ask again.
	LeaseRefused
	// LeaseFreed (change): nobody holds Queue any more; Client/Session/Epoch
	// held it, Why says how it ended.
	LeaseFreed
	// LeaseAnnounce: tell all members that a queue became free or that the
	// membership changed (NOTIFY_CONSUMER_IDS_CHANGED). At most one per step.
	LeaseAnnounce
	// LeaseStored (change): the position of Queue is Offset, and Reset says
	// whether a reset is still to be taken up. A commit of ours may carry new
	// ranges and attempts even if Offset is the old position: store them too.
	// Answers the commit Tag, if not 0, with success.
	LeaseStored
	// LeaseDropped: the commit Tag is not applied, Why says why. Answer 0 to a
	// stock client; CodeFenced to ours if Why is WhyFenced, else an error.
	LeaseDropped
	// LeaseWait: the commit Tag waits until its link is known. Another action
	// with this Tag follows.
	LeaseWait
	// LeaseMoved (change): the position of Queue was reset from Old to Offset,
	// under the new Epoch, and Reset is stored as true; ranges and attempts of
	// Queue are dropped. Client and Session, if any, hold the queue and must be
	// told: ours by answering its waiting pull with CodeFenced, a stock client by
	// RESET_CONSUMER_CLIENT_OFFSET. Answers the commit or reset Tag with success.
	LeaseMoved
	// LeaseServe: the pull Tag may be served.
	LeaseServe
	// LeasePark: the pull Tag is held back and answered 19 when its time is up
	// (not earlier than a long poll would be).
	LeasePark
	// LeaseFence: the pull Tag is refused with CodeFenced; Client holds the
	// queue under Epoch.
	LeaseFence
	// LeaseCloseLink: close Link; frames of it that are not yet applied must
	// not be applied.
	LeaseCloseLink
	// LeaseJoinRefused: the join on Link is refused; Client holds the name.
	LeaseJoinRefused
	// LeaseTwin: two processes use the client id Client, report it; Link is the
	// newer one and gets no locks.
	LeaseTwin
	// LeasePassed: Queue was free for G and Client/Session, for whom it is meant,
	// did not lock it: mean it for another one (LeaseAssign).
	LeasePassed
	// LeaseNeedEpochs: reserve, sync and feed more epochs.
	LeaseNeedEpochs
)

// LeaseAction is one thing to do. Which fields count depends on Kind.
type LeaseAction struct {
	Kind    LeaseActionKind
	Why     Why
	Fresh   bool // a new lease, not the asker's own once more
	Start   bool // the position is the group's fixed start
	Reset   bool // a reset is to be taken up by the holder
	Tag     uint64
	Link    LinkID
	Queue   Queue
	Client  string
	Session Token
	Epoch   Epoch
	Offset  int64
	Old     int64
}

// Change reports whether a is a change of stored state.
func (a LeaseAction) Change() bool {
	switch a.Kind {
	case LeaseGranted:
		return a.Fresh || a.Start
	case LeaseFreed, LeaseStored, LeaseMoved:
		return true
	default:
		return false
	}
}

// Why is the reason of a refusal, an end or a wait.
type Why uint8

// Reasons.
const (
	WhyNone      Why = iota
	WhyHeld          // another member holds the queue
	WhyGrace         // its holder's link is gone, the grace runs
	WhyRestart       // its holder has not come back since the broker started
	WhyLeaving       // its holder is shutting down
	WhyTwin          // the client id is used by two processes
	WhyUnproven      // the resumed link has not echoed the broker's answer
	WhyNoEpoch       // epochs are being reserved
	WhyStranger      // the session is not a member on this link
	WhyFenced        // the epoch is older than the queue's last one
	WhyForeign       // not the holder
	WhyLower         // lower than the position
	WhyNegative      // negative
	WhyPastEnd       // past the end of the queue
	WhyReset         // not the value of a reset that is under way
	WhyUnknown       // the link was not known in time
	WhyCrowded       // too many commits wait
	WhyUnlocked      // given back by the holder
	WhyClosed        // the grace after its holder's last link ran out
	WhySilent        // not refreshed for the lease time
	WhyOperator      // taken by an operator
	WhyDeleted       // the queue was deleted
	WhyNameTaken     // the member name is in use by a live session
	WhyExpired       // a stock holder did not refresh in time
)
