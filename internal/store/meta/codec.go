// SPDX-License-Identifier: Apache-2.0

package meta

// kind is the number of a change in its encoded form. Numbers are never used
// again for another change.
type kind uint8

type encoder struct{ buf []byte }
