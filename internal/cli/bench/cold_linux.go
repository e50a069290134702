// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package bench

import (
	"fmt"
	"os"
	"syscall"
)

// dropCache asks the system to forget what it has of the file.
func dropCache(f *os.File) error {
	const dontNeed = 4
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		return fmt.Errorf("fadvise %s: %w", f.Name(), errno)
	}
	return nil
}
