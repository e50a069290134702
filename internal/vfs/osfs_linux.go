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

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
