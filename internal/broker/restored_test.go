// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"path"
	"testing"
	"testing/synctest"

	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/wire"
)

// TestRestoredBackup goes on from a state that was told that it is a backup:
// fence numbers lie above all that were given since, also for the member that
// held the queue when the backup was made.
func TestRestoredBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := r.connect("one")
		p.createTopic("T", 1, "+message.type=FIFO")
		p.send("T", 0, "x")
		p.openSession("c1", "G", "T")
		_, before := p.lock("c1", "G", "T", 0)
		epoch := before.Grants[0].Epoch
		if resp := p.commit("G", "T", 0, 1, epoch); resp.Code != wire.Success {
			t.Fatalf("commit: %s", resp.Remark)
		}
		p.close()
		r.stop()
		state, err := meta.Open(t.Context(), meta.Options{FS: r.fs, Dir: path.Join(r.cfg.Dir, stateDir)})
		if err != nil {
			t.Fatal(err)
		}
		first, leases, err := state.Restored(t.Context())
		if err != nil || leases != 1 || first <= epoch+1<<32 {
			t.Errorf("first epoch %d, %d leases ended, %v", first, leases, err)
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
		r.start()
		again := r.connect("one")
		again.session, again.language = p.session, wire.LanguageGo
		again.beat("c1", "G", "T", "*")
		again.ping()
		again.ping()
		_, after := again.lock("c1", "G", "T", 0)
		if len(after.Grants) != 1 || after.Grants[0].Epoch < first || after.Grants[0].Start != 1 {
			t.Errorf("locked under %+v, want an epoch of %d or more at the position of the backup", after, first)
		}
		if resp := again.commit("G", "T", 0, 1, epoch); resp.Code != wire.CodeFenced {
			t.Errorf("commit under the epoch from before: %d", resp.Code)
		}
	})
}
