// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orderlymq/orderly/admin"
)

const defaultNamesrv = "127.0.0.1:9876"

// cluster is the flags of every command that speaks to a cluster.
type cluster struct {
	namesrv string
	json    bool
}

func (c *cluster) flags(f *pflag.FlagSet) {
	f.StringVarP(&c.namesrv, "namesrv", "n", defaultNamesrv, "name servers, separated by ';'")
	f.BoolVar(&c.json, "json", false, "print JSON")
}

// withAdmin runs f with an admin client of the cluster.
func (a *app) withAdmin(ctx context.Context, c cluster, f func(*admin.Client) error) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	adm, err := admin.Open(ctx, admin.Config{NameServers: []string{c.namesrv}, Logger: log})
	if err != nil {
		return err
	}
	defer adm.Close()
	return f(adm)
}

func (a *app) topicCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "topic", Short: "Create, list and show topics"}
	cmd.AddCommand(a.topicCreate(), a.topicList(), a.topicShow(), a.topicDelete())
	return cmd
}

func (a *app) topicCreate() *cobra.Command {
	var c cluster
	t := admin.Topic{}
	plain := false
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a topic: ordered, if not said otherwise",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.Queues < 1 {
				return fmt.Errorf("--queues %d: a topic has at least one", t.Queues)
			}
			t.Name, t.Ordered = args[0], !plain
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				if err := adm.CreateTopic(cmd.Context(), t); err != nil {
					return err
				}
				if c.json {
					return a.printJSON(t)
				}
				_, err := fmt.Fprintf(a.stdout, "created topic %s with %d queues, ordered: %s\n", t.Name, t.Queues, yesNo(t.Ordered))
				return err
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	f.IntVarP(&t.Queues, "queues", "q", 8, "queues per broker")
	f.BoolVar(&plain, "plain", false, "no ordered topic: messages need no key")
	f.StringVar(&t.LaneFunction, "lanes", "", "lane function of an ordered topic: orderly, java-string or go-fnv (default orderly)")
	f.StringVar(&t.Broker, "broker", "", "broker name to create it on")
	return cmd
}

func (a *app) topicList() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List topics",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				topics, err := adm.Topics(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(topics)
				}
				var rows [][]any
				for _, t := range topics {
					rows = append(rows, []any{t.Name, t.Queues, yesNo(t.Ordered)})
				}
				return a.table([]string{"topic", "queues", "ordered"}, rows)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) topicShow() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a topic's settings and queues",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				t, err := adm.Topic(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(t)
				}
				fmt.Fprintf(a.stdout, "topic %s  ordered: %s  perm: %s\n", t.Name, yesNo(t.Ordered), t.Perm)
				var rows [][]any
				for _, q := range t.QueueList {
					rows = append(rows, []any{q.Broker, q.ID, q.Min, q.Max, q.Max - q.Min, stamp(q.LastStored)})
				}
				return a.table([]string{"broker", "queue", "min", "max", "messages", "last stored"}, rows)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) topicDelete() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a topic, its messages and all positions in it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				if err := adm.DeleteTopic(cmd.Context(), args[0]); err != nil {
					return err
				}
				if c.json {
					return a.printJSON(map[string]any{"name": args[0], "deleted": true})
				}
				_, err := fmt.Fprintf(a.stdout, "deleted topic %s\n", args[0])
				return err
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}
