// SPDX-License-Identifier: Apache-2.0

// Package load generates load through the client library and says what came of
// it: how many messages a second, how long each took, and whether the order of
// each key held. `orderly bench` is its user; it is no API for others.
//
// What is promised: a run is bounded by count and by time, nothing is left
// running behind it, and an order that was broken is counted, not hidden.
package load
