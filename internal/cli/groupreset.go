// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) groupReset() *cobra.Command {
	var c cluster
	var to, broker string
	var queue int
	var offset int64
	cmd := &cobra.Command{
		Use:   "reset NAME TOPIC --to first|last|TIME, or --queue N --offset M",
		Short: "Set where a group goes on in a topic, while it runs or not",
		Long: "Set where a group goes on in a topic, while it runs or not. Members that run drop what they have in hand of " +
			"these queues and go on: Orderly's at once, Java and Go clients of RocketMQ after 1 to 15 s.",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := admin.Reset{Group: args[0], Topic: args[1], Broker: broker}
			if cmd.Flags().Changed("queue") {
				r.Queue = &queue
			}
			if cmd.Flags().Changed("offset") {
				r.Offset = &offset
			}
			switch to {
			case "":
			case "first":
				r.First = true
			case "last":
				r.Last = true
			default:
				at, err := time.Parse(time.RFC3339, to)
				if err != nil {
					return fmt.Errorf("--to %q: use first, last or a time such as 2026-01-02T15:04:05Z", to)
				}
				r.Time = at
			}
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.ResetPositions(cmd.Context(), r)
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(list)
				}
				var rows [][]any
				for _, q := range list {
					rows = append(rows, []any{q.Broker, q.ID, q.From, q.To})
				}
				return a.table([]string{"broker", "queue", "from", "to"}, rows)
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	f.StringVar(&to, "to", "", "first, last, or a time such as 2026-01-02T15:04:05Z: the first message stored then or later")
	f.IntVar(&queue, "queue", 0, "only this queue (default all)")
	f.Int64Var(&offset, "offset", 0, "the very position, with --queue")
	f.StringVar(&broker, "broker", "", "only on this broker")
	return cmd
}
