// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestUncleanEndsUseUpAnAttempt: a handler that takes its process along is not
// tried for ever, although nobody reports its first attempt.
func TestUncleanEndsUseUpAnAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		pull     bool   // the messages are delivered
		attempts string // reported before the end
		clean    bool
		restart  bool // the broker dies too
		want     string
	}{
		"first attempt of the head":     {pull: true, want: "1:1"},
		"nothing delivered":             {},
		"head in back-off":              {pull: true, attempts: "1:2", want: "1:2"},
		"second attempt of the head":    {pull: true, attempts: "1:1+", want: "1:2"},
		"another message, and the head": {pull: true, attempts: "2:1+", want: "1:1,2:2"},
		"clean end":                     {pull: true, clean: true},
		"clean end with attempts":       {pull: true, attempts: "1:1", clean: true, want: "1:1"},
		"with the broker":               {pull: true, restart: true, want: "1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				p := r.connect("one")
				p.createTopic("T", 1, "+message.type=FIFO")
				p.openSession("c1", "G", "T")
				_, grants := p.lock("c1", "G", "T", 0)
				for range 3 {
					p.send("T", 0, "x")
				}
				ext := []string{header.ExtSession, p.token(), header.ExtEpoch, epochText(grants, 0)}
				if c.pull {
					if resp := p.do(wire.ReqPullMessage, pullHeader("G", "T", 0, 0), nil, ext...); resp.Code != wire.Success {
						t.Fatalf("pull: %s", wire.ResponseName(resp.Code))
					}
				}
				h := &header.UpdateConsumerOffset{ConsumerGroup: "G", Topic: "T", CommitOffset: 1}
				p.want(wire.Success, wire.ReqUpdateConsumerOffset, h, nil, append(ext, header.ExtAttempts, c.attempts)...)
				if c.clean {
					p.unlock("c1", "G", "T", 0)
				}
				p.close()
				if c.restart {
					r.restart()
				}
				q := r.connect("two")
				q.openSession("c2", "G", "T")
				for {
					q.ping()
					ids, grants := q.lock("c2", "G", "T", 0)
					if len(ids) == 1 {
						if g := grants.Grants[0]; g.Start != 1 || g.Progress.Attempts != c.want {
							t.Errorf("the next owner starts at %d with attempts %q, want %q", g.Start, g.Progress.Attempts, c.want)
						}
						return
					}
					time.Sleep(250 * time.Millisecond)
				}
			})
		})
	}
}
