// SPDX-License-Identifier: Apache-2.0

// Package examples holds programs to read and to start from. Its test runs
// them against a server of its own.
//
//	ordered-producer   100 messages of some orders, placed by a queue selector
//	ordered-consumer   consumes some of their tags, each order in its order
package examples
