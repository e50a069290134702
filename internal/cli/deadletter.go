// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/admin"
)

func (a *app) deadLetterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "deadletter", Short: "List what groups have given up, and send it back"}
	cmd.AddCommand(a.deadLetterList(), a.deadLetterResend())
	return cmd
}

func (a *app) deadLetterList() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "list GROUP",
		Short: "List the dead letters of a group: where from, key, attempts, why",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.DeadLetters(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.json {
					return a.printJSON(list)
				}
				var rows [][]any
				for _, l := range list {
					rows = append(rows, []any{l.Broker, l.Letter, stamp(l.Time), l.Topic, orNone(l.Queue), orNone(l.Offset), orDash(l.Key), l.Attempts, orDash(l.Cause)})
				}
				return a.table([]string{"broker", "letter", "given up", "topic", "queue", "offset", "key", "attempts", "last error"}, rows)
			})
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

func (a *app) deadLetterResend() *cobra.Command {
	var c cluster
	var pick letterPick
	cmd := &cobra.Command{
		Use:   "resend GROUP --letter N|--topic T --queue N --offset N|--all",
		Short: "Send dead letters back to the topic where they came from",
		Long: `Sends dead letters back to the end of their key's queue, behind every message of
the key that is there already; all groups of the topic see them. A dead letter
stays in the list and is sent back once: one that was is skipped by --all, and
refused otherwise. One is named by its number in the list, or by where the
message was; --topic is needed if the group has several.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.DeadLetters(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				list, err = pick.from(list)
				if err != nil {
					return err
				}
				sent, skipped := 0, 0
				for _, l := range list {
					err := adm.Resend(cmd.Context(), args[0], l)
					switch {
					case pick.all && errors.Is(err, admin.ErrSentBack):
						skipped++
						continue
					case err != nil:
						return fmt.Errorf("letter %d: %w", l.Letter, err)
					}
					sent++
				}
				fmt.Fprintf(a.stdout, "%d sent back, %d had been before\n", sent, skipped)
				return nil
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	pick.flags(cmd)
	return cmd
}

// letterPick says which dead letters are meant.
type letterPick struct {
	letter, offset int64
	queue          int
	topic          string
	all            bool
}

func (p *letterPick) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&p.letter, "letter", -1, "the dead letter with this number")
	f.IntVar(&p.queue, "queue", -1, "with --offset: the message was in this queue")
	f.Int64Var(&p.offset, "offset", -1, "with --queue: the message was at this offset")
	f.StringVar(&p.topic, "topic", "", "the message was in this topic")
	f.BoolVar(&p.all, "all", false, "all that were not sent back yet")
	cmd.MarkFlagsOneRequired("letter", "offset", "all")
	cmd.MarkFlagsMutuallyExclusive("letter", "offset", "all")
	cmd.MarkFlagsRequiredTogether("queue", "offset")
}

// from picks them out of list. One that is named must be the only one of its
// name: several brokers number alike.
func (p *letterPick) from(list []admin.Letter) ([]admin.Letter, error) {
	var picked []admin.Letter
	for _, l := range list {
		named := p.letter >= 0 && l.Letter == p.letter || p.offset >= 0 && l.Queue == p.queue && l.Offset == p.offset
		if (p.all || named) && (p.topic == "" || l.Topic == p.topic) {
			picked = append(picked, l)
		}
	}
	switch {
	case len(picked) == 0:
		return nil, errors.New("there is no such dead letter: see orderly deadletter list")
	case len(picked) > 1 && !p.all:
		return nil, fmt.Errorf("%d dead letters are meant: name the topic, or use --all", len(picked))
	}
	return picked, nil
}
