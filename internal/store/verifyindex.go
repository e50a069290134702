// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
)

// queueIndex compares the segment's queue index with the log.
func (v *verify) queueIndex(f *segmentFrames) error {
	file, h, err := v.newest(queueDir, f)
	if err != nil || h == nil {
		return err
	}
	defer v.x.files.put(h)
	at, pos, count := f.g.base, int64(0), int64(0)
	for {
		head, dir, ok, err := readRun(h.f, pos)
		if err != nil {
			return err
		}
		if !ok || head.from != at || head.to > f.end {
			break
		}
		units := pos + runHeader + head.dirLen
		err = decodeDir(dir, &head, func(e dirEntry, rel int64) error {
			count += int64(e.count)
			return v.extent(h, QueueID{string(e.topic), e.id}, e, units+rel)
		})
		if errors.Is(err, errIndexDiffers) || errors.Is(err, errRunDir) {
			v.find(BadIndex, file, head.from, head.to, "%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		at = head.to
		pos += head.length
	}
	if limit := min(v.x.ck.indexed, f.end); v.x.hasCk && at < limit {
		v.find(BadIndex, file, at, limit, "queue index ends early")
		return nil
	}
	if want := v.countBelow(at); count != want {
		v.find(BadIndex, file, f.g.base, at, "queue index has %d messages, the log %d", count, want)
	}
	return nil
}

// newest opens the newest index file of a segment; h is nil if there is none.
func (v *verify) newest(dir string, f *segmentFrames) (string, *handle, error) {
	files, err := v.x.indexFiles(dir, f.g.base)
	if err != nil {
		return "", nil, err
	}
	have, name := v.x.ck.indexed, "queue"
	if dir == keyDir {
		have, name = v.x.ck.keyed, "key"
	}
	if len(files) == 0 {
		if v.x.hasCk && have > f.g.base && f.end > f.g.base {
			v.find(BadIndex, v.x.dir+"/"+dir, f.g.base, f.end, "%s index is missing", name)
		}
		return "", nil, nil
	}
	h, err := v.x.files.get(files[0].path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil // a running store has just replaced it
	}
	return files[0].path, h, err
}

// extent compares the units of one extent.
func (v *verify) extent(h *handle, id QueueID, e dirEntry, pos int64) error {
	var b [unitSize]byte
	for i := range int64(e.count) {
		off := e.base + i
		if n, err := h.f.ReadAt(b[:], pos+i*unitSize); n < unitSize {
			return fmt.Errorf("%w: unit of %s queue %d offset %d cannot be read: %w", errIndexDiffers, id.Topic, id.Queue, off, err)
		}
		got, ok := decodeUnit(b[:], off)
		want, there := v.unitFor(id, off)
		if !ok || !there || got != want {
			return fmt.Errorf("%w: %s queue %d offset %d", errIndexDiffers, id.Topic, id.Queue, off)
		}
	}
	return nil
}

// countBelow counts the segment's messages below a place in the log.
func (v *verify) countBelow(phys int64) int64 {
	n := 0
	for _, l := range v.units {
		for _, e := range l {
			n += sort.Search(len(e.units), func(i int) bool { return e.units[i].phys >= phys })
		}
	}
	return int64(n)
}

// keyIndex compares the segment's key index with the log.
func (v *verify) keyIndex(f *segmentFrames) error {
	file, h, err := v.newest(keyDir, f)
	if err != nil || h == nil {
		return err
	}
	defer v.x.files.put(h)
	runs, err := v.x.keyRuns(f)
	if err != nil {
		return err
	}
	upTo := f.g.base
	var got []keyRef
	buf := make([]byte, keyBlock)
	for _, r := range runs {
		if r.head.to > f.end {
			break
		}
		upTo = r.head.to
		for at := r.pos + keyHeader; at < r.pos+r.head.length; at += keyBlock {
			ok := false
			if n, _ := h.f.ReadAt(buf, at); n == keyBlock {
				got, ok = decodeKeyBlock(got, buf)
			}
			if !ok {
				v.find(BadIndex, file, r.head.from, r.head.to, "a block of the key index is damaged")
				return nil
			}
		}
	}
	if limit := min(v.x.ck.keyed, f.end); v.x.hasCk && upTo < limit {
		v.find(BadIndex, file, upTo, limit, "key index ends early")
		return nil
	}
	want := slices.DeleteFunc(v.keys, func(k keyRef) bool { return k.phys >= upTo })
	slices.SortFunc(want, compareKeys)
	slices.SortFunc(got, compareKeys)
	if !slices.Equal(got, want) {
		v.find(BadIndex, file, f.g.base, upTo, "key index has %d entries that are not the log's %d", len(got), len(want))
	}
	return nil
}
