// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

func syncData(f *os.File) error { return ctl(f, "fdatasync", syscall.Fdatasync) }

func allocate(f *os.File, off, n int64) error {
	err := ctl(f, "fallocate", func(fd int) error { return syscall.Fallocate(fd, 0, off, n) })
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return ErrUnsupported
	}
	return err
}

// nextData asks for the next place with data. The file's own position moves,
// which nobody uses.
func nextData(f osFile, off int64) (int64, error) {
	const seekData = 3
	at, err := f.File.Seek(off, seekData)
	switch {
	case errors.Is(err, syscall.ENXIO): // none up to the end
		size, err := f.Size()
		return max(off, size), err
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EOPNOTSUPP):
		return off, nil
	}
	return at, err
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
