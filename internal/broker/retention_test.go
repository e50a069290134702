// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/wire"
)

// TestUnfinishedMessagesOutliveTheRetention fills log files, lets them grow
// old, and looks which messages are still there.
func TestUnfinishedMessagesOutliveTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) {
			opts := c.Store
			c.SegmentSize = 256 << 10
			c.Store = func(o *store.Options) {
				opts(o)
				o.Retention, o.IndexEvery, o.FillAhead = time.Hour, 64<<10, 16<<10
			}
		})
		p := r.connect("client")
		p.createTopic("T", 1, "+message.type=FIFO")
		text := strings.Repeat("x", 10_000)
		for range 150 {
			p.send("T", 0, text)
		}
		p.beat("c1", "G", "T", "*")
		p.commit("G", "T", 0, 60, 0)
		time.Sleep(2 * time.Hour)
		low, _ := r.b.store.Bounds("T", 0)
		if low == 0 || low > 60 {
			t.Errorf("messages from %d on are kept, want some removed and 60 kept", low)
		}
		p = r.connect("client")
		if code, _, _ := p.pull(pullHeader("Other", "T", 0, 60)); code != wire.Success {
			t.Errorf("the first unfinished message: %s", wire.ResponseName(code))
		}
		p.beat("c1", "G", "T", "*")
		p.commit("G", "T", 0, 150, 0)
		time.Sleep(time.Minute)
		if low, _ = r.b.store.Bounds("T", 0); low < 100 {
			t.Errorf("messages from %d on are kept, though all are finished", low)
		}
	})
}
