// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/wire/header"
)

// GroupPolicy is what a group asks of leases and of failed messages. Zero
// fields are the defaults.
type GroupPolicy struct {
	// Grace is how long a member that is not heard keeps its queues, and how long
	// its handlers may take to end; 250 ms to 60 s. Default 1 s.
	Grace time.Duration
	// Lease is how long a silent member whose link stands keeps its queues; at
	// least twice the grace. Default the larger of 10 s and twice the grace.
	Lease time.Duration
	// StockFastRelease frees a stock client's queues 5 s after its link closed. A
	// client that only lost its link may trust its locks for up to 30 s: its
	// handler and the next owner's can overlap then.
	StockFastRelease bool
	// MaxAttempts of a message. With it Orderly's members go by it and by Poison,
	// whatever their own configuration says; 0: as each member is configured.
	MaxAttempts int
	// Backoff are the pauses before attempts 2, 3, ...; the last one repeats.
	// Empty: as each member is configured.
	Backoff []time.Duration
	// Poison is what happens to a message whose attempts are used up: block
	// (default), dead-letter or park.
	Poison string
	// MaxHandlerTime is how long a handler may run on after its context ended; 0:
	// without end.
	MaxHandlerTime time.Duration
	// Overrun is what happens then: keep (default: wait for it) or release (give
	// the queue to others; two handlers may overlap).
	Overrun string
}

// Bounds of a policy.
const (
	minGrace     = 250 * time.Millisecond
	maxGrace     = time.Minute
	defaultGrace = time.Second
	maxLease     = time.Hour
	maxPause     = 24 * time.Hour
	maxBackoffs  = 64
)

// Check reports what is wrong with the policy. A broker makes the same checks.
func (p GroupPolicy) Check() error {
	grace := p.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	switch {
	case grace < minGrace || grace > maxGrace:
		return fmt.Errorf("a grace of %v: use %v to %v", p.Grace, minGrace, maxGrace)
	case p.Lease != 0 && p.Lease < 2*grace:
		return fmt.Errorf("a lease time of %v is less than twice the grace of %v", p.Lease, grace)
	case p.Lease > maxLease:
		return fmt.Errorf("a lease time of %v: use at most %v", p.Lease, maxLease)
	case p.MaxAttempts < 0 || p.MaxAttempts > 1<<30:
		return fmt.Errorf("%d attempts: use 1 and more, or 0 for no end", p.MaxAttempts)
	case len(p.Backoff) > maxBackoffs:
		return fmt.Errorf("%d pauses: use at most %d, the last one repeats", len(p.Backoff), maxBackoffs)
	case p.MaxHandlerTime < 0 || p.MaxHandlerTime > maxPause:
		return fmt.Errorf("a handler time of %v: use up to %v, or 0 for no end", p.MaxHandlerTime, maxPause)
	}
	for _, d := range p.Backoff {
		if d < 0 || d > maxPause {
			return fmt.Errorf("a pause of %v: use up to %v", d, maxPause)
		}
	}
	switch p.Poison {
	case "", "block", "dead-letter", "park":
	default:
		return fmt.Errorf("poison policy %q: use block, dead-letter or park", p.Poison)
	}
	switch p.Overrun {
	case "", "keep", "release":
		return nil
	default:
		return fmt.Errorf("overrun policy %q: use keep or release", p.Overrun)
	}
}

// attributes returns old with the policy in it: what is the default is taken
// out of the group. A stock broker refuses attributes that it does not know, so
// none is named without need.
func (p GroupPolicy) attributes(old map[string]string) map[string]string {
	attrs := maps.Clone(old)
	if attrs == nil {
		attrs = map[string]string{}
	}
	set := func(key, value, usual string) {
		_, had := attrs[key]
		delete(attrs, key)
		if value != usual {
			attrs["+"+key] = value
		} else if had {
			attrs["-"+key] = ""
		}
	}
	set(header.AttrGraceMs, millis(p.Grace), "0")
	set(header.AttrLeaseMs, millis(p.Lease), "0")
	set(header.AttrStockFastRelease, strconv.FormatBool(p.StockFastRelease), "false")
	set(header.AttrMaxAttempts, strconv.Itoa(p.MaxAttempts), "0")
	pauses := make([]string, len(p.Backoff))
	for i, d := range p.Backoff {
		pauses[i] = millis(d)
	}
	set(header.AttrBackoffMs, strings.Join(pauses, ","), "")
	set(header.AttrPoison, p.Poison, "")
	set(header.AttrMaxHandlerMs, millis(p.MaxHandlerTime), "0")
	set(header.AttrOverrun, p.Overrun, "")
	return attrs
}

// policyFrom reads a group's attributes; what cannot be read is left out.
func policyFrom(attrs map[string]string) GroupPolicy {
	ms := func(text string) time.Duration {
		n, _ := strconv.ParseInt(text, 10, 32)
		return time.Duration(n) * time.Millisecond
	}
	p := GroupPolicy{
		Grace: ms(attrs[header.AttrGraceMs]), Lease: ms(attrs[header.AttrLeaseMs]),
		StockFastRelease: attrs[header.AttrStockFastRelease] == "true",
		Poison:           attrs[header.AttrPoison], Overrun: attrs[header.AttrOverrun],
		MaxHandlerTime: ms(attrs[header.AttrMaxHandlerMs]),
	}
	p.MaxAttempts, _ = strconv.Atoi(attrs[header.AttrMaxAttempts])
	if text := attrs[header.AttrBackoffMs]; text != "" {
		for item := range strings.SplitSeq(text, ",") {
			p.Backoff = append(p.Backoff, ms(item))
		}
	}
	return p
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Effective is the policy with its defaults filled in.
func (p GroupPolicy) Effective() GroupPolicy {
	if p.Grace == 0 {
		p.Grace = defaultGrace
	}
	if p.Lease == 0 {
		p.Lease = max(10*time.Second, 2*p.Grace)
	}
	if p.Poison == "" {
		p.Poison = "block"
	}
	if p.Overrun == "" {
		p.Overrun = "keep"
	}
	return p
}

// MarshalJSON writes the effective policy, times as text such as "1.5s".
func (p GroupPolicy) MarshalJSON() ([]byte, error) {
	p = p.Effective()
	pauses := make([]string, len(p.Backoff))
	for i, d := range p.Backoff {
		pauses[i] = d.String()
	}
	return json.Marshal(struct {
		Grace            string   `json:"grace"`
		Lease            string   `json:"lease"`
		StockFastRelease bool     `json:"stock_fast_release"`
		MaxAttempts      int      `json:"max_attempts"`
		Backoff          []string `json:"backoff"`
		Poison           string   `json:"poison"`
		MaxHandlerTime   string   `json:"max_handler_time"`
		Overrun          string   `json:"overrun"`
	}{
		p.Grace.String(), p.Lease.String(), p.StockFastRelease, p.MaxAttempts, pauses, p.Poison,
		p.MaxHandlerTime.String(), p.Overrun,
	})
}
