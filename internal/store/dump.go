// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/vfs"
)

// DumpOptions choose what Dump shows.
type DumpOptions struct {
	From, To int64  // log range; To 0 means to the end
	Topic    string // empty: all
	Queue    int32  // of the topic; negative: all
	Max      int    // records; 0 means all
}

// Dumped is a record, or a range of the log that holds none.
type Dumped struct {
	Physical int64
	Record   msg.View // valid during the call; nil for a range
	// To and Note tell of a range: damage, a repaired hole, the end of a segment.
	To   int64
	Note string
}

var errDumpDone = errors.New("enough")

// Dump calls fn for each record of the log, running or not, in log order.
func Dump(ctx context.Context, fsys vfs.FS, dir string, o DumpOptions, fn func(Dumped) error) error {
	x, err := openOffline(ctx, fsys, dir)
	if err != nil {
		return fmt.Errorf("dump store: %w", err)
	}
	defer x.close()
	if o.To == 0 {
		o.To = math.MaxInt64
	}
	d := dump{o: o, fn: fn}
	for i := range x.frames {
		f := &x.frames[i]
		if f.end <= o.From || f.g.base >= o.To {
			continue
		}
		if err := x.each(ctx, f, o.From, o.To, d.step); errors.Is(err, errDumpDone) {
			return nil
		} else if err != nil {
			return fmt.Errorf("dump store: %w", err)
		}
	}
	return nil
}

type dump struct {
	o  DumpOptions
	fn func(Dumped) error
	n  int
}

func (d *dump) step(s step) error {
	switch {
	case s.bad != nil:
		return d.note(s.bad.From, s.bad.To, "damaged: "+s.bad.Reason)
	case s.frame.kind == frameEnd:
		return d.note(s.frame.start, s.frame.end(), "end of segment")
	case s.frame.kind == frameHole:
		return d.note(s.frame.start, s.frame.end(), "set aside by repair")
	}
	return eachRecord(s.data, s.frame.start, d.record)
}

func (d *dump) note(from, to int64, note string) error {
	if d.o.Topic != "" || to <= d.o.From {
		return nil
	}
	return d.fn(Dumped{Physical: from, To: to, Note: note})
}

func (d *dump) record(v msg.View, phys int64) error {
	if phys < d.o.From || phys >= d.o.To {
		return nil
	}
	if d.o.Topic != "" && (string(v.Topic()) != d.o.Topic || d.o.Queue >= 0 && v.QueueID() != d.o.Queue) {
		return nil
	}
	if err := d.fn(Dumped{Physical: phys, Record: v, To: phys + int64(len(v))}); err != nil {
		return err
	}
	if d.n++; d.n == d.o.Max {
		return errDumpDone
	}
	return nil
}
