// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/orderlymq/orderly/internal/msg"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// setAside copies a damaged range into a file of its own and puts hole frames
// in its place, so that the log can be read past it. The bytes in the log stay.
func (s *segmentReader) setAside(d *DamagedError, to, framePos int64) error {
	r := s.r
	from := r.end.pos
	raw := make([]byte, to-from)
	n, err := s.log.ReadAt(raw, from-s.g.base)
	if err != nil && !errors.Is(err, io.EOF) {
		r.o.Logger.Warn("store: damaged range cannot be read in full", "from", from, "to", to, "error", err)
	}
	raw = raw[:n]
	path, err := r.keepAside(from, to, raw)
	if err != nil {
		return err
	}
	rep := Repair{From: from, To: to, Reason: d.Reason, File: path, Held: held(raw, from)}
	r.repairs = append(r.repairs, rep)
	r.redo[s.g.base] = true
	r.o.Logger.Error("store: damaged range set aside", "from", from, "to", to, "reason", d.Reason, "file", path, "held", rep.Held)
	return s.hole(to, framePos)
}

// keepAside writes the bytes of a range to a file, durable.
func (r *recovery) keepAside(from, to int64, raw []byte) (string, error) {
	dir := r.segs.dir + "/" + damagedDir
	if err := r.fs.MkdirAll(dir); err != nil {
		return "", fmt.Errorf("set damage aside: %w", err)
	}
	path := fmt.Sprintf("%s/%s-%s", dir, segName(from), segName(to))
	f, err := r.fs.Create(path)
	if err != nil {
		return "", fmt.Errorf("set damage aside: %w", err)
	}
	_, err = f.WriteAt(raw, 0)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = r.fs.SyncDir(dir)
	}
	if err == nil {
		err = r.fs.SyncDir(r.segs.dir)
	}
	if err != nil {
		return "", fmt.Errorf("set damage aside: %w", err)
	}
	return path, nil
}

// hole writes hole frames over the slots up to framePos, and passes them.
func (s *segmentReader) hole(to, framePos int64) error {
	r := s.r
	if s.frames == nil {
		f, err := r.openFrames(s.g)
		if err != nil {
			return fmt.Errorf("make frames: %w", err)
		}
		s.frames = f
	}
	const most = 1 << 15 // slots a frame
	for r.end.pos < to {
		slots := (framePos - r.end.framePos) / slotSize
		f := frame{
			kind: frameHole, start: r.end.pos, length: uint32(to - r.end.pos),
			slots: uint16(slots), stamp: r.stamp, durable: r.end.pos,
		}
		if slots > most { // all but the last cover one byte
			f.slots, f.length = most, 1
		}
		b := make([]byte, int64(f.slots)*slotSize)
		f.encode(b)
		if _, err := s.frames.WriteAt(b, r.end.framePos); err != nil {
			return fmt.Errorf("write frame: %w", err)
		}
		s.pass(&f)
	}
	return nil
}

// held tells which messages can be made out in damaged bytes. It is a report,
// not a promise: the bytes have failed their check.
func held(raw []byte, pos int64) []string {
	var out []string
	for at := 0; at < len(raw) && len(out) < 1000; {
		v, n, err := msg.ParseView(raw[at:])
		if err != nil || v.PhysicalOffset() != pos+int64(at) {
			at++
			continue
		}
		state := "body intact"
		if msg.BodyCRC(v.Body()) != v.BodyCRC() {
			state = "body damaged"
		}
		out = append(out, fmt.Sprintf("%s queue %d offset %d at %d, %d bytes, %s",
			v.Topic(), v.QueueID(), v.QueueOffset(), v.PhysicalOffset(), n, state))
		at += n
	}
	return out
}
