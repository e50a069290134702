// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/orderlymq/orderly/internal/store/changelog"
	"github.com/orderlymq/orderly/internal/vfs"
)

// Options configure a State. FS and Dir are needed; the rest has defaults.
type Options struct {
	FS  vfs.FS
	Dir string
	// SyncEvery bounds the time from write to sync; default 500 ms.
	SyncEvery time.Duration
	// SegmentSize and SnapshotAfter are the change log's.
	SegmentSize   int64
	SnapshotAfter int64
	// Repair sets damaged parts of the log aside instead of refusing to open.
	Repair bool
	// Logger is told about recovery and faults; nil means nobody.
	Logger *slog.Logger
}

func (o Options) changelog() changelog.Options {
	return changelog.Options{
		FS: o.FS, Dir: o.Dir,
		SegmentSize: o.SegmentSize, SnapshotAfter: o.SnapshotAfter, SyncEvery: o.SyncEvery,
		Repair: o.Repair, Logger: o.Logger,
	}
}

// State is the broker's state behind its change log. All methods are safe for
// concurrent use.
type State struct {
	log     *changelog.Log
	machine machine
}

// Decision looks at the state that all earlier requests left and answers the
// changes to make, or an error that refuses the request. It runs on the change
// log's writer: it must be quick, and must not block or call the State. No
// changes and no error is fine: the request is then answered when everything
// before it is written.
type Decision func(v *View) ([]Change, error)

// Request is one change of state, made whole or not at all.
type Request struct {
	Decide Decision
	// Sync asks for the answer only after the change is on disk.
	Sync bool
	// Done is called once: with nil after the change was written (or synced),
	// else with the Decision's error or the log's. Answers are given one at a
	// time by a goroutine that does nothing else: a Done may Submit, and one
	// that blocks delays all answers. Requests without Sync are answered in the
	// order of Submit.
	Done func(error)
}

// Open reads the state back and starts its change log.
func Open(ctx context.Context, o Options) (*State, error) {
	s := &State{}
	log, err := changelog.Open(ctx, o.changelog(), &s.machine)
	if err != nil {
		return nil, fmt.Errorf("open broker state: %w", err)
	}
	s.log = log
	return s, nil
}

// View answers the state as of the last written request.
func (s *State) View() *View { return s.machine.published.Load() }

// Apply makes changes, as one step, and answers when they are written. An
// error of the context leaves open whether the changes are made; any other
// error but a *changelog.FencedError says that they are not.
func (s *State) Apply(ctx context.Context, changes ...Change) error {
	return s.do(ctx, false, func(*View) ([]Change, error) { return changes, nil })
}

// ApplySync is Apply that answers when the changes are on disk.
func (s *State) ApplySync(ctx context.Context, changes ...Change) error {
	return s.do(ctx, true, func(*View) ([]Change, error) { return changes, nil })
}

// Update makes the changes that decide answers, as one step with its look at
// the state.
func (s *State) Update(ctx context.Context, decide Decision) error {
	return s.do(ctx, false, decide)
}

// UpdateSync is Update that answers when the changes are on disk.
func (s *State) UpdateSync(ctx context.Context, decide Decision) error {
	return s.do(ctx, true, decide)
}

func (s *State) do(ctx context.Context, sync bool, decide Decision) error {
	answer := make(chan error, 1)
	r := &Request{Decide: decide, Sync: sync, Done: func(err error) { answer <- err }}
	if err := s.Submit(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the change log: %w", ctx.Err())
	}
}

// Submit hands a request over and returns. It waits only while too many
// requests are under way; after an error Done is not called.
func (s *State) Submit(ctx context.Context, r *Request) error {
	return s.log.Submit(ctx, &changelog.Record{
		Prepare: func(dst []byte, seq uint64) ([]byte, error) { return s.machine.prepare(dst, seq, r.Decide) },
		Sync:    r.Sync,
		Done:    func(_ uint64, err error) { r.Done(err) },
	})
}

// ReserveEpochs reserves n lease epochs, on disk before it answers the first
// of them. They are above every epoch ever reserved here.
func (s *State) ReserveEpochs(ctx context.Context, n uint64) (first uint64, err error) {
	err = s.UpdateSync(ctx, func(v *View) ([]Change, error) {
		first = v.EpochLimit() + 1
		return []Change{ReserveEpochs{Limit: v.EpochLimit() + n}}, nil
	})
	return first, err
}

// Sync answers when all that was written is on disk.
func (s *State) Sync(ctx context.Context) error { return s.log.Sync(ctx) }

// Snapshot writes a snapshot now.
func (s *State) Snapshot(ctx context.Context) error { return s.log.Snapshot(ctx) }

// Health says what the change log can do.
func (s *State) Health() changelog.Health { return s.log.Health() }

// Recovery says what Open found.
func (s *State) Recovery() changelog.Recovery { return s.log.Recovery() }

// Close syncs, stops the change log and waits for it.
func (s *State) Close() error { return s.log.Close() }
