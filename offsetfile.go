// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/orderlymq/orderly/internal/order"
)

// offsetFile keeps the positions of a broadcasting member. A write replaces the
// file whole, so that a crash leaves the old or the new one. Without a
// directory it only remembers.
type offsetFile struct {
	path string // empty: memory only

	mu   sync.Mutex
	next map[Queue]int64
}

// offsetEntry is one position as the file has it.
type offsetEntry struct {
	Topic  string `json:"topic"`
	Broker string `json:"broker"`
	Queue  int    `json:"queue"`
	Offset int64  `json:"offset"`
}

// openOffsetFile reads the positions of group below dir. A file that cannot be
// read is an error, not a fresh start.
func openOffsetFile(dir, group string) (*offsetFile, error) {
	f := &offsetFile{next: map[Queue]int64{}}
	if dir == "" {
		return f, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("orderly: offset directory: %w", err)
	}
	f.path = filepath.Join(dir, group+".json")
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	var entries []offsetEntry
	if err == nil {
		err = json.Unmarshal(text, &entries)
	}
	if err != nil {
		return nil, fmt.Errorf("orderly: offsets of group %s: %w: mend the file, or remove it to begin at Start", group, err)
	}
	for _, e := range entries {
		f.next[Queue{Topic: e.Topic, Broker: e.Broker, ID: e.Queue}] = e.Offset
	}
	return f, nil
}

func (f *offsetFile) load(q Queue) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.next[q]; ok {
		return n
	}
	return order.Unknown
}

func (f *offsetFile) store(q Queue, offset int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[q] = offset
	if f.path == "" {
		return nil
	}
	entries := make([]offsetEntry, 0, len(f.next))
	for q, n := range f.next {
		entries = append(entries, offsetEntry{Topic: q.Topic, Broker: q.Broker, Queue: q.ID, Offset: n})
	}
	text, err := json.MarshalIndent(entries, "", "\t")
	if err == nil {
		err = replaceFile(f.path, text)
	}
	if err != nil {
		return fmt.Errorf("orderly: write offsets: %w", err)
	}
	return nil
}

func replaceFile(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
