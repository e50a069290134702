// SPDX-License-Identifier: Apache-2.0

// Package order is the heart of Orderly: every decision about the order of
// messages is made here, by pure state machines. They have no clock, no
// goroutine, no lock and no I/O; a driver feeds events with the time at which
// they happened and carries out the actions that come back.
//
// # The promise
//
// For one ordering key in one queue, for one consumer group:
//
//   - One at a time. Message n+1 is not handed out before n has succeeded or
//     was dead-lettered by rule, and two handlers never have messages of the
//     key at once, across processes too, as long as handlers return within half
//     the grace G after their context ends and processes are not paused for
//     longer than that.
//   - Nothing lost, nothing jumps. Whatever is not clearly a success is a retry
//     in place. A committed offset never passes an unfinished message and never
//     goes back except by an explicit reset.
//   - Nothing stalls in silence. What waits can be listed, with its reason, and
//     has a way out.
//
// # The machines
//
//	broker, one per group              client, one per broker and group
//	┌──────────────────────┐  pings   ┌─────────┐ until when hand-outs are safe
//	│ Leases               │◀────────▶│ Session │────────────────┐
//	│ who may consume a    │          └─────────┘                ▼
//	│ queue, which commit  │  lock    ┌─────────┐  grant,    ┌──────────────────┐
//	│ and which pull is    │◀────────▶│ Claims  │───────────▶│ Lane, one per    │
//	│ admitted             │  unlock  │         │◀───────────│ queue            │
//	│                      │          └─────────┘  released  │ strands: queue or│──▶ handlers
//	│                      │◀────────────────────────────────│ keys, in order   │◀── verdicts
//	└──────────────────────┘  pull, commit                   │ progress, window │
//	                                                         └──────────────────┘
//
// Leases takes the place of the classic broker queue lock; a holder is a client
// session. Session (client) and PingLog (broker) prove to each side that the
// other one hears it. Claims decides which queues to lock, refresh and unlock,
// and sees to it that a queue has at most one Lane in the process. A Lane is
// the classic process queue, its mutual exclusion and its consume lock in one:
// it has one driver, and works out what to do next from its state, never from
// an event that may be lost. Its strands are the units of order: the queue, or
// each key. progress and window say what is unfinished.
//
// Pipe stands apart, on the side of the producer: it carries the messages of one
// producer to one broker, in call order and without repeats. Its invariants are
// in its comment, and TestPipeModel checks them.
//
// # States
//
// A queue in Leases is free, leased, or leaving (its stock holder has unlocked
// everything and may still commit; or an operator took it). A session of ours
// is alive, in its grace (its links are closed) or lapsed.
//
//	      lock, new epoch                 link closed: G     not refreshed: L
//	free ─────────────────▶ leased ─────────────────────────────────────────▶ free
//	  ▲                       │ unlock of all by a stock client, or taken
//	  └──────── 2 s, G ── leaving
//
// A claim is idle, held, leaving, lost or unlocking. A lane is open, draining
// or over. A strand is idle, ready, running, waiting (back-off), reporting
// (its attempt), lettering, parked or missing (read again first):
//
//	idle ──▶ ready ──▶ running ──success──▶ idle, with the next message
//	  ▲        ▲          │
//	  │        └─ waiting ◀── retry       letter ──▶ lettering ──stored──▶ idle
//	  └── unpark ── parked ◀── out of attempts
//
// # Invariants
//
// Each is checked by a test of the same name, at every step of random
// histories. Of a lane: OneRunnerPerLane,
// NothingStartsBeforeItsPredecessorIsDone, CommitNeverPassesUnfinished,
// CommitNeverGoesBack, SettledRangesAreWhatIsFinished, AfterLossNothingCommits,
// AttemptsAreExact, ReleaseComesLast, NothingStallsInSilence, WindowIsBounded,
// ReaderCommitsByItself (poll mode),
// NoTickIsDueInThePast. Of the lease table: AQueueHasOneHolder, EpochsOnlyGrow,
// OnlyTheHolderCommits, PositionsNeverGoBack, EveryRequestIsAnsweredOnce,
// NoLeaseEndsEarly. Of all together: TestWorld, TestSeeds and TestExhaustive
// let a table and its members meet under every fault. Of the steady state:
// NoAllocationInSteadyState. And the directory mutations holds deliberate
// faults, each with the test that finds it.
//
// # Why the client always stops first
//
// A client counts silence from when its last answered ping was sent, the broker
// from when it sent the answer that the client echoed, which is later. After
// G/2 the client hands out nothing and ends contexts; handlers have another
// G/2. The broker gives the queue away G after the session's last link closed
// or its last refresh, whichever is later, or L (at least 2 G) after the last
// refresh while a link is open: a ping that the broker answered and whose
// answer was read can be at most G newer than the refresh that it carried, for
// else the client had closed its link.
//
// # Rules for drivers
//
// Step is called under one lock per machine, in the order in which things
// happened; actions are carried out in their order. Next says when a tick is
// due; a tick too many does no harm. Strings and slices of an event are not
// kept unless said so; buf belongs to the caller.
package order
