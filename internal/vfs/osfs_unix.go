// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vfs

import (
	"errors"
	"os"
	"syscall"
)

const openFlags = syscall.O_CLOEXEC

func osInfo(fi os.FileInfo) Info {
	in := Info{Size: fi.Size(), Dir: fi.IsDir(), ModTime: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		in.ID = FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)} //nolint:unconvert // types differ by system
	}
	return in
}

func lockFile(f *os.File) error {
	return ctl(f, "flock", func(fd int) error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
}

func isLocked(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

// ctl runs a system call on the descriptor, again as long as a signal
// interrupts it.
func ctl(f *os.File, op string, call func(fd int) error) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = rc.Control(func(fd uintptr) {
		for {
			if callErr = call(int(fd)); callErr != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if callErr != nil {
		return &os.PathError{Op: op, Path: f.Name(), Err: callErr}
	}
	return nil
}

func diskUsage(dir string) (Usage, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return Usage{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	bs := int64(st.Bsize) //nolint:unconvert // types differ by system
	return Usage{Total: int64(st.Blocks) * bs, Free: int64(st.Bavail) * bs}, nil
}

func syncDirHandle(d *os.File) error { return d.Sync() }
