// SPDX-License-Identifier: Apache-2.0

// Package msg holds the message value and every encoding of a message: the
// stored record (which is also the pull answer), the batch send body, the
// property string, message ids, compressed bodies, tag filters and the checks
// of names.
//
// What is promised:
//
//   - A record that AppendRecord wrote, DecodeRecord reads back unchanged, and
//     both agree byte for byte with Apache RocketMQ's MessageDecoder.
//   - No decoder panics, whatever the bytes. What a decoder allocates is bounded
//     by the length of its input, or, for compressed bodies, by the limit given.
//   - Nothing here keeps state between calls, except values of IDGenerator and
//     Codec, which belong to whoever made them.
//
// The package imports the standard library and compression only.
package msg
