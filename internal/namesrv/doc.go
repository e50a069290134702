// SPDX-License-Identifier: Apache-2.0

// Package namesrv is the name server: brokers register their topics here, and
// clients ask where a topic is.
//
// It promises:
//
//   - A route names only brokers that have registered within their time-out
//     and whose registering connection is up. A broker whose connection is
//     lost is out of all routes at once.
//   - An ordered topic's route always carries its ordered-topic configuration:
//     the one an administrator put, else that of the first broker that
//     registered the topic. It does not change while that broker is away.
//   - A second broker name that registers an ordered topic is reported: in the
//     log, by Conflicts, and in the KV namespace ORDERLY_CONFLICTS.
//   - KV configuration survives a restart when a directory is given; it is on
//     disk before it is answered. Everything else comes back with the next
//     registrations.
//   - What peers can make it hold is bounded.
//
// table.go and the files beside it are the pure state, one value without locks
// or clock; each request has a file with its handler; handlers.go lists them.
package namesrv
