// SPDX-License-Identifier: Apache-2.0

package meta

import "context"

const (
	// restoredEpochs is more than any broker gives between a backup and its loss.
	restoredEpochs = 1 << 32
	// restoredBatch is how many leases are ended in one step.
	restoredBatch = 1000
)

// Restored makes a state that comes from a backup safe to go on from: epochs
// that were given after the backup was made are not given again, and the
// holders of that time get new ones. It returns the first epoch that can be
// given now and how many leases it ended.
func (s *State) Restored(ctx context.Context) (first uint64, leases int, err error) {
	err = s.UpdateSync(ctx, func(v *View) ([]Change, error) {
		first = v.EpochLimit() + restoredEpochs + 1
		return []Change{ReserveEpochs{Limit: first - 1}}, nil
	})
	if err != nil {
		return 0, 0, err
	}
	var drops []Change
	for key, q := range s.View().AllQueues() {
		if !q.Lease.Held() {
			continue
		}
		leases++
		if drops = append(drops, DropLease{QueueKey: key}); len(drops) == restoredBatch {
			if err := s.Apply(ctx, drops...); err != nil {
				return first, leases, err
			}
			drops = nil
		}
	}
	return first, leases, s.ApplySync(ctx, drops...)
}
