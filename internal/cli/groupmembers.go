// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) groupMembers() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "members NAME",
		Short: "Ask a group's members for their rates, handler times and failures",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.MemberStats(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(list)
				}
				var rows [][]any
				for _, m := range list {
					name := cmp.Or(m.Name, m.ClientID)
					if m.Err != "" {
						rows = append(rows, []any{name, m.Err, "-", "-", "-", "-", "-", "-", "-"})
					}
					for _, t := range m.Topic {
						rows = append(rows, []any{
							name, t.Topic, m.Queues, m.Cached, fmt.Sprintf("%.1f", t.PulledPerSec), fmt.Sprintf("%.1f", t.HandledPerSec),
							fmt.Sprintf("%.1f", t.FailedPerSec), t.HandlerTime, t.FailedHour,
						})
					}
				}
				return a.table([]string{"member", "topic", "queues", "cached", "pulled/s", "handled/s", "failed/s", "handler time", "failed last hour"}, rows)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}
