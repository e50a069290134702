// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/bench/load"
)

// AllOptions say how much of everything is run.
type AllOptions struct {
	Repeat   int
	Body     int
	Queues   int
	Duration time.Duration // of a run of sending
	Drain    int64         // messages
	Store    StoreOptions
	Scale    ScaleOptions
}

// AllResult is everything: of repeated runs the median one.
type AllResult struct {
	Sends  []SendResult  `json:"sends"`
	Drains []DrainResult `json:"drains"`
	Store  StoreResult   `json:"store"`
	Scale  ScaleResult   `json:"scale"`
}

// sendRuns are the ways of sending.
func sendRuns(o AllOptions) []load.SendOptions {
	run := func(senders, inFlight, keys int) load.SendOptions {
		return load.SendOptions{
			Topic: fmt.Sprintf("send-%d-%d-%d", senders, inFlight, keys), Senders: senders, InFlight: inFlight, Keys: keys,
			Body: o.Body, Count: 1 << 40, Duration: o.Duration,
		}
	}
	return []load.SendOptions{
		run(1, 1, 1000),
		run(32, 1, 1000),
		run(4, 256, 0),
		run(4, 256, 1000),
	}
}

// All runs everything, in both durability modes. The repetitions are made in
// turn, each with a server of its own, so that a busy minute of the machine
// does not fall on one row alone.
func All(ctx context.Context, t Target, o AllOptions) (r AllResult, err error) {
	kinds := sendRuns(o)
	sends := make([][]SendResult, 2*len(kinds))
	var drains [2][]DrainResult
	for range o.Repeat {
		for m, async := range []bool{false, true} {
			t.Async = async
			for k, kind := range kinds {
				got, err := Send(ctx, t, SendOptions{SendOptions: kind, Queues: o.Queues})
				if err != nil {
					return r, err
				}
				sends[m*len(kinds)+k] = append(sends[m*len(kinds)+k], got)
			}
			got, err := Drain(ctx, t, DrainOptions{
				FillOptions: load.FillOptions{Topic: "drain", Keys: 1000, Body: o.Body, Count: o.Drain},
				Queues:      o.Queues, Order: orderly.ByQueue, Limit: time.Hour,
			})
			if err != nil {
				return r, err
			}
			drains[m] = append(drains[m], got)
		}
	}
	for _, runs := range sends {
		r.Sends = append(r.Sends, middle(runs, func(s SendResult) float64 { return s.PerSecond }))
	}
	for _, runs := range drains {
		r.Drains = append(r.Drains, middle(runs, func(d DrainResult) float64 { return d.PerSecond }))
	}
	t.Async, o.Store.Dir = false, t.Dir
	if r.Store, err = Store(ctx, o.Store); err != nil {
		return r, err
	}
	r.Scale, err = Scale(ctx, t, o.Scale)
	return r, err
}

// middle is the median run.
func middle[R any](runs []R, rate func(R) float64) R {
	slices.SortFunc(runs, func(a, b R) int { return cmp.Compare(rate(a), rate(b)) })
	return runs[len(runs)/2]
}

// Print writes the tables.
func (r AllResult) Print(w io.Writer) {
	t := newTable("disk", "what", "messages/s", "p50", "p99", "max", "raw sync", "order broken", "client CPU", "server CPU", "resident", "ready")
	for _, s := range r.Sends {
		raw := "-"
		if s.RawSyncUS > 0 {
			raw = micros(s.RawSyncUS)
		}
		t.row(s.Server.Disk, s.what(), whole(s.PerSecond), micros(s.Latency.P50), micros(s.Latency.P99), micros(s.Latency.Max), raw,
			s.OutOfOrder, micros(s.ClientCPU), micros(s.Server.CPUPerMessage), mib(s.Server.RSS), fmt.Sprintf("%.0f ms", s.Server.ReadyMS))
	}
	for _, d := range r.Drains {
		t.row(d.Server.Disk, fmt.Sprintf("drain of %d, ordered by %s, first after %.0f ms", d.Received, d.Order, d.FirstMessage*1000),
			whole(d.PerSecond), "-", "-", "-", "-", d.OutOfOrder, micros(d.ClientCPU), micros(d.Server.CPUPerMessage), mib(d.Server.RSS), fmt.Sprintf("%.0f ms", d.Server.ReadyMS))
	}
	t.print(w)
	r.Store.Print(w)
	r.Scale.Print(w)
}
