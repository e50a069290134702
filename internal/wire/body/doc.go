// SPDX-License-Identifier: Apache-2.0

// Package body has the JSON bodies of requests and responses, one file each,
// both directions.
//
// It promises: Decode reads what Java's fastjson and the Go client write, which
// is often no JSON (keys that are bare numbers or whole objects, `$ref`, numbers
// as text, enums as ordinals); it never panics, its memory and time are bounded
// by a small multiple of the body's length. Encode writes what stock Java and Go
// clients read: quoted keys where a key is a number, fastjson's object keys where
// a key is a message queue, no white space. Missing fields get the default of
// the Java class. What Encode has written, Decode reads back as the same value.
//
// Decode keeps no reference to its argument.
package body
