// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// The topic and group that the demo uses in its own throw-away server.
const (
	topic = "orders"
	group = "order-desk"
)

// Fault is a lie that one consumer is told to live, to show that the proof
// notices.
type Fault string

// The faults.
const (
	NoFault Fault = ""
	Drop    Fault = "drop"    // a message is acknowledged and not handled
	Swap    Fault = "swap"    // two messages of an order are handled in the wrong order
	Double  Fault = "double"  // a message is handled twice
	Overlap Fault = "overlap" // two calls for one order run at once
)

// Options says how large the demo is and what goes wrong in it. Zero fields
// mean the defaults.
type Options struct {
	// Self is the path of the orderly binary, which is started again for
	// server and consumers. Required.
	Self string
	// Messages in all. Default 5,000.
	Messages int
	// Orders they belong to. Default 200.
	Orders int
	// Queues of the topic. Default 8.
	Queues int
	// Rate of sending, messages a second. Default 800.
	Rate int
	// KillBroker also kills the server half way and starts it again.
	KillBroker bool
	// Fault makes one consumer misbehave.
	Fault Fault
	// Quiet is how long nothing may happen after the last send before what is
	// missing counts as lost. Default 15 s.
	Quiet time.Duration
	// Progress gets the live view; nil shows none.
	Progress io.Writer
	// Logger gets what happens; nil discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Messages, 5000)
	set(&o.Orders, 200)
	set(&o.Queues, 8)
	set(&o.Rate, 800)
	if o.Quiet == 0 {
		o.Quiet = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Self == "":
		return o, fmt.Errorf("demo: the path of the orderly binary is not known")
	case o.Messages < 1 || o.Orders < 1 || o.Queues < 1 || o.Rate < 1:
		return o, fmt.Errorf("demo: messages, orders, queues and rate must be at least 1")
	case o.Orders > o.Messages:
		return o, fmt.Errorf("demo: %d orders need at least as many messages, not %d", o.Orders, o.Messages)
	}
	switch o.Fault {
	case NoFault, Drop, Swap, Double, Overlap:
		return o, nil
	}
	return o, fmt.Errorf("demo: unknown fault %q: use drop, swap, double or overlap", o.Fault)
}
