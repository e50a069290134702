// SPDX-License-Identifier: Apache-2.0

// Package route knows where the queues of a topic are and which of them a key
// goes to. It is pure: values in, values out.
//
// What is promised:
//
//   - Publishable and Subscribable give the lists that RocketMQ's clients work
//     out from the same route, in the same order.
//   - The list of a topic with an ordered-topic configuration is that
//     configuration and nothing else: it does not change when a broker is down or
//     read-only. A hash over it stays put, at the price of sends that fail.
//   - Lane, JavaString and GoFNV are fixed for ever; docs/lanes.md publishes
//     their values.
package route
