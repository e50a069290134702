// SPDX-License-Identifier: Apache-2.0

// Package record keeps what happened in a run with several processes, on one
// clock: the parent's. Consumer processes report the start and the end of each
// handler call over a TCP connection and go on only when that was answered, so
// that the record's order is the order of things: an end is written down before
// the handler returns, a start before it does any work. A process that dies
// ends its open calls at its death.
//
// The record is judged by package check, from nothing that broker or client say
// of themselves.
package record
