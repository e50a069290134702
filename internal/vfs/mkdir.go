// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// MkdirSync makes a directory and its missing parents, and makes their names
// durable: what is synced inside is not lost with the directory in a power cut.
func MkdirSync(fsys FS, dir string) error {
	var made []string
	for at := path.Clean(dir); ; at = path.Dir(at) {
		_, err := fsys.Stat(at)
		if err == nil || at == path.Dir(at) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make directory %s: %w", dir, err)
		}
		made = append(made, at)
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	for _, d := range made {
		if err := fsys.SyncDir(path.Dir(d)); err != nil {
			return fmt.Errorf("make directory %s durable: %w", d, err)
		}
	}
	return nil
}
