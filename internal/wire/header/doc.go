// SPDX-License-Identifier: Apache-2.0

// Package header has the custom header (ext fields) of each request and of its
// response, one file per request, both directions.
//
// It promises: Decode reads what any known client writes, in any order, and
// ignores fields it does not know; a missing required field or a bad number is
// a *FieldError that names the field, fit to be the remark of a response with
// code 1; Encode and then Decode gives back the same value. An empty text of an
// optional field is the same as an absent one.
//
// Each comment names the Java class, and who sends it to whom: C is a client,
// A an admin tool, B a broker, N a name server. Ext fields that only Orderly
// knows are in ext.go and the files ext_*.go.
package header
