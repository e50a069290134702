// SPDX-License-Identifier: Apache-2.0

// Package memnet is a network in memory, for tests and for running a whole
// cluster inside one process.
//
// It promises the behaviour of TCP that the rest of Orderly leans on: ordered
// bytes, bounded buffers with back-pressure, deadlines, a close that is seen
// by the peer only after the bytes sent before it, and refused, reset and
// silent connections that can be told apart. Hosts are names of the caller's
// choosing ("broker-a", "client-2"); an address is host:port.
//
// Faults work on named hosts and take effect at once on open connections:
//
//	Block      one direction is silent; what is sent waits and arrives after Unblock
//	Cut        Block both ways; Partition cuts every pair of two sets
//	Blackhole  one direction swallows bytes for good, for connections open now
//	Delay      one direction takes d longer
//	Reset      open connections between two hosts break with ECONNRESET
//	Kill       a process of that host died: peers see its links closed, ports closed
//	Freeze     the host's process stands still: no call of its connections returns
//
// Every wait is on a sync.Cond or a channel and no lock is held across a
// wait, so that the package can be used inside testing/synctest bubbles. It
// starts no goroutine of its own apart from expired timers.
package memnet
