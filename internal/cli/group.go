// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) groupCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "group", Short: "List and show consumer groups"}
	cmd.AddCommand(a.groupList(), a.groupShow())
	return cmd
}

func (a *app) groupList() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List consumer groups",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				groups, err := adm.Groups(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(groups)
				}
				var rows [][]any
				for _, g := range groups {
					rows = append(rows, []any{g.Name, g.RetryMax})
				}
				return a.table([]string{"group", "retries"}, rows)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) groupShow() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a group's members, positions and lag",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				g, err := adm.Group(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(g)
				}
				return a.showGroup(g)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) showGroup(g admin.GroupInfo) error {
	fmt.Fprintf(a.stdout, "group %s  members: %d\n", g.Name, len(g.Members))
	var rows [][]any
	for _, m := range g.Members {
		rows = append(rows, []any{m.ClientID, m.Addr, m.Language, m.Version})
	}
	if len(rows) > 0 {
		if err := a.table([]string{"member", "address", "language", "version"}, rows); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	rows = nil
	for _, q := range g.Queues {
		rows = append(rows, []any{q.Topic, q.Broker, q.ID, q.Committed, q.Max, q.Lag, stamp(q.LastConsumed)})
	}
	return a.table([]string{"topic", "broker", "queue", "committed", "max", "lag", "last consumed"}, rows)
}
