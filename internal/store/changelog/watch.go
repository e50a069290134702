// SPDX-License-Identifier: Apache-2.0

package changelog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/orderlymq/orderly/internal/vfs"
)

// watch is what the syncer knows of the segment being written.
type watch struct {
	name string
	size int64
}

// check reports whether the file that was synced is still the one that has the
// name: what goes to a removed or shortened file would be gone after a restart.
func (w *watch) check(o *Options, file vfs.File, name string) error {
	have, err := o.FS.Stat(path.Join(o.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it was removed under the running broker")
	}
	if err != nil {
		return nil //nolint:nilerr // no statement about the file
	}
	open, err := file.Stat()
	if err != nil {
		return nil //nolint:nilerr // no statement about the file
	}
	if have.ID != open.ID {
		return errors.New("it was replaced under the running broker")
	}
	if w.name == name && open.Size < w.size {
		return fmt.Errorf("it was cut to %d bytes under the running broker", open.Size)
	}
	w.name, w.size = name, open.Size
	return nil
}
