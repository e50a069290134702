// SPDX-License-Identifier: Apache-2.0

//go:build race

package orderly

// simDefault is fewer under the race detector, which makes a seed ten times as
// slow and sees in a few of them what it can see in all.
const simDefault = 4
