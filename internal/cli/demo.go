// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/orderlymq/orderly/internal/cli/demo"
)

// errBroken makes a demo whose contract did not hold exit with a status.
var errBroken = errors.New("the contract of order was broken")

func (a *app) demoCommand() *cobra.Command {
	var o demo.Options
	var asJSON bool
	var fault string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show keyed orders being produced and consumed in order while a consumer is killed",
		Long: `Starts a server process with its data on disk, sends keyed orders to an ordered
topic, consumes them with three consumer processes of one group, kills one of
them inside a handler, starts another, and prints the proof from its own record
of every handler call. Exits with 0 only if nothing was lost, out of order or
overlapping.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger()
			if err != nil {
				return err
			}
			o.Self, err = os.Executable()
			if err != nil {
				return fmt.Errorf("find the orderly binary: %w", err)
			}
			o.Fault = demo.Fault(fault)
			if a.logLevel == "debug" || asJSON || !isTerminal(a.stderr) {
				o.Logger = log
			} else {
				o.Progress = a.stderr
			}
			p, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(a.stdout).Encode(p)
			} else {
				p.Print(a.stdout)
			}
			if err == nil && !p.OK() {
				err = errBroken
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the proof as one JSON object")
	f.BoolVar(&o.KillBroker, "kill-broker", false, "also kill the server half way and start it again")
	f.IntVar(&o.Messages, "messages", 5000, "messages to send")
	f.IntVar(&o.Orders, "orders", 200, "orders they belong to")
	f.IntVar(&o.Queues, "queues", 8, "queues of the topic")
	f.IntVar(&o.Rate, "rate", 800, "messages a second to send")
	f.DurationVar(&o.Quiet, "quiet", 0, "how long nothing may happen before what is missing counts as lost (default 15s)")
	f.StringVar(&fault, "fault", "", "make one consumer misbehave: drop, swap, double or overlap")
	_ = f.MarkHidden("fault")
	_ = f.MarkHidden("quiet")
	return cmd
}

// demoConsumerCommand is a consumer process of the demo. It ends when its
// standard input does, so that it does not outlive its parent.
func (a *app) demoConsumerCommand() *cobra.Command {
	var o demo.ConsumerOptions
	var fault string
	cmd := &cobra.Command{
		Use:    "demo-consumer",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := a.logger()
			if err != nil {
				return err
			}
			o.Fault, o.Logger = demo.Fault(fault), log
			ctx, stop := untilEOF(cmd.Context(), a.stdin)
			defer stop()
			return demo.Consume(ctx, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the consumer in the record")
	f.StringVar(&o.Namesrv, "namesrv", "", "name server")
	f.StringVar(&o.Recorder, "recorder", "", "address of the recorder")
	f.StringVar(&fault, "fault", "", "how to misbehave")
	return cmd
}

// untilEOF ends the context when r does. The goroutine that reads is left to
// the end of the process: a read of standard input cannot be interrupted.
func untilEOF(ctx context.Context, r io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx, cancel
}
