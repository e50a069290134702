// SPDX-License-Identifier: Apache-2.0

package vfs

// NextData returns the first place of f at or behind off that may hold anything
// but zeros, or a place at or behind its end if there is none. It is off itself
// where the file system does not tell holes.
func NextData(f File, off int64) (int64, error) {
	if o, ok := f.(osFile); ok {
		return nextData(o, off)
	}
	return off, nil
}
