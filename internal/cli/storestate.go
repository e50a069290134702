// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"path/filepath"

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
}

// readState reads the change log without its lock.
func readState(ctx context.Context, dir string) (*stateInfo, error) {
	view, _, err := meta.Read(ctx, meta.Options{FS: vfs.OS(), Dir: dir})
	if err != nil {
		return nil, err
	}
	return &stateInfo{view.TopicCount(), view.GroupCount(), view.QueueCount(), view.Seq()}, nil
}

// verifyState is readState with damage as a finding.
func verifyState(ctx context.Context, dir string) (*stateInfo, *finding, error) {
	info, err := readState(ctx, dir)
	if d, ok := errors.AsType[*changelog.DamageError](err); ok {
		return nil, &finding{Kind: "damage", Part: "state", File: filepath.Join(dir, d.File), From: d.From, To: d.To, What: d.Why}, nil
	}
	return info, nil, err
}
