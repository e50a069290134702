// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"

	"github.com/orderlymq/orderly/internal/msg"
)

// setAside copies a damaged range into a file of its own. If all its records are
// readable and only their check sums are lost, it gets new ones; otherwise hole
// frames take its place, so that the log can be read past it. The bytes in the
// log stay.
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
	slots := int64(anySlots)
	if framePos >= 0 {
		slots = (framePos - r.end.framePos) / slotSize
	}
	frames := s.adopt(raw, from, to, slots)
	rep := Repair{From: from, To: to, Reason: d.Reason, File: path, Kept: frames != nil}
	rep.Held, rep.next = held(raw, from)
	r.repairs = append(r.repairs, rep)
	r.redo[s.g.base] = true
	r.o.Logger.Error("store: damaged range set aside", "from", from, "to", to, "reason", d.Reason, "file", path,
		"kept", rep.Kept, "held", rep.Held)
	if frames == nil {
		frames = holes(from, to, slots)
	}
	if err := s.put(frames, slots); err != nil || slots != anySlots {
		return err
	}
	size, err := s.log.Size()
	if err != nil {
		return fmt.Errorf("size of log file: %w", err)
	}
	return r.clear(s.log, s.g.size+r.end.framePos, size)
}

// anySlots stands for a range that no frame follows: its frames take what they
// need.
const anySlots = 1 << 30

// maxAdopted bounds a frame made by adopt.
const maxAdopted = 256 * kib

// adopt makes frames for a range that consists of intact records, as far as
// records tell it themselves; nil if it does not, or if there are not enough
// slots.
func (s *segmentReader) adopt(raw []byte, from, to, slots int64) []frame {
	if int64(len(raw)) < to-from {
		return nil
	}
	var out []frame
	cur := frame{kind: frameBatch, start: from}
	done := func(at int) {
		if cur.records > 0 {
			cur.length = uint32(from + int64(at) - cur.start)
			cur.dataCRC = crcOf(raw[cur.start-from : at])
			out = append(out, cur)
		}
		cur = frame{kind: frameBatch, start: from + int64(at)}
	}
	for at := 0; at < len(raw); {
		kind, size := msg.Peek(raw[at:])
		if pos := from + int64(at); kind == msg.KindBlank && pos+int64(size) == s.g.end() && to == s.g.end() {
			done(at)
			out = append(out, frame{kind: frameEnd, start: pos, length: uint32(size), dataCRC: crcOf(raw[at : at+blankHead])})
			break
		}
		v, n, err := msg.ParseView(raw[at:])
		if err != nil || v.PhysicalOffset() != from+int64(at) || msg.BodyCRC(v.Body()) != v.BodyCRC() {
			return nil
		}
		if int64(len(out))+2 < slots && from+int64(at)-cur.start >= maxAdopted {
			done(at)
		}
		cur.records++
		cur.stamp = v.StoreTimestamp()
		if at += n; at == len(raw) {
			done(at)
		}
	}
	if n := int64(len(out)); n > slots || slots != anySlots && slots-n > maxSpare {
		return nil
	}
	return out
}

// maxSpare is how many slots one frame can cover besides its own.
const maxSpare = 1 << 15

// holes makes frames that cover a range without any content.
func holes(from, to, slots int64) []frame {
	var out []frame
	for ; slots > maxSpare && slots != anySlots && to-from > 1; slots -= maxSpare {
		out = append(out, frame{kind: frameHole, start: from, length: 1, slots: maxSpare})
		from++
	}
	return append(out, frame{kind: frameHole, start: from, length: uint32(to - from)})
}

// put writes frames over the given number of slots, and passes them. The last
// one takes the slots that are left.
func (s *segmentReader) put(frames []frame, slots int64) error {
	r := s.r
	for i := range frames {
		f := &frames[i]
		f.durable = r.end.pos
		f.stamp = max(f.stamp, r.stamp)
		if f.slots == 0 {
			f.slots = 1
		}
		if i == len(frames)-1 && slots < anySlots/2 {
			f.slots = uint16(slots)
		}
		slots -= int64(f.slots)
		b := make([]byte, int64(f.slots)*slotSize)
		f.encode(b)
		if _, err := s.frames.WriteAt(b, r.end.framePos); err != nil {
			return fmt.Errorf("write frame: %w", err)
		}
		s.pass(f)
	}
	return nil
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

// held tells which messages can be made out in damaged bytes, and where their
// queues would go on. It is a report, not a promise: the bytes have failed their
// check.
func held(raw []byte, pos int64) (lines []string, next []floorEntry) {
	for at := 0; at < len(raw); {
		v, n, err := msg.ParseView(raw[at:])
		if err != nil || v.PhysicalOffset() != pos+int64(at) {
			at++
			continue
		}
		state := "body intact"
		if msg.BodyCRC(v.Body()) != v.BodyCRC() {
			state = "body damaged"
		}
		if len(lines) < 1000 {
			lines = append(lines, fmt.Sprintf("%s queue %d offset %d at %d, %d bytes, %s",
				v.Topic(), v.QueueID(), v.QueueOffset(), v.PhysicalOffset(), n, state))
		}
		if isIndexed(v.SysFlag()) {
			next = append(next, floorEntry{floorNext, string(v.Topic()), v.QueueID(), v.QueueOffset() + 1})
		}
		at += n
	}
	return lines, next
}
