// SPDX-License-Identifier: Apache-2.0

// Package meta is the state of one broker that is not messages: topics,
// groups, positions with their settled ranges and attempts, leases, the
// name server's keys, marks reserved ahead, producers.
//
// What is promised:
//
//   - There is one way to change it: a change handed to Apply, Update or
//     Submit. Changes take effect one after the other, in the order in which
//     they were handed over, each request whole or not at all.
//   - A change is written to the change log before its request is answered and
//     before any reader sees it, so what was seen survives the end of the
//     process. It is on disk within one second, or before the answer when the
//     request asks for that.
//   - A check and its change are one step: a Decision sees the state that all
//     earlier requests left, and nothing comes between it and its changes.
//   - A reader takes a View, a snapshot of the whole state that never changes.
//     Taking one costs one atomic load, and holding one blocks nobody.
//   - A request costs what it changes, whatever the size of the state.
//   - State is a function of the log: no clock, no random number; times come
//     with the changes.
//
// The package stores and does not judge: which commit is admissible, who may
// hold a lease and for how long is decided by internal/order and the broker
// inside a Decision.
//
// # Shape
//
//	request ──► change log's writer ──► Decision sees pending View
//	                   │                 changes make the next pending View
//	                   ├─ one write for the whole batch
//	                   └─ pending View is published, requests are answered
//
// A View is a handful of persistent search trees (see tree) that share all
// but the changed paths with the View before. A snapshot of the log is an
// iteration over a View in the background.
package meta
