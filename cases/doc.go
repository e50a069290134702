// SPDX-License-Identifier: Apache-2.0

// Package cases plays scripted faults with real processes: a server, consumer
// processes that are killed, frozen and restarted, links that break in a dumb
// TCP proxy. One recorder in the parent process keeps what happened on one
// clock, and package check judges it.
//
// A case is played in several rounds, each with new topics and groups, and
// passes only if every round does. All of it are tests behind the build tag
// `cases`, run by `make cases`; at the end a table shows each measured time
// beside its bound.
package cases
