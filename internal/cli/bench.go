// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orderlymq/orderly/bench/load"
	"github.com/orderlymq/orderly/internal/cli/bench"
)

// benchFlags is the flags of all benchmarks.
type benchFlags struct {
	json  bool
	limit time.Duration
	t     bench.Target
}

func (b *benchFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&b.json, "json", false, "print JSON")
	f.DurationVar(&b.limit, "limit", 30*time.Minute, "end the whole run with an error after this time")
	f.StringVar(&b.t.Dir, "dir", "", "where temporary data goes: its disk is measured (default: the system's place)")
}

// serverFlags is those of benchmarks that need a server.
func (b *benchFlags) serverFlags(f *pflag.FlagSet) {
	b.flags(f)
	f.StringVarP(&b.t.Namesrv, "namesrv", "n", "", "name server of a server on this machine to measure (default: start one)")
	f.BoolVar(&b.t.Async, "async-disk", false, "start the server with acknowledgements before the disk has synced")
	f.StringVar(&b.t.Profile, "server-profile", "", "file for a CPU profile of the started server")
}

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a server, or the storage engine beside the disk",
		Long: `Measures a server that it starts as a process of its own on loopback, with its
data in a temporary directory, or one that runs already on this machine. Every
result names the durability mode. Runs are bounded by count and time. Compare
figures of one run only: they move with whoever else uses the machine.`,
	}
	cmd.AddCommand(a.benchSend(), a.benchDrain(), a.benchOrders(), a.benchStore(), a.benchScale(), a.benchAll())
	return cmd
}

// result is what a benchmark prints.
type result interface{ Print(w io.Writer) }

// measured is a result with what it depends on.
type measured struct {
	Machine bench.Machine `json:"machine"`
	Result  any           `json:"result"`
}

// measure runs a benchmark and prints its result.
func (a *app) measure(ctx context.Context, b *benchFlags, run func(context.Context, bench.Target) (result, error)) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	if b.t.Namesrv != "" {
		if err := checkLoopback("namesrv", b.t.Namesrv, false); err != nil {
			return fmt.Errorf("%w; benchmarks are for servers of this machine", err)
		}
	}
	if b.t.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the orderly binary: %w", err)
	}
	b.t.Logger = log
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("the run took longer than --limit %v", b.limit))
	defer cancel()
	machine := bench.ThisMachine()
	r, err := run(ctx, b.t)
	if err != nil {
		return err
	}
	if b.json {
		return a.printJSON(measured{machine, r})
	}
	fmt.Fprintln(a.stdout, machine)
	r.Print(a.stdout)
	return nil
}

// sendFlags is how a server is sent to.
func sendFlags(f *pflag.FlagSet, o *bench.SendOptions) {
	f.IntVarP(&o.Senders, "senders", "s", 1, "how many send at once, 1 to 1024")
	f.IntVar(&o.InFlight, "in-flight", 1, "messages that each sender sends ahead; 1 is synchronous")
	f.IntVarP(&o.Keys, "keys", "k", 1000, "ordering keys, each of one sender; 0 sends without key to a plain topic")
	f.IntVar(&o.Body, "body", 1024, "bytes of a body")
	f.IntVarP(&o.Queues, "queues", "q", 8, "queues of the topic")
	f.Int64VarP(&o.Count, "count", "c", 10_000_000, "end after so many messages")
	f.DurationVarP(&o.Duration, "duration", "d", 5*time.Second, "end after this time; 0 is not bounded")
	f.StringVarP(&o.Topic, "topic", "t", "orderly-bench-send", "topic to create and send to")
}

func (a *app) benchSend() *cobra.Command {
	var b benchFlags
	var o bench.SendOptions
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Messages a second and latency of senders",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Senders < 1 || o.Senders > 1024 || o.InFlight < 1 || o.Body > 4<<20 {
				return errors.New("--senders must be 1 to 1024, --in-flight at least 1, --body at most 4 MiB")
			}
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				return bench.Send(ctx, t, o)
			})
		},
	}
	b.serverFlags(cmd.Flags())
	sendFlags(cmd.Flags(), &o)
	return cmd
}

func (a *app) benchDrain() *cobra.Command {
	var b benchFlags
	var o bench.DrainOptions
	var order string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Store messages, then drain them with one ordered consumer",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Order, err = bench.ParseOrder(order); err != nil {
				return err
			}
			o.Limit = b.limit
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				return bench.Drain(ctx, t, o)
			})
		},
	}
	f := cmd.Flags()
	b.serverFlags(f)
	f.Int64VarP(&o.Count, "count", "c", 200_000, "messages to store and drain")
	f.IntVarP(&o.Keys, "keys", "k", 1000, "ordering keys")
	f.IntVar(&o.Body, "body", 1024, "bytes of a body")
	f.IntVarP(&o.Queues, "queues", "q", 8, "queues of the topic")
	f.StringVarP(&o.Topic, "topic", "t", "orderly-bench-drain", "topic to create; it must be new")
	f.StringVar(&order, "order", "queue", "what the consumer keeps in order: queue, key or none")
	f.IntVar(&o.Workers, "workers", 0, "handler calls at once (default: the client's)")
	f.DurationVar(&o.Work, "work", 0, "how long a handler takes")
	f.BoolVar(&o.Stuck, "stuck", false, "let the first key fail for ever; for --order key")
	return cmd
}

func (a *app) benchOrders() *cobra.Command {
	var b benchFlags
	var o bench.OrdersOptions
	cmd := &cobra.Command{
		Use:   "orders",
		Short: "One consumer by queue, by key and without order, and beside a stuck key",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Count < 10_000 || o.Body < load.MinBody || o.Rounds < 1 {
				return fmt.Errorf("--count must be at least 10,000, --body %d, --rounds 1", load.MinBody)
			}
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				return bench.Orders(ctx, t, o)
			})
		},
	}
	f := cmd.Flags()
	b.flags(f)
	f.Int64VarP(&o.Count, "count", "c", 200_000, "messages to store and drain with an empty handler")
	f.Int64Var(&o.Behind, "behind", 1_000_000, "messages to drain beside a stuck key")
	f.IntVar(&o.Body, "body", 1024, "bytes of a body")
	f.IntVarP(&o.Rounds, "rounds", "r", 3, "rounds to take the medians of")
	return cmd
}

func (a *app) benchStore() *cobra.Command {
	var b benchFlags
	var o bench.StoreOptions
	cmd := &cobra.Command{
		Use:   "store",
		Short: "The storage engine beside raw writes and syncs of the same disk, in turn",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				o.Dir = t.Dir
				return bench.Store(ctx, o)
			})
		},
	}
	f := cmd.Flags()
	b.flags(f)
	f.IntVar(&o.Body, "body", 0, "bytes of a body (default: so that a record has 1 KiB)")
	f.IntVarP(&o.Rounds, "rounds", "r", 7, "rounds to take the medians of")
	f.DurationVar(&o.Slice, "slice", 200*time.Millisecond, "how long each case runs in a round")
	return cmd
}

func scaleFlags(f *pflag.FlagSet, o *bench.ScaleOptions) {
	f.IntVar(&o.Topics, "topics", 1000, "topics, each with a group")
	f.IntVar(&o.Queues, "topic-queues", 10, "queues of each of these topics")
	f.Int64Var(&o.Messages, "messages", 2_000_000, "messages in one queue")
	f.IntVar(&o.Body, "small-body", 100, "bytes of the body of each of these messages")
}

func checkScale(o bench.ScaleOptions) error {
	if o.Topics < 1 || o.Queues < 1 || o.Topics*o.Queues > 1_000_000 || o.Messages < 1000 || o.Body < 1 || o.Body > 1<<20 {
		return errors.New("--topics and --topic-queues must be at least 1 and 1,000,000 queues in all at most, --messages at least 1000, --small-body 1 to 1 MiB")
	}
	return nil
}

func (a *app) benchScale() *cobra.Command {
	var b benchFlags
	var o bench.ScaleOptions
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "What many idle queues, and many messages in one queue, cost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkScale(o); err != nil {
				return err
			}
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				return bench.Scale(ctx, t, o)
			})
		},
	}
	b.flags(cmd.Flags())
	scaleFlags(cmd.Flags(), &o)
	return cmd
}

func (a *app) benchAll() *cobra.Command {
	var b benchFlags
	var o bench.AllOptions
	cmd := &cobra.Command{
		Use:   "all",
		Short: "All of them, in both durability modes, as one table",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkScale(o.Scale); err != nil {
				return err
			}
			if o.Repeat < 1 || o.Drain < 1 || o.Body > 4<<20 {
				return errors.New("--repeat and --drain must be at least 1, --body at most 4 MiB")
			}
			return a.measure(cmd.Context(), &b, func(ctx context.Context, t bench.Target) (result, error) {
				return bench.All(ctx, t, o)
			})
		},
	}
	f := cmd.Flags()
	b.flags(f)
	f.IntVarP(&o.Repeat, "repeat", "r", 3, "how often each is run; the median is shown")
	f.IntVar(&o.Body, "body", 1024, "bytes of a body")
	f.IntVarP(&o.Queues, "queues", "q", 8, "queues of the topic")
	f.DurationVarP(&o.Duration, "duration", "d", 5*time.Second, "how long each run of sending takes")
	f.Int64Var(&o.Drain, "drain", 200_000, "messages to drain")
	f.IntVar(&o.Store.Rounds, "rounds", 7, "rounds of the engine's part")
	f.DurationVar(&o.Store.Slice, "slice", 200*time.Millisecond, "how long each case of the engine runs in a round")
	scaleFlags(f, &o.Scale)
	return cmd
}
