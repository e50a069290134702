// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/orderlymq/orderly/bench/load"
)

// SendOptions say how a server is sent to.
type SendOptions struct {
	load.SendOptions
	Queues int
}

// SendResult is what came of it.
type SendResult struct {
	Senders  int `json:"senders"`
	InFlight int `json:"in_flight"`
	Keys     int `json:"keys"`
	Body     int `json:"body"`
	Queues   int `json:"queues"`
	load.SendResult
	// RawSyncUS is a write of the body and an fdatasync of the same disk, just
	// before and just after the run, in the middle; 0 if nothing waits for it.
	RawSyncUS float64 `json:"raw_sync_us"`
	ClientCPU float64 `json:"client_cpu_us_per_message"` // of this process
	Server    Server  `json:"server"`
}

// Send runs one benchmark of sending.
func Send(ctx context.Context, t Target, o SendOptions) (r SendResult, err error) {
	s, err := t.open(ctx)
	if err != nil {
		return r, err
	}
	defer s.closeInto(&err)
	return s.send(ctx, o)
}

func (s *server) closeInto(err *error) {
	if closeErr := s.close(); *err == nil {
		*err = closeErr
	}
}

// send creates the topic and sends to it.
func (s *server) send(ctx context.Context, o SendOptions) (SendResult, error) {
	if err := s.topic(ctx, o.Topic, o.Queues, o.Keys > 0); err != nil {
		return SendResult{}, err
	}
	raw, err := s.rawSync(ctx, o.Body)
	if err != nil {
		return SendResult{}, err
	}
	before, own := s.usage(), usageOf(os.Getpid())
	sent, err := load.Send(ctx, s.client, o.SendOptions)
	if err != nil {
		return SendResult{}, err
	}
	r := SendResult{
		Senders: o.Senders, InFlight: max(o.InFlight, 1), Keys: o.Keys, Body: o.Body, Queues: o.Queues,
		SendResult: sent, ClientCPU: own.since(sent.Messages), Server: s.figures(before, sent.Messages),
	}
	after, err := s.rawSync(ctx, o.Body)
	r.RawSyncUS = round2((raw + after) / 2)
	return r, err
}

// probeTime is how long the disk is measured before and after a run.
const probeTime = 150 * time.Millisecond

// rawSync measures the disk that the server's sends wait for.
func (s *server) rawSync(ctx context.Context, size int) (float64, error) {
	if s.dir == "" || s.t.Async {
		return 0, nil
	}
	f, err := newRawFile(s.dir)
	if err != nil {
		return 0, err
	}
	defer f.close()
	n, took, err := f.syncs(ctx, size, probeTime)
	if err != nil || n == 0 {
		return 0, err
	}
	return float64(took.Microseconds()) / float64(n), nil
}

// Print writes the result for people.
func (r SendResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.title())
	fmt.Fprintf(w, "  %.0f messages/s (%d in %.1f s, %d failed), p50 %s, p99 %s, max %s\n", r.PerSecond, r.Messages, r.Seconds, r.Failed,
		micros(r.Latency.P50), micros(r.Latency.P99), micros(r.Latency.Max))
	if r.Keys > 0 {
		fmt.Fprintf(w, "  stored out of the order of a key: %d\n", r.OutOfOrder)
	}
	if r.RawSyncUS > 0 {
		fmt.Fprintf(w, "  raw write and fdatasync of the same disk: %s\n", micros(r.RawSyncUS))
	}
	printClient(w, r.ClientCPU)
	r.Server.print(w)
}

func printClient(w io.Writer, cpu float64) {
	if cpu > 0 {
		fmt.Fprintf(w, "  client: CPU %.1f us a message\n", cpu)
	}
}

func (r SendResult) title() string {
	return fmt.Sprintf("send: %s, %d bytes, %d queues, disk %s", r.what(), r.Body, r.Queues, r.Server.Disk)
}

// what says how was sent.
func (r SendResult) what() string {
	who := fmt.Sprintf("%d senders", r.Senders)
	if r.Senders == 1 {
		who = "1 sender"
	}
	keys := "no keys"
	if r.Keys > 0 {
		keys = fmt.Sprintf("%d keys", r.Keys)
	}
	if r.InFlight > 1 {
		return fmt.Sprintf("%s, %d in flight each, %s", who, r.InFlight, keys)
	}
	return fmt.Sprintf("%s, synchronous, %s", who, keys)
}

func (f Server) print(w io.Writer) {
	if f.ReadyMS == 0 {
		return
	}
	fmt.Fprintf(w, "  server: ready after %.0f ms, memory %s at the start, %s at the end (peak %s), CPU %.1f us a message\n",
		f.ReadyMS, mib(f.StartRSS), mib(f.RSS), mib(f.PeakRSS), f.CPUPerMessage)
}

// micros shows microseconds in a unit that keeps them short.
func micros(us float64) string {
	if us < 1000 {
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.2f ms", us/1000)
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
