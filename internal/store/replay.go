// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/orderlymq/orderly/internal/msg"
)

// Numbered is an append of a producer that is in the log.
type Numbered struct {
	Numbers
	// Topic and Queue are those that it was sent to: a delayed message lies in
	// another queue until it is due. Offset is that of the first message, in the
	// queue where it was stored.
	Topic  string
	Queue  int32
	Count  uint32
	Offset int64
}

// replay tells o.OnNumbered all numbered appends from the place on that
// o.NumbersFrom names, in log order. Nothing is appended before it ends.
func (c *core) replay(ctx context.Context, end int64) error {
	if c.o.NumbersFrom == nil || c.o.OnNumbered == nil {
		return nil
	}
	from := c.o.NumbersFrom()
	for _, g := range c.segs.snapshot() {
		if g.end() <= from || g.base >= end {
			continue
		}
		if err := c.replaySegment(ctx, g, from, end); err != nil {
			return fmt.Errorf("read producers' numbers of segment %s: %w", segName(g.base), err)
		}
	}
	return nil
}

func (c *core) replaySegment(ctx context.Context, g *segment, from, end int64) error {
	h, err := c.files.get(c.segs.logPath(g.base))
	if err != nil {
		return err
	}
	defer c.files.put(h)
	frames := g.frames(h.f)
	size, err := frames.Size()
	if err != nil {
		return err
	}
	pos, err := findFrame(frames, size, from)
	if err != nil {
		return err
	}
	for s := scanFrames(frames, pos); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := s.next()
		if err != nil || !more {
			return err
		}
		f := &s.frame
		if s.gap || !f.numbered || f.start < from {
			continue
		}
		if f.start >= end {
			return nil
		}
		entries, ok, err := readEntries(frames, s.from, f)
		if err != nil {
			return err
		}
		if !ok {
			return &DamagedError{File: c.segs.logPath(g.base), From: f.start, To: f.end(), Reason: "producers' numbers cannot be read"}
		}
		for i := range entries {
			if err := c.tellNumbered(h.f, g, f, &entries[i]); err != nil {
				return err
			}
		}
	}
}

// tellNumbered reads the record that an entry is about.
func (c *core) tellNumbered(log io.ReaderAt, g *segment, f *frame, e *entry) error {
	at := f.start - g.base + int64(e.at)
	bad := &DamagedError{File: c.segs.logPath(g.base), From: f.start, To: f.end(), Reason: "producers' numbers are of no record"}
	var head [4]byte
	if e.at >= f.length {
		return bad
	}
	if _, err := log.ReadAt(head[:], at); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > int64(f.length-e.at) {
		return bad
	}
	b := make([]byte, n)
	if _, err := log.ReadAt(b, at); err != nil {
		return err
	}
	v, _, err := msg.ParseView(b)
	if err != nil {
		return bad
	}
	if min, _ := c.queues.make(string(v.Topic()), v.QueueID()).bounds(); v.QueueOffset() < min {
		return nil // of a topic that was deleted since
	}
	out := Numbered{Numbers: e.Numbers, Topic: string(v.Topic()), Queue: v.QueueID(), Count: e.count, Offset: v.QueueOffset()}
	if out.Topic == msg.TopicSchedule {
		topic, _ := v.Property(msg.PropRealTopic)
		queue, _ := v.Property(msg.PropRealQueue)
		id, err := strconv.ParseInt(string(queue), 10, 32)
		if err != nil {
			return bad
		}
		out.Topic, out.Queue = string(topic), int32(id)
	}
	c.o.OnNumbered(&out)
	return nil
}
