// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Inspection describes the files of a store.
type Inspection struct {
	Dir         string          `json:"dir"`
	SegmentSize int64           `json:"segment_size"`
	Checkpoint  *CheckpointInfo `json:"checkpoint"` // nil: none is readable
	Start       int64           `json:"start"`
	End         int64           `json:"end"`     // of the last intact frame
	Durable     int64           `json:"durable"` // nothing below may be broken
	Messages    int64           `json:"messages"`
	Segments    []SegmentInfo   `json:"segments"`
	Queues      []QueueInfo     `json:"queues"`
	Aside       []string        `json:"aside"` // files of ranges that repair has taken out
}

// CheckpointInfo is the checkpoint in words.
type CheckpointInfo struct {
	Clean         bool   `json:"clean"`
	Fenced        bool   `json:"fenced"`
	Async         bool   `json:"async"`
	BootID        string `json:"boot_id"`
	Start         int64  `json:"start"`
	Synced        int64  `json:"synced"`
	Indexed       int64  `json:"indexed"`
	KeyIndexed    int64  `json:"key_indexed"`
	LastStoreTime int64  `json:"last_store_time"`
}

// SegmentInfo describes one file of the log.
type SegmentInfo struct {
	Name      string `json:"name"`
	Base      int64  `json:"base"`
	Used      int64  `json:"used"` // bytes
	Frames    int    `json:"frames"`
	Messages  int64  `json:"messages"`
	Newest    int64  `json:"newest"`     // store time, ms
	SetAside  int64  `json:"set_aside"`  // bytes that repair has taken out
	QueueRuns int    `json:"queue_runs"` // runs in the queue index
	KeyRuns   int    `json:"key_runs"`
	Indexed   int64  `json:"indexed"` // log position that the queue index reaches
	Problem   string `json:"problem,omitempty"`
}

// QueueInfo describes a queue as its index and the log show it.
type QueueInfo struct {
	Topic string `json:"topic"`
	Queue int32  `json:"queue"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	Count int64  `json:"count"`           // messages; less than Max-Min if there are holes
	Floor int64  `json:"floor,omitempty"` // messages below were dropped
}

// Inspect describes a store, running or not, without changing it.
func Inspect(ctx context.Context, fsys vfs.FS, dir string) (*Inspection, error) {
	x, err := openOffline(ctx, fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("inspect store: %w", err)
	}
	defer x.close()
	in := &Inspection{Dir: dir, SegmentSize: x.segs.size, Durable: x.durable}
	if x.hasCk {
		c := &x.ck
		in.Checkpoint = &CheckpointInfo{
			Clean: c.clean, Fenced: c.fenced, Async: c.async, BootID: c.boot, Start: c.start, Synced: c.synced,
			Indexed: c.indexed, KeyIndexed: c.keyed, LastStoreTime: c.stamp,
		}
	}
	queues := newQueueSums()
	for i := range x.frames {
		f := &x.frames[i]
		if i == 0 {
			in.Start, in.End = f.g.base, f.g.base
		}
		s, err := x.inspectSegment(ctx, f, queues)
		if err != nil {
			return nil, fmt.Errorf("inspect store: %w", err)
		}
		if f.count > 0 { // the last segment may be made ahead
			in.End = f.end
		}
		in.Messages += f.records
		in.Segments = append(in.Segments, s)
	}
	entries, _, err := readFloors(fsys, dir, 0)
	if err != nil {
		return nil, fmt.Errorf("inspect store: %w", err)
	}
	in.Queues = queues.list(entries)
	if in.Aside, err = x.aside(); err != nil {
		return nil, fmt.Errorf("inspect store: %w", err)
	}
	return in, nil
}

// aside lists what repair has set aside.
func (x *offline) aside() ([]string, error) {
	dir := x.dir + "/" + damagedDir
	names, err := x.fs.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what is set aside: %w", err)
	}
	out := []string{}
	for _, n := range names {
		out = append(out, dir+"/"+n)
	}
	return out, nil
}

func (x *offline) inspectSegment(ctx context.Context, f *segmentFrames, queues *queueSums) (SegmentInfo, error) {
	s := SegmentInfo{
		Name: segName(f.g.base), Base: f.g.base, Used: f.end - f.g.base, Frames: f.count, Messages: f.records,
		Newest: f.newest, SetAside: f.holes, Indexed: f.g.base,
	}
	switch {
	case f.err != nil:
		s.Problem = f.err.Error()
	case f.broken > 0:
		s.Problem = fmt.Sprintf("%d frame slots cannot be read", f.broken)
	case f.fileSize < f.g.size:
		s.Problem = fmt.Sprintf("file of %d bytes, not %d", f.fileSize, f.g.size)
	}
	if err := x.queueRuns(f, &s, queues); err != nil {
		return s, err
	}
	keys, err := x.keyRuns(f)
	if err != nil {
		return s, err
	}
	s.KeyRuns = len(keys)
	return s, x.each(ctx, f, s.Indexed, f.end, func(st step) error {
		if st.bad != nil {
			s.Problem = st.bad.Error()
			return nil
		}
		if st.frame.kind != frameBatch || st.frame.start < s.Indexed {
			return nil
		}
		return eachRecord(st.data, st.frame.start, func(v msg.View, _ int64) error {
			if isIndexed(v.SysFlag()) {
				queues.add(string(v.Topic()), v.QueueID(), v.QueueOffset(), 1)
			}
			return nil
		})
	})
}

// queueRuns reads the directories of a segment's queue index.
func (x *offline) queueRuns(f *segmentFrames, s *SegmentInfo, queues *queueSums) error {
	files, err := x.indexFiles(queueDir, f.g.base)
	if err != nil || len(files) == 0 {
		return err
	}
	h, err := x.files.get(files[0].path)
	if err != nil {
		return nil // replaced by a running store: the log is read instead
	}
	defer x.files.put(h)
	for pos := int64(0); ; {
		head, dir, ok, err := readRun(h.f, pos)
		if err != nil {
			return err
		}
		if !ok || head.from != s.Indexed || head.to > f.end {
			return nil
		}
		if err := decodeDir(dir, &head, func(e dirEntry, _ int64) error {
			queues.add(string(e.topic), e.id, e.base, int64(e.count))
			return nil
		}); err != nil {
			return nil // the log is read instead
		}
		pos += head.length
		s.QueueRuns++
		s.Indexed = head.to
	}
}

func (x *offline) keyRuns(f *segmentFrames) ([]keyRun, error) {
	files, err := x.indexFiles(keyDir, f.g.base)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	h, err := x.files.get(files[0].path)
	if err != nil {
		return nil, nil // replaced by a running store
	}
	defer x.files.put(h)
	var out []keyRun
	at := f.g.base
	for pos := int64(0); ; {
		var b [keyHeader]byte
		if n, _ := h.f.ReadAt(b[:], pos); n < keyHeader {
			return out, nil
		}
		head, ok := decodeKeyHead(b[:])
		if !ok || head.from != at {
			return out, nil
		}
		out = append(out, keyRun{pos: pos, head: head})
		at = head.to
		pos += head.length
	}
}

// queueSums adds up what is seen of queues.
type queueSums struct{ m map[QueueID]*QueueInfo }

func newQueueSums() *queueSums { return &queueSums{m: map[QueueID]*QueueInfo{}} }

func (s *queueSums) add(topic string, id int32, base, count int64) {
	k := QueueID{topic, id}
	q := s.m[k]
	if q == nil {
		k.Topic = strings.Clone(topic)
		q = &QueueInfo{Topic: k.Topic, Queue: id, Min: base}
		s.m[k] = q
	}
	q.Min = min(q.Min, base)
	q.Max = max(q.Max, base+count)
	q.Count += count
}

// list applies what the floors file says, and sorts.
func (s *queueSums) list(floors []floorEntry) []QueueInfo {
	for _, e := range floors {
		k := QueueID{e.topic, e.id}
		q := s.m[k]
		if q == nil {
			q = &QueueInfo{Topic: e.topic, Queue: e.id}
			s.m[k] = q
		}
		switch e.kind {
		case floorDrop:
			q.Floor = max(q.Floor, e.value)
			q.Min, q.Max = max(q.Min, e.value), max(q.Max, e.value)
		case floorNext:
			q.Max = max(q.Max, e.value)
			if q.Count == 0 {
				q.Min = q.Max
			}
		}
	}
	out := make([]QueueInfo, 0, len(s.m))
	for _, q := range s.m {
		if q.Max > 0 {
			out = append(out, *q)
		}
	}
	slices.SortFunc(out, func(a, b QueueInfo) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Queue) - int(b.Queue)
	})
	return out
}
