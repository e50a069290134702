// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/orderlymq/orderly/internal/vfs"
)

// kvFileName is the file RocketMQ's name server uses too, in its format:
//
//	{"configTable":{"NAMESPACE":{"key":"value"}}}
const kvFileName = "kvConfig.json"

type kvContent struct {
	ConfigTable map[string]map[string]string `json:"configTable"`
}

// kvFile keeps all KV items. Each save replaces the file as a whole: after a
// crash it holds the items of one save or of the one before.
type kvFile struct {
	fs  vfs.FS
	dir string
}

func (f kvFile) name() string { return path.Join(f.dir, kvFileName) }

// load returns the items kept, nil if there is no file.
func (f kvFile) load() (map[string]map[string]string, error) {
	if err := f.makeDir(); err != nil {
		return nil, fmt.Errorf("make the name server's directory: %w", err)
	}
	b, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name(), err)
	}
	var c kvContent
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("read %s: it is no KV configuration (%w): repair it or move it away", f.name(), err)
	}
	return c.ConfigTable, nil
}

// makeDir makes the directory and makes its name durable, also if somebody
// else has just made it: the nearest directories above are synced. One further
// up that may not be read is not ours and was there before.
func (f kvFile) makeDir() error {
	if err := f.fs.MkdirAll(f.dir); err != nil {
		return err
	}
	const levels = 3
	dir := f.dir
	for range levels {
		up := path.Dir(dir)
		if up == dir {
			return nil
		}
		if err := f.fs.SyncDir(up); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		dir = up
	}
	return nil
}

func (f kvFile) read() ([]byte, error) {
	file, err := f.fs.Open(f.name())
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	b, err := io.ReadAll(io.NewSectionReader(file, 0, size))
	return b, errors.Join(err, file.Close())
}

// save keeps these items, synced.
func (f kvFile) save(items map[string]map[string]string) error {
	b, err := json.MarshalIndent(kvContent{items}, "", "\t")
	if err != nil {
		return fmt.Errorf("encode KV configuration: %w", err)
	}
	tmp := f.name() + ".tmp"
	if err := f.write(tmp, b); err != nil {
		return fmt.Errorf("write %s: %w", tmp, err)
	}
	if err := f.fs.Rename(tmp, f.name()); err != nil {
		return fmt.Errorf("replace %s: %w", f.name(), err)
	}
	if err := f.fs.SyncDir(f.dir); err != nil {
		return fmt.Errorf("sync %s: %w", f.dir, err)
	}
	return nil
}

func (f kvFile) write(name string, b []byte) error {
	file, err := f.fs.Create(name)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(b, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}
