// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/bench/load"
)

// DrainOptions say what is stored and how it is consumed.
type DrainOptions struct {
	load.FillOptions
	Queues  int
	Order   orderly.Order
	Workers int           // handler calls at once; 0: the client's default
	Work    time.Duration // a handler takes
	Stuck   bool          // the first key fails for ever
	Limit   time.Duration
}

// stuck is how many messages the first key has.
func (o *DrainOptions) stuck() int64 {
	if !o.Stuck {
		return 0
	}
	return (o.Count-1)/int64(o.Keys) + 1
}

// DrainResult is what came of it.
type DrainResult struct {
	Order  string `json:"order"`
	Keys   int    `json:"keys"`
	Body   int    `json:"body"`
	Queues int    `json:"queues"`
	load.DrainResult
	FillPerSecond float64 `json:"fill_per_second"`           // in batches, to store what is drained
	ClientCPU     float64 `json:"client_cpu_us_per_message"` // of this process
	Server        Server  `json:"server"`
}

// Drain stores messages and drains them with one consumer.
func Drain(ctx context.Context, t Target, o DrainOptions) (r DrainResult, err error) {
	if o.Stuck {
		t.Logger = slog.New(slog.DiscardHandler) // it would report every failure of the key
	}
	s, err := t.open(ctx)
	if err != nil {
		return r, err
	}
	defer s.closeInto(&err)
	return s.drain(ctx, o)
}

func (s *server) drain(ctx context.Context, o DrainOptions) (DrainResult, error) {
	if err := s.topic(ctx, o.Topic, o.Queues, true); err != nil {
		return DrainResult{}, err
	}
	began := time.Now()
	if err := load.Fill(ctx, s.client, o.FillOptions); err != nil {
		return DrainResult{}, err
	}
	filled := time.Since(began)
	before, own := s.usage(), usageOf(os.Getpid())
	drained, err := load.Drain(ctx, s.client, load.DrainOptions{
		Topic: o.Topic, Group: o.Topic + "-drain", Order: o.Order, Count: o.Count, Limit: o.Limit,
		Workers: o.Workers, Work: o.Work, Stuck: o.stuck(),
	})
	if err != nil {
		return DrainResult{}, err
	}
	return DrainResult{
		Order: OrderName(o.Order), Keys: o.Keys, Body: o.Body, Queues: o.Queues, DrainResult: drained,
		FillPerSecond: round2(float64(o.Count) / filled.Seconds()), ClientCPU: own.since(drained.Received), Server: s.figures(before, drained.Received),
	}, nil
}

// OrderName is the word for an order on the command line.
func OrderName(o orderly.Order) string {
	switch o {
	case orderly.ByKey:
		return "key"
	case orderly.Unordered:
		return "none"
	}
	return "queue"
}

// ParseOrder is the reverse of OrderName.
func ParseOrder(name string) (orderly.Order, error) {
	for _, o := range []orderly.Order{orderly.ByQueue, orderly.ByKey, orderly.Unordered} {
		if OrderName(o) == name {
			return o, nil
		}
	}
	return 0, fmt.Errorf("order %q: use queue, key or none", name)
}

// Print writes the result for people.
func (r DrainResult) Print(w io.Writer) {
	fmt.Fprintf(w, "drain: one consumer, ordered by %s, %d keys, %d bytes, %d queues, disk %s\n", r.Order, r.Keys, r.Body, r.Queues, r.Server.Disk)
	fmt.Fprintf(w, "  %.0f messages/s (%d in %.2f s), first message after %.3f s, stored at %.0f/s\n",
		r.PerSecond, r.Received, r.Seconds, r.FirstMessage, r.FillPerSecond)
	fmt.Fprintf(w, "  missing %d, repeated %d, out of order %d\n", r.Missing, r.Repeated, r.OutOfOrder)
	printClient(w, r.ClientCPU)
	r.Server.print(w)
}
