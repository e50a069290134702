// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) blockedCommand() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "blocked [GROUP...]",
		Short: "List everything that waits: what, since when, why, who has it",
		Long: `Lists what waits in the named groups, or in all: messages that failed and are
tried again, parked keys, handlers that take long or ignore their context, queues
that nobody may consume yet, members and brokers that do not answer. Exits with 0
whether something waits or not.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.Blocked(cmd.Context(), args...)
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(list)
				}
				return a.printBlocked(list)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) printBlocked(list []admin.Blocked) error {
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "nothing waits")
		return nil
	}
	var rows [][]any
	for _, b := range list {
		rows = append(rows, []any{
			orDash(b.Group), orDash(b.Topic), orDash(b.Broker), orNone(b.Queue), orNone(b.Offset), orDash(b.Key), b.Attempts,
			orDash(cmp.Or(b.Member, b.Owner)), stamp(b.Since), b.Why, stamp(b.Next), b.Behind,
		})
	}
	return a.table([]string{"group", "topic", "broker", "queue", "offset", "key", "failed", "owner", "since", "why", "next try", "behind"}, rows)
}

// orNone shows a number that is -1 where there is none.
func orNone[T int | int64](n T) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func (a *app) unblockCommand() *cobra.Command {
	var c cluster
	var broker, owner string
	verbs := map[admin.Verb]*bool{admin.Retry: new(bool), admin.DeadLetter: new(bool), admin.Park: new(bool), admin.Resume: new(bool)}
	cmd := &cobra.Command{
		Use:   "unblock GROUP TOPIC QUEUE OFFSET --retry|--dead-letter|--park|--resume",
		Short: "Decide what becomes of a message that waits",
		Long: `Tells the member that has the message what to do with it; "orderly blocked" lists
what waits. The message must be the first unfinished one of its key.`,
		Args: cobra.ExactArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := admin.Message{Group: args[0], Topic: args[1], Broker: broker, Owner: owner}
			var err error
			if m.Queue, err = strconv.Atoi(args[2]); err != nil || m.Queue < 0 {
				return fmt.Errorf("queue %q: use a number from 0 on", args[2])
			}
			if m.Offset, err = strconv.ParseInt(args[3], 10, 64); err != nil || m.Offset < 0 {
				return fmt.Errorf("offset %q: use a number from 0 on", args[3])
			}
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				for verb, is := range verbs {
					if !*is {
						continue
					}
					said, err := adm.Do(cmd.Context(), verb, m)
					if err == nil {
						fmt.Fprintf(a.stdout, "%s of offset %d: %s\n", verb, m.Offset, said)
					}
					return err
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(verbs[admin.Retry], "retry", false, "try it again now")
	f.BoolVar(verbs[admin.DeadLetter], "dead-letter", false, "move it to the group's dead letters and go on")
	f.BoolVar(verbs[admin.Park], "park", false, "stop its key there until --resume")
	f.BoolVar(verbs[admin.Resume], "resume", false, "let its parked key go on")
	f.StringVar(&broker, "broker", "", "the broker that has the queue (default: the only one)")
	f.StringVar(&owner, "owner", "", "client id of the member that has it (default: the queue's holder)")
	cmd.MarkFlagsOneRequired("retry", "dead-letter", "park", "resume")
	cmd.MarkFlagsMutuallyExclusive("retry", "dead-letter", "park", "resume")
	c.flags(f)
	return cmd
}

func (a *app) groupRelease() *cobra.Command {
	var c cluster
	var broker string
	cmd := &cobra.Command{
		Use:   "release NAME TOPIC QUEUE",
		Short: "Take a queue from the member that holds it",
		Long: `Fences the member that holds the queue: its commits are refused and its handler
contexts end. After the group's grace whoever the queue is meant for gets it, which
may be the same member.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			queue, err := strconv.Atoi(args[2])
			if err != nil || queue < 0 {
				return fmt.Errorf("queue %q: use a number from 0 on", args[2])
			}
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				said, err := adm.Release(cmd.Context(), args[0], args[1], broker, queue)
				if err == nil {
					fmt.Fprintf(a.stdout, "queue %d of %s: %s\n", queue, args[1], said)
				}
				return err
			})
		},
	}
	c.flags(cmd.Flags())
	cmd.Flags().StringVar(&broker, "broker", "", "the broker that has the queue (default: the only one)")
	return cmd
}
