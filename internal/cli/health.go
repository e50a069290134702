// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

// errNotHealthy makes a check that found something exit with a status.
var errNotHealthy = errors.New("a broker does not take sends or commits: see above")

func (a *app) healthCommand() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask each broker whether it takes sends and commits",
		Long: `Asks each broker that the name servers know for the state of its message log
(open, disk full, fenced) and of its change log, which holds topics, groups and
positions (healthy, fenced). Exits with 1 if a broker does not answer or does not
take sends or commits.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				brokers, err := adm.Health(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					err = a.printJSON(brokers)
				} else {
					err = a.printHealth(brokers)
				}
				if err == nil && slices.ContainsFunc(brokers, func(h admin.BrokerHealth) bool { return !h.OK }) {
					err = errNotHealthy
				}
				return err
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) printHealth(brokers []admin.BrokerHealth) error {
	var rows [][]any
	for _, h := range brokers {
		rows = append(rows, []any{h.Broker, h.Addr, yesNo(h.OK), orDash(h.Messages), orDash(h.State), fmt.Sprintf("%.0f %%", 100*h.Disk)})
	}
	if err := a.table([]string{"broker", "address", "ok", "messages", "state", "disk"}, rows); err != nil {
		return err
	}
	for _, h := range brokers {
		for _, p := range h.Problems {
			fmt.Fprintf(a.stdout, "%s: %s\n", h.Broker, p)
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
