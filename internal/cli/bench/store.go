// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/orderlymq/orderly/internal/store"
)

// StoreOptions say how the engine is measured. Zero fields mean the defaults.
type StoreOptions struct {
	Dir    string        // temporary data; its disk is measured
	Body   int           // default so that a record has 1 KiB
	Rounds int           // default 7
	Slice  time.Duration // how long a case runs in a round, default 200 ms
	// MaxBytes bounds what a case writes in a round. Default 64 MiB: less than
	// what the system would begin to hold writers back for.
	MaxBytes int64
	// Old is how many bytes of old messages each of the two stores has, for a
	// reader to read beside the callers. Default 512 MiB.
	Old int64
}

func (o StoreOptions) withDefaults() StoreOptions {
	if o.Body == 0 {
		o.Body = recordSize - recordOverhead
	}
	if o.Rounds == 0 {
		o.Rounds = 7
	}
	if o.Slice == 0 {
		o.Slice = 200 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Old == 0 {
		o.Old = 512 << 20
	}
	return o
}

// StoreCase is one way to write, medians over the rounds.
type StoreCase struct {
	Name       string  `json:"name"`
	Disk       string  `json:"disk"`
	Messages   int64   `json:"messages"`
	PerSecond  float64 `json:"per_second"`
	MBPerSec   float64 `json:"mb_per_second"`
	MicrosEach float64 `json:"us_each"`
	Allocs     float64 `json:"allocs_each"`
	Least      float64 `json:"per_second_least"` // of the rounds
	Most       float64 `json:"per_second_most"`
	ReadMB     float64 `json:"read_mb_per_second"` // by a reader beside the callers
}

// StoreRatio compares two cases, by the median of the rounds' ratios.
type StoreRatio struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Aim   string  `json:"aim"`
	Met   bool    `json:"met"`
}

// StoreResult is the engine beside the disk.
type StoreResult struct {
	Record int          `json:"record"` // bytes of a message in the log
	Rounds int          `json:"rounds"`
	Cases  []StoreCase  `json:"cases"`
	Ratios []StoreRatio `json:"ratios"`
}

// slice is what a case did in one round.
type slice struct {
	n      int64
	bytes  int64
	took   time.Duration
	allocs uint64
	read   float64 // bytes a second that a reader took meanwhile
}

func (s slice) perSecond() float64      { return float64(s.n) / s.took.Seconds() }
func (s slice) bytesPerSecond() float64 { return float64(s.bytes) / s.took.Seconds() }

// storeCase runs a slice.
type storeCase struct {
	name, disk string
	run        func(context.Context) (slice, error)
	slices     []slice
}

// Store measures the engine and the disk in turn, round by round.
func Store(ctx context.Context, o StoreOptions) (StoreResult, error) {
	o = o.withDefaults()
	dir, err := os.MkdirTemp(o.Dir, "orderly-bench-")
	if err != nil {
		return StoreResult{}, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir)
	b := &storeBench{StoreOptions: o, dir: dir}
	defer b.close()
	if err := b.open(ctx); err != nil {
		return StoreResult{}, err
	}
	cases := b.cases()
	turn := slices.Clone(cases)
	for round := range o.Rounds + 1 { // the first warms up
		slices.Reverse(turn) // nobody is to follow the same one always
		for _, c := range turn {
			s, err := c.run(ctx)
			if err != nil {
				return StoreResult{}, fmt.Errorf("bench: %s: %w", c.name, err)
			}
			if err := ctx.Err(); err != nil {
				return StoreResult{}, fmt.Errorf("bench: %w", context.Cause(ctx))
			}
			if round > 0 {
				c.slices = append(c.slices, s)
			}
		}
	}
	return b.result(cases), nil
}

type storeBench struct {
	StoreOptions
	dir           string
	raw           *rawFile
	synced, async *store.Store
	record        int
}

func (b *storeBench) open(ctx context.Context) (err error) {
	if b.raw, err = newRawFile(b.dir); err != nil {
		return err
	}
	if b.synced, err = openCold(ctx, filepath.Join(b.dir, "synced"), store.Synced, b.Old); err != nil {
		return err
	}
	b.async, err = openCold(ctx, filepath.Join(b.dir, "async"), store.Async, b.Old)
	return err
}

func (b *storeBench) close() {
	if b.raw != nil {
		b.raw.close()
	}
	for _, s := range []*store.Store{b.synced, b.async} {
		if s != nil {
			_ = s.Close()
		}
	}
}

// Names of the cases that ratios speak of.
const (
	rawWrite   = "raw write of 64 KiB"
	rawSync    = "raw write and fdatasync"
	oneCaller  = "1 caller"
	oneBatch   = "1 caller, batches of 64"
	manyCaller = "64 callers"
	coldCaller = "64 callers beside a reader of old messages"
)

func (b *storeBench) cases() []*storeCase {
	raw := func(write bool) func(context.Context) (slice, error) {
		return func(ctx context.Context) (slice, error) {
			if write {
				const chunk = 64 << 10
				n, took, err := b.raw.writes(ctx, chunk, b.Slice, b.MaxBytes)
				return slice{n: n * chunk / recordSize, bytes: n * chunk, took: took}, err
			}
			n, took, err := b.raw.syncs(ctx, recordSize, b.Slice)
			return slice{n: n, bytes: n * recordSize, took: took}, err
		}
	}
	append := func(s *store.Store, callers, batch int) func(context.Context) (slice, error) {
		return func(ctx context.Context) (slice, error) { return b.append(ctx, s, callers, batch) }
	}
	beside := func(s *store.Store) func(context.Context) (slice, error) {
		r := &coldReader{s: s}
		return func(ctx context.Context) (slice, error) { return b.appendBeside(ctx, r, 64, 1) }
	}
	// The two whose ratio tells what a reader costs follow a light case and a
	// heavy one equally often: what a heavy one leaves to the disk is paid for by
	// the next.
	return []*storeCase{
		{name: rawSync, disk: "synced", run: raw(false)},
		{name: manyCaller, disk: "synced", run: append(b.synced, 64, 1)},
		{name: oneCaller, disk: "synced", run: append(b.synced, 1, 1)},
		{name: coldCaller, disk: "synced", run: beside(b.synced)},
		{name: oneBatch, disk: "synced", run: append(b.synced, 1, 64)},
		{name: rawWrite, disk: "none", run: raw(true)},
		{name: manyCaller, disk: "async", run: append(b.async, 64, 1)},
		{name: oneCaller, disk: "async", run: append(b.async, 1, 1)},
		{name: coldCaller, disk: "async", run: beside(b.async)},
		{name: oneBatch, disk: "async", run: append(b.async, 1, 64)},
	}
}

func (b *storeBench) result(cases []*storeCase) StoreResult {
	r := StoreResult{Record: b.record, Rounds: b.Rounds}
	for _, c := range cases {
		r.Cases = append(r.Cases, c.sum())
	}
	r.Ratios = ratios(cases)
	return r
}

// ratios are what the engine aims at.
func ratios(cases []*storeCase) []StoreRatio {
	find := func(name, disk string) *storeCase {
		return cases[slices.IndexFunc(cases, func(c *storeCase) bool { return c.name == name && c.disk == disk })]
	}
	var out []StoreRatio
	add := func(name string, value float64, aim string, met bool) {
		out = append(out, StoreRatio{name, value, aim, met})
	}
	raw, chunks := find(rawSync, "synced"), find(rawWrite, "none")
	one, many := find(oneCaller, "synced"), find(manyCaller, "synced")
	v := ratio(raw, one, slice.perSecond)
	add("synced, 1 caller: time of an append to that of a raw write and fdatasync", v, "at most 1.5", v <= 1.5)
	v = ratio(many, one, slice.perSecond)
	add("synced, 64 callers to 1: messages a second", v, "at least 20", v >= 20)
	one, many = find(oneCaller, "async"), find(manyCaller, "async")
	v = ratio(many, chunks, slice.bytesPerSecond)
	add("async, 64 callers: bytes a second to raw writes of 64 KiB", v, "at least 0.4, or 350 MB/s", v >= 0.4 || many.sum().MBPerSec >= 350)
	v = ratio(find(oneBatch, "async"), chunks, slice.bytesPerSecond)
	add("async, batches of 64: bytes a second to raw writes of 64 KiB", v, "at least 0.4", v >= 0.4)
	v = one.sum().MicrosEach
	add("async, 1 caller: microseconds a message", v, "below 15", v < 15)
	v = many.sum().Allocs
	add("async, 64 callers: allocations an append", v, "at most 1", v <= 1)
	for _, disk := range []string{"synced", "async"} {
		v = ratio(find(coldCaller, disk), find(manyCaller, disk), slice.perSecond)
		add(disk+", 64 callers beside a reader of old messages to without", v, "above 0.8", v > 0.8)
	}
	return out
}

// sum takes the medians of the rounds.
func (c *storeCase) sum() StoreCase {
	out := StoreCase{Name: c.name, Disk: c.disk}
	rate := make([]float64, len(c.slices))
	mb, allocs, read := slices.Clone(rate), slices.Clone(rate), slices.Clone(rate)
	for i, s := range c.slices {
		out.Messages += s.n
		rate[i], mb[i], read[i] = s.perSecond(), s.bytesPerSecond()/1e6, s.read/1e6
		allocs[i] = float64(s.allocs) / float64(max(s.n, 1))
	}
	out.PerSecond, out.MBPerSec, out.Allocs = round2(median(rate)), round2(median(mb)), round2(median(allocs))
	out.ReadMB = round2(median(read))
	if out.PerSecond > 0 {
		out.MicrosEach = round2(1e6 / out.PerSecond)
	}
	out.Least, out.Most = round2(slices.Min(rate)), round2(slices.Max(rate))
	return out
}

// ratio is the median of a's rate to b's, round by round.
func ratio(a, b *storeCase, rate func(slice) float64) float64 {
	var out []float64
	for i := range a.slices {
		out = append(out, rate(a.slices[i])/rate(b.slices[i]))
	}
	return round2(median(out))
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Print writes the result for people.
func (r StoreResult) Print(w io.Writer) {
	fmt.Fprintf(w, "store: records of %d bytes, medians of %d rounds, all cases in turn\n", r.Record, r.Rounds)
	t := newTable("disk", "case", "messages/s", "MB/s", "us each", "allocs", "least", "most", "MB/s read")
	for _, c := range r.Cases {
		t.row(c.Disk, c.Name, whole(c.PerSecond), whole(c.MBPerSec), c.MicrosEach, c.Allocs, whole(c.Least), whole(c.Most), whole(c.ReadMB))
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

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }
