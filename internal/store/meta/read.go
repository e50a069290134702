// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/orderlymq/orderly/internal/store/changelog"
)

// Read reads the state without changing anything on disk, and without a lock:
// it may run beside a broker.
func Read(ctx context.Context, o Options) (*View, changelog.Recovery, error) {
	m := &machine{}
	found, err := changelog.Read(ctx, o.changelog(), m)
	if err != nil {
		return nil, found, fmt.Errorf("read broker state: %w", err)
	}
	return m.published.Load(), found, nil
}

// Dump calls each for every change on disk, in order: those of the snapshot,
// with number 0, then those behind it, with the number of their request. Like
// Read it changes nothing. It begins anew, after a call of restart, if what it
// reads is removed meanwhile.
func Dump(ctx context.Context, o Options, restart func(), each func(seq uint64, c Change) error) error {
	_, err := changelog.Read(ctx, o.changelog(), &dumper{restart, each})
	if err != nil {
		return fmt.Errorf("dump broker state: %w", err)
	}
	return nil
}

// dumper is a machine that hands everything on.
type dumper struct {
	restart func()
	each    func(seq uint64, c Change) error
}

func (d *dumper) Reset() { d.restart() }

func (d *dumper) Load(item []byte) error { return d.Replay(0, item) }

func (d *dumper) Replay(seq uint64, payload []byte) error {
	return decodeChanges(payload, func(c Change) error { return d.each(seq, c) })
}

// A dumper is only read into.
func (*dumper) Written(uint64)                                   {}
func (*dumper) Discard()                                         {}
func (*dumper) Freeze() func(emit func(item []byte) error) error { return nil }

// KindName names the kind of a change, such as Commit.
func KindName(c Change) string {
	switch c.(type) {
	case loadQueue:
		return "Queue"
	case loadTables:
		return "Tables"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", c), "meta.")
}

// MarshalJSON shows what is kept beside the trees.
func (c loadTables) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Number                  uint64
		Topics, Groups, Offsets DataVersion
		Epochs                  uint64
		Boot                    Boot
	}{c.seq, c.topics, c.groups, c.offsets, c.epochs, c.boot})
}
