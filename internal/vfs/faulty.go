// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"io"
	"path"
	"strings"
	"sync"
)

// Faulty is another FS in which chosen calls go wrong.
type Faulty struct {
	FS

	mu    sync.Mutex
	rules []*Rule
}

// NewFaulty wraps fsys, without any rules yet.
func NewFaulty(fsys FS) *Faulty { return &Faulty{FS: fsys} }

// Rule says what goes wrong. It must not be changed once it is added.
type Rule struct {
	// Op are the calls it is for.
	Op Op
	// Path must be part of the file's name; empty means any file.
	Path string
	// After lets that many matching calls go through first.
	After int
	// Times ends the rule after that many calls; 0 means never.
	Times int
	// Do is called before anything else, without locks: to wait, count or look.
	Do func(op Op, name string)
	// Err is what the call returns instead of being made. Nil: it is made.
	Err error
	// Short has a failing write write that many bytes first, and a failing read
	// read them.
	Short int

	seen, done int
	off        bool
}

// Add adds a rule; the first that matches a call applies. The result removes it.
func (f *Faulty) Add(r Rule) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &r
	f.rules = append(f.rules, p)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		p.off = true
	}
}

// Reset removes all rules.
func (f *Faulty) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Fault is what happens to one call.
type fault struct {
	err   error
	short int
}

func (f *Faulty) hit(op Op, name string) fault {
	r := f.match(op, name)
	if r == nil {
		return fault{}
	}
	if r.Do != nil {
		r.Do(op, name)
	}
	err := r.Err
	if err != nil {
		err = memErr(op.String(), name, err)
	}
	return fault{err: err, short: r.Short}
}

func (f *Faulty) match(op Op, name string) *Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	for _, r := range f.rules {
		if r.off || r.Op&op == 0 || !strings.Contains(name, r.Path) || r.Times > 0 && r.done >= r.Times {
			continue
		}
		if r.seen++; r.seen <= r.After {
			continue
		}
		r.done++
		return r
	}
	return nil
}

func (f *Faulty) wrap(file File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f}, nil
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) {
	if x := f.hit(OpCreate, name); x.err != nil {
		return nil, x.err
	}
	return f.wrap(f.FS.Create(name))
}

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) {
	if x := f.hit(OpOpen, name); x.err != nil {
		return nil, x.err
	}
	return f.wrap(f.FS.Open(name))
}

// OpenRW implements FS.
func (f *Faulty) OpenRW(name string) (File, error) {
	if x := f.hit(OpOpen, name); x.err != nil {
		return nil, x.err
	}
	return f.wrap(f.FS.OpenRW(name))
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	if x := f.hit(OpRemove, name); x.err != nil {
		return x.err
	}
	return f.FS.Remove(name)
}

// Rename implements FS.
func (f *Faulty) Rename(oldName, newName string) error {
	if x := f.hit(OpRename, newName); x.err != nil {
		return x.err
	}
	return f.FS.Rename(oldName, newName)
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(dir string) error {
	if x := f.hit(OpMkdir, dir); x.err != nil {
		return x.err
	}
	return f.FS.MkdirAll(dir)
}

// List implements FS.
func (f *Faulty) List(dir string) ([]string, error) {
	if x := f.hit(OpList, dir); x.err != nil {
		return nil, x.err
	}
	return f.FS.List(dir)
}

// Stat implements FS.
func (f *Faulty) Stat(name string) (Info, error) {
	if x := f.hit(OpStat, name); x.err != nil {
		return Info{}, x.err
	}
	return f.FS.Stat(name)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	if x := f.hit(OpSyncDir, dir); x.err != nil {
		return x.err
	}
	return f.FS.SyncDir(dir)
}

// Lock implements FS.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if x := f.hit(OpLock, name); x.err != nil {
		return nil, x.err
	}
	return f.FS.Lock(name)
}

// Usage implements FS.
func (f *Faulty) Usage(dir string) (Usage, error) {
	if x := f.hit(OpUsage, dir); x.err != nil {
		return Usage{}, x.err
	}
	return f.FS.Usage(dir)
}

type faultyFile struct {
	File
	fs *Faulty
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	x := f.fs.hit(OpRead, f.Name())
	if x.err == nil {
		return f.File.ReadAt(b, off)
	}
	n, err := f.File.ReadAt(b[:min(x.short, len(b))], off)
	if err != nil {
		return n, err
	}
	return n, x.err
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	x := f.fs.hit(OpWrite, f.Name())
	if x.err == nil {
		return f.File.WriteAt(b, off)
	}
	n := 0
	if x.short > 0 {
		var err error
		if n, err = f.File.WriteAt(b[:min(x.short, len(b))], off); err != nil {
			return n, err
		}
	}
	return n, x.err
}

func (f *faultyFile) Truncate(size int64) error {
	if x := f.fs.hit(OpTruncate, f.Name()); x.err != nil {
		return x.err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Allocate(off, n int64) error {
	if x := f.fs.hit(OpAllocate, f.Name()); x.err != nil {
		return x.err
	}
	return f.File.Allocate(off, n)
}

func (f *faultyFile) SyncData() error {
	if x := f.fs.hit(OpSync, f.Name()); x.err != nil {
		return x.err
	}
	return f.File.SyncData()
}

func (f *faultyFile) Sync() error {
	if x := f.fs.hit(OpSync, f.Name()); x.err != nil {
		return x.err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	if x := f.fs.hit(OpClose, f.Name()); x.err != nil {
		f.File.Close()
		return x.err
	}
	return f.File.Close()
}
