// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/orderlymq/orderly/internal/vfs"
)

// checkpoint holds claims about the store that bound recovery. Each claim was
// true and durable when it was written, and stays true, so an old checkpoint
// costs time only. Two slots are written in turn: a torn write leaves the other
// one. Byte layout: docs/format/checkpoint.md.
type checkpoint struct {
	seq      uint64
	clean    bool   // the last stop was clean: nothing is behind synced
	fenced   bool   // a write or sync failed: what is behind synced may be lost
	async    bool   // unsynced messages were readable
	boot     string // run of the kernel that wrote this
	segSize  int64
	start    int64 // first log byte kept; nothing below may come back
	synced   int64 // log below is durable; a frame boundary
	framePos int64 // where the frame that starts at synced goes in its file
	indexed  int64 // the queue index below is complete and durable
	keyed    int64 // the key index likewise
	stamp    int64 // newest store time, ms
	floors   int64 // durable length of the floors file
}

const (
	ckptMagic    = 0x4f434b31 // "OCK1"
	ckptSlot     = 4096
	ckptBytes    = 160
	ckptMaxBoot  = 48
	flagClean    = 1
	flagFenced   = 2
	flagAsync    = 4
	ckptFileName = "checkpoint"
)

func (c *checkpoint) encode(b []byte) {
	be := binary.BigEndian
	clear(b[:ckptBytes])
	be.PutUint32(b, ckptMagic)
	be.PutUint64(b[8:], c.seq)
	var flags uint32
	for i, on := range []bool{c.clean, c.fenced, c.async} {
		if on {
			flags |= 1 << i
		}
	}
	be.PutUint32(b[16:], flags)
	n := copy(b[24:24+ckptMaxBoot], c.boot)
	be.PutUint32(b[20:], uint32(n))
	for i, v := range c.numbers() {
		be.PutUint64(b[72+8*i:], uint64(*v))
	}
	be.PutUint32(b[ckptBytes-4:], crcOf(b[:ckptBytes-4]))
}

func (c *checkpoint) numbers() []*int64 {
	return []*int64{&c.segSize, &c.start, &c.synced, &c.framePos, &c.indexed, &c.keyed, &c.stamp, &c.floors}
}

func decodeCheckpoint(b []byte) (c checkpoint, ok bool) {
	be := binary.BigEndian
	if len(b) < ckptBytes || be.Uint32(b) != ckptMagic || be.Uint32(b[ckptBytes-4:]) != crcOf(b[:ckptBytes-4]) {
		return c, false
	}
	c.seq = be.Uint64(b[8:])
	flags := be.Uint32(b[16:])
	c.clean, c.fenced, c.async = flags&flagClean != 0, flags&flagFenced != 0, flags&flagAsync != 0
	n := be.Uint32(b[20:])
	if n > ckptMaxBoot {
		return c, false
	}
	c.boot = string(b[24 : 24+n])
	for i, v := range c.numbers() {
		*v = int64(be.Uint64(b[72+8*i:]))
		if *v < 0 {
			return c, false
		}
	}
	return c, true
}

// ckptFile is the open checkpoint file.
type ckptFile struct {
	mu  sync.Mutex // serialises writers; the file is touched by nobody else
	f   vfs.File
	seq uint64
	// dirty: the slot written last is not durable. The other one is not touched
	// until it is, so that a power cut cannot take both.
	dirty bool
}

// readCheckpoint returns the newest intact checkpoint; ok is false if there is none.
func readCheckpoint(fsys vfs.FS, path string) (c checkpoint, ok bool, err error) {
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("open checkpoint: %w", err)
	}
	defer f.Close()
	for slot := range int64(2) {
		b := make([]byte, ckptBytes)
		if _, err := f.ReadAt(b, slot*ckptSlot); err != nil && !errors.Is(err, io.EOF) {
			return c, false, fmt.Errorf("read checkpoint: %w", err)
		}
		if d, good := decodeCheckpoint(b); good && (!ok || d.seq > c.seq) {
			c, ok = d, true
		}
	}
	return c, ok, nil
}

// openCheckpoint opens the file for writing, making it if there is none.
func openCheckpoint(fsys vfs.FS, dir string, seq uint64) (*ckptFile, error) {
	path := dir + "/" + ckptFileName
	f, err := fsys.OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = fsys.Create(path); err != nil {
			return nil, fmt.Errorf("create checkpoint: %w", err)
		}
		if err = fsys.SyncDir(dir); err != nil {
			f.Close()
			return nil, fmt.Errorf("sync data directory: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	return &ckptFile{f: f, seq: seq, dirty: true}, nil
}

// write stores c in the older slot. Its claims may not survive a power cut,
// which costs recovery time only.
func (k *ckptFile) write(c checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.put(c)
}

func (k *ckptFile) put(c checkpoint) error {
	if err := k.sync(); err != nil {
		return err
	}
	k.seq++
	c.seq = k.seq
	k.dirty = true
	b := make([]byte, ckptBytes)
	c.encode(b)
	if _, err := k.f.WriteAt(b, int64(k.seq%2)*ckptSlot); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}

// commit stores c in both slots, durable: for claims that must not be missed.
// The slots are synced one after the other, so that one is intact at any time.
func (k *ckptFile) commit(c checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 2 {
		if err := k.put(c); err != nil {
			return err
		}
		if err := k.sync(); err != nil {
			return err
		}
	}
	return nil
}

func (k *ckptFile) sync() error {
	if !k.dirty {
		return nil
	}
	if err := k.f.SyncData(); err != nil {
		return fmt.Errorf("sync checkpoint: %w", err)
	}
	k.dirty = false
	return nil
}

func (k *ckptFile) close() error { return k.f.Close() }
