// SPDX-License-Identifier: Apache-2.0

package changelog

import "io"

// FS is what the log needs of a file system.
type FS interface {
	Create(name string) (File, error)
	Open(name string) (File, error)
	OpenRW(name string) (File, error)
	Remove(name string) error
	Rename(from, to string) error
	MkdirAll(dir string) error
	List(dir string) ([]string, error)
	SyncDir(dir string) error
	Lock(name string) (io.Closer, error)
}

// File is what the log needs of a file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	SyncData() error
	Truncate(size int64) error
	Size() (int64, error)
}
