// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly"
)

func (a *app) consumeCommand() *cobra.Command {
	var c cluster
	var cfg orderly.ConsumerConfig
	var tags, from string
	var count int
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Consume a topic in order and print what arrives, until interrupted",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if cfg.Start, err = parseStart(from); err != nil {
				return err
			}
			cfg.Topic, cfg.Filter, cfg.MaxBatch = args[0], orderly.Tags(tags), 1
			return a.withClient(cmd.Context(), c, func(cl *orderly.Client) error {
				ctx, stop := context.WithCancel(cmd.Context())
				defer stop()
				return cl.ConsumeManual(ctx, cfg, a.printer(c.json, count, stop))
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	f.StringVarP(&cfg.Group, "group", "g", "orderly-cli", "consumer group")
	f.StringVarP(&tags, "tags", "t", "*", "tags to take, such as 'TagA || TagC'")
	f.StringVar(&from, "from", "first", "where a new group starts: first, last, or a time such as 2026-01-31T15:04:05Z")
	f.StringVar(&cfg.MemberName, "member", "", "name of this member that outlives the process: its queues come back within 60 s")
	f.IntVarP(&count, "count", "c", 0, "stop after this many messages (default: never)")
	return cmd
}

func parseStart(from string) (orderly.Start, error) {
	switch from {
	case "first":
		return orderly.FromFirst(), nil
	case "last":
		return orderly.FromLast(), nil
	}
	t, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return orderly.Start{}, fmt.Errorf("--from %q: use first, last, or a time such as 2026-01-31T15:04:05Z", from)
	}
	return orderly.FromTime(t), nil
}

// printer prints each message on one line; after count of them it stops. What
// came beyond that is held, not failed: an error is an attempt, and a group may
// put messages aside after a number of them.
func (a *app) printer(asJSON bool, count int, stop func()) orderly.ManualHandler {
	var mu sync.Mutex // one line at a time; printing is the handler's whole work
	printed := 0
	return func(_ context.Context, ms []*orderly.Message) (orderly.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range ms {
			if count > 0 && printed >= count {
				return orderly.Hold, nil // for whoever consumes next
			}
			if err := a.printMessage(asJSON, m); err != nil {
				return 0, err
			}
			if printed++; printed == count {
				stop()
			}
		}
		return orderly.Commit, nil
	}
}

func (a *app) printMessage(asJSON bool, m *orderly.Message) error {
	if asJSON {
		return a.printJSON(map[string]any{
			"topic": m.Topic, "broker": m.Queue.Broker, "queue": m.Queue.ID, "offset": m.Offset,
			"key": m.OrderingKey, "tag": m.Tag, "attempt": m.Attempt, "id": m.ID, "body": string(m.Body),
		})
	}
	_, err := fmt.Fprintf(a.stdout, "queue=%d offset=%d key=%s tag=%s %s\n", m.Queue.ID, m.Offset, m.OrderingKey, m.Tag, m.Body)
	return err
}
