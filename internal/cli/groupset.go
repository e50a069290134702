// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orderlymq/orderly/admin"
)

// groupFlags are the settings of a group. Those that are given change it.
type groupFlags struct {
	group admin.Group
}

func (g *groupFlags) flags(f *pflag.FlagSet) {
	p := &g.group.Policy
	f.DurationVar(&p.Grace, "grace", 0, "how long a member that is not heard keeps its queues: 250ms to 1m (default 1s)")
	f.DurationVar(&p.Lease, "lease", 0, "how long a silent one whose link stands keeps them: at least twice the grace (default 10s or twice the grace)")
	f.BoolVar(&p.StockFastRelease, "stock-fast-release", false, "free a stock client's queues 5 s after its link closed; calls can overlap if only the link died")
	f.IntVar(&p.MaxAttempts, "max-attempts", 0, "attempts of a message before --poison applies; 0: as each member is configured")
	f.DurationSliceVar(&p.Backoff, "backoff", nil, "pauses before attempts 2, 3, ..., such as 100ms,1s,10s; the last one repeats")
	f.StringVar(&p.Poison, "poison", "", "when attempts are used up: block, dead-letter or park (default block)")
	f.DurationVar(&p.MaxHandlerTime, "max-handler-time", 0, "how long a handler may ignore its ended context before --overrun applies, 0: no end")
	f.StringVar(&p.Overrun, "overrun", "", "what then: keep or release (default keep)")
	f.IntVar(&g.group.RetryMax, "retries", 16, "retries of concurrent consumers")
	f.BoolVar(&g.group.Ordered, "ordered", false, "RocketMQ's consumeMessageOrderly; a group that reads an ordered topic becomes ordered by itself")
}

// apply changes old by the flags that are given.
func (g *groupFlags) apply(f *pflag.FlagSet, old admin.Group) admin.Group {
	p, q := &g.group.Policy, &old.Policy
	for name, set := range map[string]func(){
		"grace":              func() { q.Grace = p.Grace },
		"lease":              func() { q.Lease = p.Lease },
		"stock-fast-release": func() { q.StockFastRelease = p.StockFastRelease },
		"max-attempts":       func() { q.MaxAttempts = p.MaxAttempts },
		"backoff":            func() { q.Backoff = p.Backoff },
		"poison":             func() { q.Poison = p.Poison },
		"max-handler-time":   func() { q.MaxHandlerTime = p.MaxHandlerTime },
		"overrun":            func() { q.Overrun = p.Overrun },
		"retries":            func() { old.RetryMax = g.group.RetryMax },
		"ordered":            func() { old.Ordered = g.group.Ordered },
	} {
		if f.Changed(name) {
			set()
		}
	}
	return old
}

func (a *app) groupCreate() *cobra.Command {
	return a.groupChange("create NAME", "Create a consumer group", func(err error, name string) error {
		if err == nil {
			return fmt.Errorf("group %s is there already: change it with group set", name)
		}
		if errors.Is(err, admin.ErrGroupNotFound) {
			return nil
		}
		return err
	})
}

func (a *app) groupSet() *cobra.Command {
	return a.groupChange("set NAME", "Change a consumer group: the flags that are given", func(err error, _ string) error { return err })
}

// groupChange is the command that stores a group; judge says whether the group,
// or the error that there is none, is as it should be.
func (a *app) groupChange(use, short string, judge func(err error, name string) error) *cobra.Command {
	var c cluster
	var g groupFlags
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				info, err := adm.Group(cmd.Context(), args[0])
				if err := judge(err, args[0]); err != nil {
					return err
				}
				old := info.Group
				old.Name = args[0]
				group := g.apply(cmd.Flags(), old)
				if err := adm.CreateGroup(cmd.Context(), group); err != nil {
					return err
				}
				if c.json {
					return a.printJSON(group)
				}
				_, err = fmt.Fprintf(a.stdout, "group %s\n%s\n", group.Name, policyText(group.Policy))
				return err
			})
		},
	}
	c.flags(cmd.Flags())
	g.flags(cmd.Flags())
	return cmd
}

func (a *app) groupDelete() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a consumer group and all its positions",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				return adm.DeleteGroup(cmd.Context(), args[0])
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}
