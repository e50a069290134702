// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
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
