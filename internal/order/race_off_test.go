// SPDX-License-Identifier: Apache-2.0

//go:build !race

package order

// share is the part of the random histories that is played.
const share = 1
