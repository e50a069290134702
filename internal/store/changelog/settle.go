// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"fmt"
)

// settle makes the end of the log what recovery found it to be, on disk,
// before anything is appended.
//
// Bytes that are not known to be synced are written once more before the sync:
// after a sync that failed, a kernel may hold pages for clean that never
// reached the disk, and a second sync would not write them. What lies behind
// the end is zeroed: a record that was dropped must not come back.
func (l *Log) settle(f found) error {
	l.startSpare()
	if f.file == nil {
		l.w.pos = 0
		if err := l.beginSegment(l.w.seq + 1); err != nil {
			return errors.Join(fmt.Errorf("begin change log: %w", err), l.abandonSpare())
		}
		return nil
	}
	if err := l.settleTail(f); err != nil {
		return errors.Join(err, f.file.Close(), l.abandonSpare())
	}
	return nil
}

func (l *Log) settleTail(f found) error {
	if len(f.rewrite) > 0 {
		if _, err := f.file.WriteAt(f.rewrite, f.pos-int64(len(f.rewrite))); err != nil {
			return fmt.Errorf("write the tail of %s: %w", f.name, err)
		}
	}
	if f.garbage > f.pos {
		if err := writeZeros(f.file, f.pos, f.garbage-f.pos); err != nil {
			return fmt.Errorf("erase the torn tail of %s: %w", f.name, err)
		}
	}
	if err := f.file.SyncData(); err != nil {
		return fmt.Errorf("sync %s: %w", f.name, err)
	}
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return fmt.Errorf("sync change log directory: %w", err)
	}
	return nil
}
