// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"errors"
)

// kvEdit is one change to the KV table and who waits for it. edit runs on the
// table with the server's lock held; it may refuse.
type kvEdit struct {
	edit func(*Table) error
	done func(error)
}

// maxKVEdits is how many edits may wait for the disk.
const maxKVEdits = 1024

var errKVBusy = errors.New("too many KV changes wait for the disk: try again")

// submit queues an edit; done is called once it is on disk and in the table,
// or has failed.
func (s *Server) submit(edit func(*Table) error, done func(error)) {
	select {
	case s.edits <- kvEdit{edit, done}:
	default:
		done(errKVBusy)
	}
}

// writeKV applies edits to the table and keeps them on disk, many with one
// write. It runs until edits is closed.
func (s *Server) writeKV() {
	for first := range s.edits {
		batch := []kvEdit{first}
		for more := true; more && len(batch) < maxKVEdits; {
			select {
			case e, ok := <-s.edits:
				if more = ok; ok {
					batch = append(batch, e)
				}
			default:
				more = false
			}
		}
		s.applyKV(batch)
	}
}

// applyKV makes the edits on a copy, keeps the copy on disk, and only then
// shows it to readers: what could not be kept was never there.
func (s *Server) applyKV(batch []kvEdit) {
	s.mu.RLock()
	draft := NewTable(s.table.limits, 0)
	draft.loadKV(s.table.KV())
	s.mu.RUnlock()
	errs := make([]error, len(batch))
	for i, e := range batch {
		errs[i] = e.edit(draft)
	}
	err := s.saveKV(draft)
	if err == nil {
		s.mu.Lock()
		s.table.kv, s.table.kvItems = draft.kv, draft.kvItems
		s.mu.Unlock()
	}
	for i, e := range batch {
		e.done(errors.Join(errs[i], err))
	}
}

func (s *Server) saveKV(draft *Table) error {
	if s.cfg.Dir == "" {
		return nil
	}
	err := kvFile{s.cfg.FS, s.cfg.Dir}.save(draft.kv)
	if err != nil {
		s.log.Error("KV configuration cannot be kept; the change is refused", "err", err)
	}
	return err
}
