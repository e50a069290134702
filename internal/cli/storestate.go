// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/vfs"
)

// stateInfo sums up the broker's state.
type stateInfo struct {
	Topics    int    `json:"topics"`
	Groups    int    `json:"groups"`
	Positions int    `json:"positions"` // queues of groups
	Changes   uint64 `json:"changes"`   // since the first start
	// Snapshot is the last change in the snapshot used, and Replayed how many
	// follow it in the log.
	Snapshot uint64   `json:"snapshot"`
	Replayed uint64   `json:"replayed"`
	Aside    []string `json:"aside"` // files with damage that were set aside
}

// readState reads the change log without its lock.
func readState(ctx context.Context, dir string) (*stateInfo, error) {
	view, found, err := meta.Read(ctx, meta.Options{FS: vfs.OS(), Dir: dir})
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	aside := []string{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".damaged") {
			aside = append(aside, filepath.Join(dir, e.Name()))
		}
	}
	return &stateInfo{view.TopicCount(), view.GroupCount(), view.QueueCount(), view.Seq(), found.Snapshot, found.Replayed, aside}, nil
}

// verifyState is readState with damage as a finding.
func verifyState(ctx context.Context, dir string) (*stateInfo, *finding, error) {
	info, err := readState(ctx, dir)
	if d, ok := errors.AsType[*changelog.DamageError](err); ok {
		return nil, &finding{Kind: "damage", Part: "state", File: filepath.Join(dir, d.File), From: d.From, To: d.To, What: d.Why}, nil
	}
	return info, nil, err
}

// dumpedChange is a line of `store dump --state`.
type dumpedChange struct {
	Number uint64      `json:"number"` // of its request; 0: of the snapshot
	Kind   string      `json:"kind"`
	Change meta.Change `json:"change"`
}

// dumpState prints the changes of the broker's state. Beside a running broker it
// may have to begin anew, and says so with a line without a change.
func dumpState(ctx context.Context, dir string, w io.Writer) error {
	if dir == "" {
		return errors.New("the directory holds messages alone: name that of a server with --data")
	}
	enc := json.NewEncoder(w)
	begun := false
	restart := func() {
		if begun {
			_ = enc.Encode(dumpedChange{Kind: "begun anew"}) // an error comes with the next change
		}
	}
	return meta.Dump(ctx, meta.Options{FS: vfs.OS(), Dir: dir}, restart, func(number uint64, c meta.Change) error {
		begun = true
		return enc.Encode(dumpedChange{number, meta.KindName(c), c})
	})
}
