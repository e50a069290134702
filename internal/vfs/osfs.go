// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// OS returns the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

// OSFile returns the *os.File behind f, for sendfile, or nil.
func OSFile(f File) *os.File {
	if o, ok := f.(osFile); ok {
		return o.File
	}
	return nil
}

func open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag|openFlags, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}
func (osFS) Open(name string) (File, error)   { return open(name, os.O_RDONLY) }
func (osFS) OpenRW(name string) (File, error) { return open(name, os.O_RDWR) }
func (osFS) Remove(name string) error         { return os.Remove(name) }
func (osFS) Rename(o, n string) error         { return os.Rename(o, n) }
func (osFS) MkdirAll(dir string) error        { return os.MkdirAll(dir, 0o750) }

func (osFS) List(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	return names, nil
}

func (osFS) Stat(name string) (Info, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return osInfo(fi), nil
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = syncDirHandle(d)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func (osFS) Usage(dir string) (Usage, error) { return diskUsage(dir) }
func (osFS) BootID() string                  { return bootID() }

// Lock takes a lock of the kernel on the file, which ends with the process;
// the process id in it is only for the message to a second process.
func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		pid := readPID(f)
		f.Close()
		if isLocked(err) {
			return nil, &LockedError{Path: filepath.Dir(name), PID: pid}
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("write lock file: %w", err)
	}
	return f, nil
}

func readPID(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (f osFile) Size() (int64, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func (f osFile) Stat() (Info, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return Info{}, err
	}
	return osInfo(fi), nil
}

func (f osFile) SyncData() error             { return syncData(f.File) }
func (f osFile) Allocate(off, n int64) error { return allocate(f.File, off, n) }
