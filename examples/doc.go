// SPDX-License-Identifier: Apache-2.0

// Package examples holds programs to read and to start from. Its test runs
// them against a server of its own. README.md says how to run them by hand:
// `go run ./cmd/orderly server` in one terminal, then in another
//
//	go run ./examples/ordered-producer
//	go run ./examples/ordered-consumer -n 60
//
//	ordered-producer   100 messages of some orders, placed by a queue selector
//	ordered-consumer   consumes some of their tags, each order in its order
package examples
