// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	brokerd "github.com/orderlymq/orderly/internal/broker"
)

// A consumer whose group does not exist, and may not create itself, gets no
// queue: it must say why it waits, and not once a second.
func TestRealWaitingIsNotSilent(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		r.stopBroker()
		r.startBrokerWith(func(c *brokerd.Config) { c.DisableAutoCreateGroup = true })
		var log bytes.Buffer
		cfg := r.config("c")
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c, err := Open(t.Context(), cfg)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		must(t, c.Consume(ctx, ConsumerConfig{Group: "unknown", Topic: "t"}, func(context.Context, *Message) error { return nil }))
		must(t, c.Close())
		if n := strings.Count(log.String(), "does not exist"); n != 1 {
			t.Errorf("%d lines say why nothing comes:\n%s", n, &log)
		}
	})
}
