// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/bench/load"
)

// OrdersOptions say how much is drained.
type OrdersOptions struct {
	Count  int64 // with an empty handler
	Behind int64 // beside a stuck key
	Body   int
	Rounds int
}

// OrdersCase is one way to consume, medians over the rounds.
type OrdersCase struct {
	Name      string  `json:"name"`
	Queues    int     `json:"queues"`
	Keys      int     `json:"keys"`
	Workers   int     `json:"workers"`
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_second"`
	CPU       float64 `json:"client_cpu_us_per_message"`
	HeapHalf  float64 `json:"heap_half_mib"`
	HeapEnd   float64 `json:"heap_end_mib"`
	Wrong     int64   `json:"wrong"` // missing, repeated or, where there is order, out of it
	rates     []float64
	drain     DrainOptions
}

// OrdersResult compares them.
type OrdersResult struct {
	Cases  []*OrdersCase `json:"cases"`
	Ratios []StoreRatio  `json:"ratios"`
}

// Names of the cases.
const (
	byQueueEmpty = "by queue, empty handler"
	byKeyEmpty   = "by key, empty handler"
	noneEmpty    = "without order, empty handler"
	byQueueWork  = "by queue, handler of 1 ms"
	byKeyWork    = "by key, handler of 1 ms"
	keyFree      = "by key, none stuck"
	keyStuck     = "by key, one stuck"
)

const laneWorkers = 64

func ordersCases(o OrdersOptions) []*OrdersCase {
	add := func(name string, d DrainOptions) *OrdersCase {
		d.Limit = 10 * time.Minute
		return &OrdersCase{Name: name, Queues: d.Queues, Keys: d.Keys, Workers: d.Workers, Count: d.Count, drain: d}
	}
	fill := func(keys int, count int64, body int) load.FillOptions {
		return load.FillOptions{Keys: keys, Count: count, Body: body}
	}
	return []*OrdersCase{
		add(byQueueEmpty, DrainOptions{FillOptions: fill(1000, o.Count, o.Body), Queues: 8, Order: orderly.ByQueue}),
		add(byKeyEmpty, DrainOptions{FillOptions: fill(1000, o.Count, o.Body), Queues: 8, Order: orderly.ByKey, Workers: laneWorkers}),
		add(noneEmpty, DrainOptions{FillOptions: fill(1000, o.Count, o.Body), Queues: 8, Order: orderly.Unordered, Workers: laneWorkers}),
		add(byQueueWork, DrainOptions{FillOptions: fill(1000, o.Count/50, o.Body), Queues: 1, Order: orderly.ByQueue, Work: time.Millisecond}),
		add(byKeyWork, DrainOptions{FillOptions: fill(1000, o.Count/2, o.Body), Queues: 1, Order: orderly.ByKey, Workers: laneWorkers, Work: time.Millisecond}),
		add(keyFree, DrainOptions{FillOptions: fill(10_000, o.Behind, 100), Queues: 1, Order: orderly.ByKey, Workers: laneWorkers}),
		add(keyStuck, DrainOptions{FillOptions: fill(10_000, o.Behind, 100), Queues: 1, Order: orderly.ByKey, Workers: laneWorkers, Stuck: true}),
	}
}

// Orders drains with each order in turn, round by round, each with a server of
// its own.
func Orders(ctx context.Context, t Target, o OrdersOptions) (OrdersResult, error) {
	t.Async = true // what is consumed is stored before
	cases := ordersCases(o)
	for round := range o.Rounds {
		for i, c := range cases {
			d := c.drain
			d.Topic = fmt.Sprintf("orders-%d-%d", round, i)
			got, err := Drain(ctx, t, d)
			if err != nil {
				return OrdersResult{}, fmt.Errorf("%s: %w", c.Name, err)
			}
			c.take(&got)
		}
	}
	r := OrdersResult{Cases: cases}
	for _, c := range cases {
		c.PerSecond = round2(median(c.rates))
	}
	r.ratio(byKeyEmpty, byQueueEmpty, "at least 0.8", func(v float64) bool { return v >= 0.8 })
	r.ratio(noneEmpty, byQueueEmpty, "none", func(float64) bool { return true })
	r.ratio(byKeyWork, byQueueWork, "at least 30", func(v float64) bool { return v >= 30 })
	r.ratio(keyStuck, keyFree, "at least 0.9", func(v float64) bool { return v >= 0.9 })
	return r, nil
}

func (c *OrdersCase) take(d *DrainResult) {
	c.rates = append(c.rates, d.PerSecond)
	c.CPU, c.HeapHalf, c.HeapEnd = d.ClientCPU, d.HeapHalf, d.HeapEnd
	c.Wrong += d.Missing + d.Repeated
	if c.drain.Order != orderly.Unordered {
		c.Wrong += d.OutOfOrder
	}
}

// ratio is the median of a's rate to b's, round by round.
func (r *OrdersResult) ratio(a, b, aim string, met func(float64) bool) {
	find := func(name string) *OrdersCase {
		for _, c := range r.Cases {
			if c.Name == name {
				return c
			}
		}
		return nil
	}
	x, y := find(a), find(b)
	var all []float64
	for i := range x.rates {
		if y.rates[i] > 0 {
			all = append(all, x.rates[i]/y.rates[i])
		}
	}
	v := round2(median(all))
	r.Ratios = append(r.Ratios, StoreRatio{Name: a + " to " + b, Value: v, Aim: aim, Met: met(v)})
}

// Print writes the result for people.
func (r OrdersResult) Print(w io.Writer) {
	fmt.Fprintln(w, "one consumer, medians of the rounds, all cases in turn; memory of the last round")
	t := newTable("case", "queues", "keys", "workers", "messages", "messages/s", "client cpu", "heap at half", "heap at end", "wrong")
	for _, c := range r.Cases {
		workers := "-"
		if c.Workers > 0 {
			workers = fmt.Sprint(c.Workers)
		}
		t.row(c.Name, c.Queues, c.Keys, workers, c.Count, whole(c.PerSecond), fmt.Sprintf("%.1f us", c.CPU),
			fmt.Sprintf("%.1f MiB", c.HeapHalf), fmt.Sprintf("%.1f MiB", c.HeapEnd), c.Wrong)
	}
	t.print(w)
	t = newTable("ratio", "value", "aim", "met")
	for _, x := range r.Ratios {
		met := "yes"
		if !x.Met {
			met = "NO"
		}
		t.row(x.Name, x.Value, x.Aim, met)
	}
	t.print(w)
}
