// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/orderlymq/orderly/internal/vfs"
)

// offline reads the files of a store without changing them and without its
// lock, so that it can look at a running store as well. What it sees of a
// running one is some state between the call and its end.
type offline struct {
	fs      vfs.FS
	dir     string
	segs    *segments
	files   *fileCache
	ck      checkpoint
	hasCk   bool
	frames  []segmentFrames
	durable int64 // the log below is not allowed to be broken
}

// segmentFrames is what the frame heads of a segment say.
type segmentFrames struct {
	g        *segment
	start    int64 // of the first frame
	end      int64 // of the last intact frame; the base if there is none
	count    int
	records  int64
	holes    int64 // bytes set aside
	broken   int   // slots that hold something else
	durable  int64 // highest claim of a frame
	newest   int64
	fileSize int64 // of the log file
	err      error // the files cannot be read
}

// openOffline reads the checkpoint and the frame heads.
func openOffline(ctx context.Context, fsys vfs.FS, dir string) (*offline, error) {
	x := &offline{fs: fsys, dir: dir, segs: &segments{dir: dir}, files: newFileCache(fsys, 32)}
	var err error
	if x.ck, x.hasCk, err = readCheckpoint(fsys, dir+"/"+ckptFileName); err != nil {
		return nil, err
	}
	if err := x.list(); err != nil {
		return nil, err
	}
	x.durable = x.ck.synced
	for _, g := range x.segs.list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := x.heads(g)
		x.durable = max(x.durable, f.durable)
		x.frames = append(x.frames, f)
	}
	return x, nil
}

func (x *offline) close() { x.files.closeAll() }

func (x *offline) list() error {
	names, err := x.fs.List(x.dir + "/" + logDir)
	if err != nil {
		return fmt.Errorf("%s is no store: %w", x.dir, err)
	}
	var bases []int64
	for _, n := range names {
		if base, ok := parseSegName(n); ok {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	x.segs.size = x.ck.segSize
	if !x.hasCk && len(bases) > 0 {
		if x.segs.size, err = findSize(x.fs, x.segs.logPath(bases[0]), bases[0]); err != nil {
			return err
		}
	}
	if x.segs.size < minSegment && len(bases) > 0 {
		return &DamagedError{File: x.dir, Reason: fmt.Sprintf("segment size of %d bytes", x.segs.size)}
	}
	for _, base := range bases {
		if base >= x.ck.start {
			x.segs.list = append(x.segs.list, newSegment(base, x.segs.size))
		}
	}
	return nil
}

// heads reads the frame heads of a segment.
func (x *offline) heads(g *segment) segmentFrames {
	out := segmentFrames{g: g, end: g.base}
	if in, err := x.fs.Stat(x.segs.logPath(g.base)); err != nil {
		out.err = err
	} else {
		out.fileSize = in.Size
	}
	h, err := x.files.get(x.segs.logPath(g.base))
	if err != nil {
		out.err = errors.Join(out.err, err)
		return out
	}
	defer x.files.put(h)
	s := scanFrames(g.frames(h.f), 0)
	for {
		more, err := s.next()
		if err != nil {
			out.err = errors.Join(out.err, err)
		}
		if err != nil || !more {
			return out
		}
		if s.gap {
			if !s.zero {
				out.broken += int((s.pos - s.from) / slotSize)
			}
			continue
		}
		out.add(&s.frame)
	}
}

func (f *segmentFrames) add(fr *frame) {
	if fr.start < f.g.base || fr.end() > f.g.end() {
		f.broken++
		return
	}
	if f.count == 0 {
		f.start = fr.start
	}
	f.count++
	f.records += int64(fr.records)
	f.end = max(f.end, fr.end())
	f.durable = max(f.durable, fr.durable)
	f.newest = max(f.newest, fr.stamp)
	if fr.kind == frameHole {
		f.holes += int64(fr.length)
	}
}

// each reads the frames of a segment with their bytes, and what is broken
// between them.
func (x *offline) each(ctx context.Context, f *segmentFrames, from, to int64, fn func(step) error) error {
	r := logReader{segs: x.segs, files: x.files}
	return r.segment(ctx, f.g, max(from, f.g.base), min(to, f.end), fn)
}

// indexFiles lists the index files of a segment, newest first.
func (x *offline) indexFiles(dir string, base int64) ([]*indexFile, error) {
	names, err := x.fs.List(x.dir + "/" + dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list index: %w", err)
	}
	var out []*indexFile
	for _, n := range names {
		if b, gen, ok := parseIndexName(n); ok && b == base {
			out = append(out, &indexFile{base: b, gen: gen, path: x.dir + "/" + dir + "/" + n, upTo: b})
		}
	}
	slices.SortFunc(out, func(a, b *indexFile) int { return b.gen - a.gen })
	return out, nil
}
