// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"slices"
	"time"
)

// sync is the syncer's goroutine.
func (l *Log) sync() {
	timer := time.NewTimer(l.o.SyncEvery)
	timer.Stop()
	armed := false
	for {
		select {
		case <-l.dirty:
			if !armed {
				timer.Reset(l.o.SyncEvery)
				armed = true
			}
		case <-timer.C:
			armed = false
			l.syncNow()
		case <-l.urgent:
			timer.Stop()
			armed = false
			l.syncNow()
		case done := <-l.retire:
			done <- l.retireFile()
		case <-l.stop:
			timer.Stop()
			l.syncNow()
			return
		}
	}
}

// syncNow syncs what is written and answers who waited for it.
func (l *Log) syncNow() {
	l.mu.Lock()
	file, name, target := l.file, l.name, l.written
	due := target > l.synced && !l.broken
	l.mu.Unlock()
	if due {
		if err := file.SyncData(); err != nil {
			l.breakSync(name, err)
			return
		}
		if err := l.watch.check(&l.o, file, name); err != nil {
			l.breakSync(name, err) // the sync was of another file
			return
		}
	}
	l.mu.Lock()
	if due {
		l.synced = target
	}
	var ready []answer
	l.waiters = slices.DeleteFunc(l.waiters, func(w answer) bool {
		if w.seq <= l.synced {
			ready = append(ready, w)
		}
		return w.seq <= l.synced
	})
	idle := l.written == l.synced
	l.mu.Unlock()
	l.answers.add(ready...)
	if idle {
		poke(l.mark)
	}
}

// breakSync fences the log after a failed sync; no later sync is believed.
func (l *Log) breakSync(name string, err error) {
	l.mu.Lock()
	l.broken = true
	l.mu.Unlock()
	_ = l.fail("sync", name, err)
}

// retireFile syncs and closes the segment, after which the writer begins the
// next one. The writer waits for it.
func (l *Log) retireFile() error {
	l.syncNow()
	if err := l.fenced(); err != nil {
		return err
	}
	l.mu.Lock()
	file, name := l.file, l.name
	l.mu.Unlock()
	if file == nil {
		return nil
	}
	if err := file.Close(); err != nil {
		return l.fail("close", name, err)
	}
	l.mu.Lock()
	l.file = nil
	l.mu.Unlock()
	return nil
}
