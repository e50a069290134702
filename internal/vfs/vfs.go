// SPDX-License-Identifier: Apache-2.0

// Package vfs is the seam between Orderly and the file system.
//
// Everything that must survive a crash is written through an [FS], so that
// tests can stand in for the disk: [OS] is the real one, [Mem] keeps files in
// memory and can be cloned as a crash would leave it, [Faulty] wraps another
// FS and makes chosen calls fail, fall short or wait.
//
// What an FS promises is what POSIX promises, no more:
//   - a write is seen by later reads at once, and survives the end of the
//     process, but survives a power cut only once SyncData or Sync of its file
//     has returned nil;
//   - of unsynced writes any part may survive a power cut, in any order, page
//     by page;
//   - a created, renamed or removed name survives a power cut only once SyncDir
//     of its directory has returned nil;
//   - after a failed sync nothing is known about the writes it covered, and a
//     later sync that succeeds says nothing about them either.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// FS is a file system. Names are slash-separated paths; implementations must
// be safe for concurrent use. Errors wrap [io/fs.ErrNotExist],
// [io/fs.ErrExist], [io/fs.ErrPermission] and syscall errors as package os
// does, so that callers test them with [errors.Is].
type FS interface {
	// Create makes a file, or empties one that exists, for reading and writing.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// OpenRW opens an existing file for reading and writing.
	OpenRW(name string) (File, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves a file over whatever has the new name.
	Rename(oldName, newName string) error
	// MkdirAll makes a directory and its missing parents.
	MkdirAll(dir string) error
	// List returns the base names in a directory, sorted.
	List(dir string) ([]string, error)
	// Stat describes the file that has this name now.
	Stat(name string) (Info, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock that the file name stands for, making the
	// file if need be, until the result is closed or the process ends. A lock
	// somebody else holds gives a [*LockedError] at once.
	Lock(name string) (io.Closer, error)
	// Usage tells how full the disk under dir is.
	Usage(dir string) (Usage, error)
	// BootID names the run of the kernel: it changes exactly when unsynced
	// writes may have been lost. Empty means unknown, which callers must take
	// for a change.
	BootID() string
}

// File is an open file. ReadAt and WriteAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Name returns the name the file was opened with.
	Name() string
	// Size returns the length in bytes.
	Size() (int64, error)
	// Stat describes the open file, whatever has become of its name.
	Stat() (Info, error)
	// Truncate sets the length; bytes it adds read as zero and take no space.
	Truncate(size int64) error
	// Allocate reserves disk space for a range without changing what it reads
	// as; the length grows if need be. [ErrUnsupported] if the file system
	// cannot.
	Allocate(off, n int64) error
	// SyncData makes content and length durable (fdatasync).
	SyncData() error
	// Sync makes content and all metadata durable (fsync).
	Sync() error
}

// Info describes a file.
type Info struct {
	Size    int64
	Dir     bool
	ModTime time.Time
	// ID tells two files apart: equal for two Infos exactly if both describe
	// one file.
	ID FileID
}

// FileID identifies a file independent of its name.
type FileID struct{ Dev, Ino uint64 }

// Usage describes the space of a disk. Free is what this process may still
// use.
type Usage struct{ Total, Free int64 }

// Used returns the used share of the disk, from 0 to 1.
func (u Usage) Used() float64 {
	if u.Total <= 0 {
		return 0
	}
	return 1 - float64(u.Free)/float64(u.Total)
}

// ErrUnsupported is returned for what a file system cannot do.
var ErrUnsupported = errors.ErrUnsupported

// LockedError says that another holder has the lock.
type LockedError struct {
	Path string
	PID  int // 0 if unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another process: stop it first, or use another data directory", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d: stop it first, or use another data directory", e.Path, e.PID)
}
