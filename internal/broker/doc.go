// SPDX-License-Identifier: Apache-2.0

// Package broker is the server that stores messages and hands them out: it
// speaks RocketMQ's remoting protocol, with the optional fields by which
// Orderly's client gets fencing, exact positions and quick take-overs.
//
// What is promised:
//
//   - Requests of one connection are applied in the order in which they
//     arrived; sends of one connection to one queue are stored in that order.
//   - A send is answered with success only after the store said it is safe by
//     the configured durability mode. A commit, a lock, a change of topics or
//     groups is answered only after it is in the change log.
//   - Who may consume a queue and which commits count is decided by
//     internal/order alone; this package feeds it events and carries out its
//     actions.
//   - An unknown request code is answered, never a reason to break a link. What
//     a peer can make the broker hold is bounded.
//   - A ping is answered by the goroutine that read it: it waits for no disk
//     and no group.
//   - A Broker is a value: several may live in one process.
//
// # Shape
//
//	connection's reader ──► ping: answered at once
//	        │
//	        └─► connection's queue ──► handler (one at a time per connection)
//	                                     ├─ send ───► store, answered by its completer
//	                                     ├─ pull ───► reader pool, or held until a commit
//	                                     ├─ lock, commit, heartbeat ──► group (leases)
//	                                     └─ others ─► answered in place
//
// handlers is the table of all requests that are served; each stands in a file
// named after it.
package broker
