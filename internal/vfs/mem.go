// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Mem is a file system in memory. It knows what a power cut may take and what
// not: see [Mem.CrashClone].
type Mem struct {
	mu       sync.Mutex
	root     *memDir
	nextIno  uint64
	boot     int
	epoch    int // pages of an older epoch are shared and must not be changed
	used     int64
	capacity int64 // 0: unlimited
	locks    map[string]bool
	hook     func(MemOp)
}

// MemOp is a change that a hook is told of before it happens.
type MemOp struct {
	Op   Op
	Name string
	// Half is set when the first half of a write has been applied and the
	// second has not.
	Half bool
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{root: newMemDir(), locks: map[string]bool{}, boot: 1, epoch: 1}
}

// SetHook has fn called before each change of a file or directory and before
// each sync, and once more in the middle of each write. fn may use the file
// system and take crash clones.
func (m *Mem) SetHook(fn func(MemOp)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = fn
}

// SetCapacity bounds the bytes that files may take; 0 lifts the bound.
func (m *Mem) SetCapacity(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = n
}

// before tells the hook.
func (m *Mem) before(op Op, name string, half bool) {
	m.mu.Lock()
	fn := m.hook
	m.mu.Unlock()
	if fn != nil {
		fn(MemOp{Op: op, Name: name, Half: half})
	}
}

func (m *Mem) hooked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hook != nil
}

// memDir is a directory: the names in it now, and the changes to them that are
// not durable, oldest first.
type memDir struct {
	names   map[string]any // *memDir or *memNode
	durable map[string]any
	pending []dirChange
}

// dirChange sets (or, with nil nodes, removes) names in one step: a rename
// within a directory is one change of two names.
type dirChange struct {
	name, also  string
	node, other any
}

func newMemDir() *memDir {
	return &memDir{names: map[string]any{}, durable: map[string]any{}}
}

func (d *memDir) apply(c dirChange) {
	setName(d.names, c)
	d.pending = append(d.pending, c)
}

func setName(names map[string]any, c dirChange) {
	set := func(name string, node any) {
		if node == nil {
			delete(names, name)
		} else if name != "" {
			names[name] = node
		}
	}
	set(c.also, c.other)
	set(c.name, c.node)
}

func (d *memDir) sync() {
	for _, c := range d.pending {
		setName(d.durable, c)
	}
	d.pending = nil
}

func parts(name string) []string {
	name = strings.Trim(path.Clean("/"+name), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

func memErr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// walk finds what has a name. mu is held.
func (m *Mem) walk(name string) (any, error) {
	var at any = m.root
	for _, p := range parts(name) {
		d, ok := at.(*memDir)
		if !ok {
			return nil, syscall.ENOTDIR
		}
		if at = d.names[p]; at == nil {
			return nil, fs.ErrNotExist
		}
	}
	return at, nil
}

// parent finds the directory that holds a name. mu is held.
func (m *Mem) parent(name string) (*memDir, string, error) {
	p := parts(name)
	if len(p) == 0 {
		return nil, "", fs.ErrInvalid
	}
	at, err := m.walk(strings.Join(p[:len(p)-1], "/"))
	if err != nil {
		return nil, "", err
	}
	d, ok := at.(*memDir)
	if !ok {
		return nil, "", syscall.ENOTDIR
	}
	return d, p[len(p)-1], nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.before(OpCreate, name, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(name)
	if err != nil {
		return nil, memErr("create", name, err)
	}
	switch n := d.names[base].(type) {
	case *memDir:
		return nil, memErr("create", name, syscall.EISDIR)
	case *memNode:
		n.truncate(m, 0)
		return &memFile{m: m, n: n, name: name, write: true}, nil
	}
	m.nextIno++
	n := &memNode{ino: m.nextIno}
	d.apply(dirChange{name: base, node: n})
	return &memFile{m: m, n: n, name: name, write: true}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// OpenRW implements FS.
func (m *Mem) OpenRW(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, write bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(name)
	if err != nil {
		return nil, memErr("open", name, err)
	}
	n, ok := at.(*memNode)
	if !ok {
		return nil, memErr("open", name, syscall.EISDIR)
	}
	return &memFile{m: m, n: n, name: name, write: write}, nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.before(OpRemove, name, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(name)
	if err == nil && d.names[base] == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return memErr("remove", name, err)
	}
	switch n := d.names[base].(type) {
	case *memDir:
		if len(n.names) > 0 {
			return memErr("remove", name, syscall.ENOTEMPTY)
		}
	case *memNode:
		m.used -= n.pageCount() * pageSize
		n.unlinked = true
	}
	d.apply(dirChange{name: base})
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.before(OpRename, newName, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	from, ob, err := m.parent(oldName)
	if err != nil {
		return memErr("rename", oldName, err)
	}
	to, nb, err := m.parent(newName)
	if err != nil {
		return memErr("rename", newName, err)
	}
	n := from.names[ob]
	if n == nil {
		return memErr("rename", oldName, fs.ErrNotExist)
	}
	if o, ok := to.names[nb].(*memNode); ok && any(o) != n {
		m.used -= o.pageCount() * pageSize
		o.unlinked = true
	}
	if from == to {
		from.apply(dirChange{name: nb, node: n, also: ob})
		return nil
	}
	to.apply(dirChange{name: nb, node: n})
	from.apply(dirChange{name: ob})
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.before(OpMkdir, dir, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.root
	for _, p := range parts(dir) {
		switch n := d.names[p].(type) {
		case *memDir:
			d = n
		case nil:
			next := newMemDir()
			d.apply(dirChange{name: p, node: next})
			d = next
		default:
			return memErr("mkdir", dir, syscall.ENOTDIR)
		}
	}
	return nil
}

func (m *Mem) dir(op, name string) (*memDir, error) {
	at, err := m.walk(name)
	if err != nil {
		return nil, memErr(op, name, err)
	}
	d, ok := at.(*memDir)
	if !ok {
		return nil, memErr(op, name, syscall.ENOTDIR)
	}
	return d, nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.dir("list", dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(d.names))
	for n := range d.names {
		names = append(names, n)
	}
	slices.Sort(names)
	return names, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(name)
	if err != nil {
		return Info{}, memErr("stat", name, err)
	}
	if n, ok := at.(*memNode); ok {
		return n.info(), nil
	}
	return Info{Dir: true}, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.before(OpSyncDir, dir, false)
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.dir("sync", dir)
	if err != nil {
		return err
	}
	d.sync()
	return nil
}

// Usage implements FS.
func (m *Mem) Usage(string) (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.capacity
	if total == 0 {
		total = 1 << 40
	}
	return Usage{Total: total, Free: max(total-m.used, 0)}, nil
}

// BootID implements FS.
func (m *Mem) BootID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("mem-%d", m.boot)
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, _, err := m.parent(name); err != nil {
		return nil, memErr("lock", name, err)
	}
	key := strings.Join(parts(name), "/")
	if m.locks[key] {
		return nil, &LockedError{Path: path.Dir(name), PID: os.Getpid()}
	}
	m.locks[key] = true
	return &memLock{m: m, key: key}, nil
}

type memLock struct {
	m    *Mem
	key  string
	once sync.Once
}

func (l *memLock) Close() error {
	l.once.Do(func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		delete(l.m.locks, l.key)
	})
	return nil
}
