// SPDX-License-Identifier: Apache-2.0

// Package demo is the main job as a story with a proof: a server process, a
// producer, three consumer processes of one group, one of which is killed on
// the way, and a recorder in the parent process that hears of every handler
// call's start and end on one clock. From that record, and from nothing that
// broker or client say of themselves, it works out whether anything was lost,
// repeated, out of order or overlapping.
package demo
