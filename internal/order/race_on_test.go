// SPDX-License-Identifier: Apache-2.0

//go:build race

package order

// share is the part of the random histories that is played: the machines have
// no goroutines, the race detector only slows them down.
const share = 10
