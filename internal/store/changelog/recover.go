// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/orderlymq/orderly/internal/vfs"
)

// found is what recovery hands over to the writer.
type found struct {
	Recovery
	id       uint64
	last     uint64 // number of the last record
	tail     int64  // bytes that were replayed
	snapSize int64

	name    string // the last segment, "" if there is none that can go on
	file    vfs.File
	pos     int64  // end of its whole frames
	rewrite []byte // its last bytes up to pos that are not known to be synced
	garbage int64  // bytes that are not zero end here, pos if there are none
}

// recovery is the work of Open.
type recovery struct {
	o     Options
	m     Machine
	sum   checksum
	have  listing
	found found

	want   uint64 // number of the next record
	synced uint64 // highest number known to be synced

	unsynced unsyncedFrames // of the segment being read
}

// prepareDir makes the directory and takes the lock.
func prepareDir(o Options) (io.Closer, error) {
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("make change log directory: %w", err)
	}
	if err := o.FS.SyncDir(path.Dir(path.Clean(o.Dir))); err != nil {
		return nil, fmt.Errorf("sync parent of change log directory: %w", err)
	}
	lock, err := o.FS.Lock(path.Join(o.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock change log: %w", err)
	}
	return lock, nil
}

// recoverDir reads the directory back into m. It changes nothing on disk but
// what was left under construction, and with Repair what is damaged.
func recoverDir(ctx context.Context, o Options, m Machine) (found, error) {
	r := &recovery{o: o, m: m}
	var err error
	if r.have, err = list(o.FS, o.Dir); err != nil {
		return found{}, err
	}
	for _, name := range r.have.temporary {
		if o.readOnly {
			continue
		}
		if err := o.FS.Remove(path.Join(o.Dir, name)); err != nil {
			return found{}, fmt.Errorf("remove %s of an unfinished run: %w", name, err)
		}
	}
	if err := r.identify(); err != nil {
		return found{}, err
	}
	r.sum = newChecksum(r.found.id)
	m.Reset()
	if err := r.loadSnapshot(ctx); err != nil {
		return found{}, err
	}
	if err := r.replay(ctx); err != nil {
		return found{}, err
	}
	r.found.last = r.want - 1
	return r.found, nil
}

// identify finds the log's identity: the one that the newest file with a whole
// header has.
func (r *recovery) identify() error {
	files := make([]string, 0, len(r.have.segments)+len(r.have.snapshots))
	for _, seq := range r.have.segments {
		files = append(files, fileName(seq, segmentExt))
	}
	for _, seq := range r.have.snapshots {
		files = append(files, fileName(seq, snapshotExt))
	}
	for i := len(files) - 1; i >= 0; i-- {
		id, err := r.readID(files[i])
		if err != nil {
			return err
		}
		if id != 0 {
			r.found.id = id
			return nil
		}
	}
	if len(files) > 0 {
		return &DamageError{File: files[len(files)-1], To: fileHeader, Seq: 1, Why: "no file has a whole header"}
	}
	r.found.id = r.o.ID
	for r.found.id == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return fmt.Errorf("draw the identity of the change log: %w", err)
		}
		r.found.id = binary.BigEndian.Uint64(b[:])
	}
	return nil
}

// readID answers the identity in a file's header, 0 if the header is damaged.
func (r *recovery) readID(name string) (uint64, error) {
	f, err := r.o.FS.Open(path.Join(r.o.Dir, name))
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // only read from
	b := make([]byte, fileHeader)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	for _, magic := range []string{segmentMagic, snapshotMagic} {
		if id, _, err := parseFileHeader(b[:n], magic); err == nil {
			return id, nil
		}
	}
	return 0, nil
}

// loadSnapshot loads the newest snapshot that is whole. An older one serves if
// the segments behind it are still there: then nothing is lost.
func (r *recovery) loadSnapshot(ctx context.Context) error {
	var newest *DamageError
	for i := len(r.have.snapshots) - 1; i >= 0; i-- {
		seq := r.have.snapshots[i]
		if newest != nil && !r.covered(seq) {
			continue
		}
		damage, err := r.load(ctx, seq, false)
		if err != nil {
			return err
		}
		if damage == nil {
			return r.setAsideSnapshot(newest)
		}
		r.o.Logger.Error("change log snapshot is damaged, trying the one before", "err", damage)
		r.m.Reset()
		r.found.Snapshot = 0
		if newest == nil {
			newest = damage
		}
	}
	switch {
	case newest == nil || r.covered(0):
		return r.setAsideSnapshot(newest)
	case !r.o.Repair:
		return newest
	}
	if _, err := r.load(ctx, r.have.snapshots[len(r.have.snapshots)-1], true); err != nil {
		return err
	}
	r.found.Damage = append(r.found.Damage, newest)
	return r.setAsideSnapshot(newest)
}

// covered says whether there is a segment with the record after seq.
func (r *recovery) covered(seq uint64) bool {
	return len(r.have.segments) > 0 && r.have.segments[0] <= seq+1
}

// setAsideSnapshot renames a damaged snapshot, so that it is not met again.
func (r *recovery) setAsideSnapshot(damage *DamageError) error {
	if damage == nil || r.o.readOnly {
		return nil
	}
	aside := damage.File + damagedExt
	if err := r.o.FS.Rename(path.Join(r.o.Dir, damage.File), path.Join(r.o.Dir, aside)); err != nil {
		return fmt.Errorf("set damaged snapshot aside: %w", err)
	}
	r.found.Aside = append(r.found.Aside, aside)
	return nil
}

// load loads one snapshot. With salvage it passes over damage.
func (r *recovery) load(ctx context.Context, seq uint64, salvage bool) (*DamageError, error) {
	name := fileName(seq, snapshotExt)
	b, err := readFile(r.o.FS, r.o.Dir, name)
	if err != nil {
		return nil, err
	}
	damage := func(at int, why error) *DamageError {
		return &DamageError{File: name, From: int64(at), To: int64(len(b)), Seq: 1, Next: seq + 1, Why: why.Error()}
	}
	if err := r.checkHeader(b, snapshotMagic, seq); err != nil && !salvage {
		return damage(0, err), nil
	}
	at := fileHeader
	for items := uint64(0); ; {
		f, err := r.sum.parse(b[min(at, len(b)):])
		if err == nil && (f.kind != frameItem || f.seq != items+1) && (f.kind != frameEnd || f.seq != items) {
			err = errBadFrame
		}
		if err != nil && !salvage {
			return damage(at, err), nil
		}
		if err != nil {
			next, pos, ok := r.sum.next(b, at+1)
			if !ok {
				break
			}
			f, at = next, pos
		}
		if f.kind == frameEnd {
			break
		}
		if err := r.m.Load(f.payload); err != nil {
			return nil, fmt.Errorf("load item %d of snapshot %s: %w", f.seq, name, err)
		}
		items, at = f.seq, at+f.size
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("load snapshot: %w", err)
		}
	}
	r.found.Snapshot, r.found.snapSize = seq, int64(len(b))
	return nil, nil
}

// checkHeader says what is wrong with a file's header.
func (r *recovery) checkHeader(b []byte, magic string, want uint64) error {
	id, seq, err := parseFileHeader(b, magic)
	switch {
	case err != nil:
		return err
	case id != r.found.id:
		return fmt.Errorf("file belongs to another change log: identity %016x, not %016x", id, r.found.id)
	case seq != want:
		return fmt.Errorf("header says record %d, the name %d", seq, want)
	}
	return nil
}
