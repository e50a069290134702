// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) groupCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "group", Short: "Create, list, show, change, reset and delete consumer groups"}
	cmd.AddCommand(a.groupCreate(), a.groupSet(), a.groupList(), a.groupShow(), a.groupMembers(), a.groupReset(), a.groupRelease(), a.groupDelete())
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
	fmt.Fprintf(a.stdout, "group %s  ordered: %s  members: %d\n", g.Name, yesNo(g.Ordered), len(g.Members))
	fmt.Fprintln(a.stdout, policyText(g.Policy))
	var rows [][]any
	for _, m := range g.Members {
		rows = append(rows, []any{m.ClientID, m.Addr, m.Language, m.Version})
	}
	if err := a.section([]string{"member", "address", "language", "version"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, q := range g.Queues {
		row := []any{q.Topic, q.Broker, q.ID, q.Committed, q.Max, lagText(q), delayText(q), stamp(q.LastConsumed)}
		rows = append(rows, append(row, leaseCells(q.Lease)...))
	}
	fmt.Fprintln(a.stdout)
	if err := a.table([]string{"topic", "broker", "queue", "committed", "max", "lag", "delay", "last consumed", "holder", "state", "since", "fence", "waiting"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, r := range g.Refused {
		rows = append(rows, []any{r.Topic, r.Broker, r.ID, cmp.Or(r.Client, r.Host), r.Offset, r.Committed, r.Count, stamp(r.First), stamp(r.Last), r.Why})
	}
	return a.section([]string{"refused: topic", "broker", "queue", "sender", "value", "committed", "times", "since", "last", "why"}, rows)
}

// lagText marks a lag that is estimated.
func lagText(q admin.Position) string {
	if q.LagEstimated {
		return fmt.Sprintf("~%d", q.Lag)
	}
	return fmt.Sprint(q.Lag)
}

func delayText(q admin.Position) string {
	if q.Lag == 0 {
		return "-"
	}
	return q.Delay.Round(time.Second / 10).String()
}

// section is a table after an empty line, if it has rows.
func (a *app) section(titles []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	return a.table(titles, rows)
}

// leaseCells shows who holds a queue, and in which state it is.
func leaseCells(l *admin.Lease) []any {
	if l == nil {
		return []any{"-", "-", "-", "-", "-"}
	}
	state := cmp.Or(l.State, "free")
	if l.Reset {
		state += ", reset not taken up"
	}
	return []any{cmp.Or(l.Holder, "-"), state, stamp(l.Since), l.Epoch, waitersText(l)}
}

// waitersText names who waits for a queue.
func waitersText(l *admin.Lease) string {
	text := strings.Join(l.Waiters, ",")
	if more := l.Waiting - len(l.Waiters); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "-")
}

// policyText shows a group's policy, defaults filled in.
func policyText(p admin.GroupPolicy) string {
	p = p.Effective()
	attempts, handler, pauses := "the member's", "no end", "the member's"
	if p.MaxAttempts > 0 {
		attempts = fmt.Sprint(p.MaxAttempts)
	}
	if p.MaxHandlerTime > 0 {
		handler = p.MaxHandlerTime.String()
	}
	if len(p.Backoff) > 0 {
		pauses = ""
		for i, d := range p.Backoff {
			if i > 0 {
				pauses += ","
			}
			pauses += d.String()
		}
	}
	return fmt.Sprintf("grace: %v  lease: %v  stock fast release: %s  max attempts: %s  poison: %s  back-off: %s  max handler time: %s  overrun: %s",
		p.Grace, p.Lease, yesNo(p.StockFastRelease), attempts, p.Poison, pauses, handler, p.Overrun)
}
