// SPDX-License-Identifier: Apache-2.0

// Package order is the heart of Orderly: every decision about order is made
// here, by pure state machines that drivers only carry out.
package order
