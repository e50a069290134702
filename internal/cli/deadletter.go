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
	var letter int64
	var all bool
	cmd := &cobra.Command{
		Use:   "resend GROUP --letter N|--all",
		Short: "Send dead letters back to the topic where they came from",
		Long: `Sends dead letters back to the end of their key's queue, behind every message of
the key that is there already; all groups of the topic see them. A dead letter
stays in the list and is sent back once: one that was is skipped by --all, and
refused by --letter.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withAdmin(cmd.Context(), c, func(adm *admin.Client) error {
				list, err := adm.DeadLetters(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				sent, skipped := 0, 0
				for _, l := range list {
					if !all && l.Letter != letter {
						continue
					}
					err := adm.Resend(cmd.Context(), args[0], l)
					switch {
					case all && errors.Is(err, admin.ErrSentBack):
						skipped++
						continue
					case err != nil:
						return fmt.Errorf("letter %d: %w", l.Letter, err)
					}
					sent++
				}
				if sent+skipped == 0 {
					return errors.New("there is no such dead letter: see orderly deadletter list")
				}
				fmt.Fprintf(a.stdout, "%d sent back, %d had been before\n", sent, skipped)
				return nil
			})
		},
	}
	f := cmd.Flags()
	c.flags(f)
	f.Int64Var(&letter, "letter", 0, "the dead letter with this number")
	f.BoolVar(&all, "all", false, "all that were not sent back yet")
	cmd.MarkFlagsOneRequired("letter", "all")
	cmd.MarkFlagsMutuallyExclusive("letter", "all")
	return cmd
}
