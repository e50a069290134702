// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/vfs"
)

// restoration is the answer of `store restored`.
type restoration struct {
	FirstEpoch uint64 `json:"first_epoch"`
	Leases     int    `json:"leases_ended"`
}

func (a *app) storeRestored() *cobra.Command {
	var d dataFlags
	cmd := &cobra.Command{
		Use:   "restored",
		Short: "Tell a data directory that it comes from a backup; the server must be down",
		Long: `Run it once after a backup was put back and before the server starts: fence
numbers that were given after the backup was made are not given again (the next
ones are 2^32 higher), and nobody holds a queue any more.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := restored(cmd.Context(), d)
			if err != nil {
				return err
			}
			if d.json {
				return a.printJSON(r)
			}
			_, err = fmt.Fprintf(a.stdout, "fence numbers go on at %d, leases ended: %d\n", r.FirstEpoch, r.Leases)
			return err
		},
	}
	d.flags(cmd.Flags(), "print JSON")
	return cmd
}

func restored(ctx context.Context, d dataFlags) (r restoration, err error) {
	_, state, err := d.parts()
	if err != nil {
		return r, err
	}
	if state == "" {
		return r, fmt.Errorf("--data %s: no state of a broker is there: name the directory that the server was given", d.data)
	}
	lock, err := vfs.OS().Lock(filepath.Join(d.data, "broker.lock"))
	if err != nil {
		return r, fmt.Errorf("stop the server first: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := meta.Open(ctx, meta.Options{FS: vfs.OS(), Dir: state})
	if err != nil {
		return r, err
	}
	r.FirstEpoch, r.Leases, err = s.Restored(ctx)
	return r, errors.Join(err, s.Close())
}
