// SPDX-License-Identifier: Apache-2.0

// Package wire is the codec of RocketMQ's remoting protocol: frames and
// commands, in both header forms (JSON and ROCKETMQ binary), both directions.
//
// It promises:
//
//   - Decode never panics and never allocates by a length that it has not
//     checked against the bytes it was given.
//   - Whatever a Java or Go peer writes is read; whatever they forgive (unknown
//     keys, numbers as text, other letter case, ...) is forgiven here, because
//     a refused header costs the peer its connection.
//   - Decode and then Append gives back the same header fields and values and
//     the same body; a binary header comes back byte for byte.
//   - What is written is read by every known peer: ext values are always JSON
//     strings (a number there makes the Go client drop the whole frame).
//
// One table each holds the request and the response codes with their names.
// Package header has the ext fields of each request, package body the JSON
// bodies.
package wire
