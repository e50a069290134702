// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/orderlymq/orderly/bench/load"
)

// ScaleOptions say how wide and how deep a server is filled.
type ScaleOptions struct {
	Topics   int   // with a group each
	Queues   int   // of each topic
	Messages int64 // in one queue
	Body     int   // bytes of each of these messages
}

// ScaleResult is both.
type ScaleResult struct {
	Wide WideResult `json:"wide"`
	Deep DeepResult `json:"deep"`
}

// WideResult is a server with many queues, each with a message and a position
// of a group, and nothing going on.
type WideResult struct {
	Disk   string `json:"disk"`
	Topics int    `json:"topics"`
	Groups int    `json:"groups"`
	Queues int    `json:"queues"`
	// Setup is how long it took to create topics and groups, and to send a
	// message to each queue and commit it.
	CreateSeconds float64 `json:"create_seconds"`
	FillSeconds   float64 `json:"fill_seconds"`
	// Empty is a server without topics, Filled the one that was filled, and
	// Restarted the same after a clean stop and a start.
	Empty     Process `json:"empty"`
	Filled    Process `json:"filled"`
	Restarted Process `json:"restarted"`
	Killed    Process `json:"killed"` // after a SIGKILL and a start
	// HeapPerQueue is live memory after a collection, as measured in one
	// process with and without the queues; RSSPerQueue is the difference of
	// resident memory of the processes Restarted and Empty.
	HeapPerQueue float64 `json:"heap_bytes_per_queue"`
	RSSPerQueue  float64 `json:"rss_bytes_per_queue"`
}

// Process is what a server process takes once it serves.
type Process struct {
	ReadyMS float64 `json:"ready_ms"`
	RSS     int64   `json:"rss"`
	Files   int     `json:"open_files"`
}

func (s *server) process() Process {
	u := s.usage()
	return Process{ReadyMS: millis(s.ready), RSS: u.rss, Files: u.files}
}

// DeepResult is one queue with many messages.
type DeepResult struct {
	Disk      string      `json:"disk"` // of the filling
	Messages  int64       `json:"messages"`
	LogBytes  int64       `json:"log_bytes"`
	PerSecond float64     `json:"fill_per_second"`
	Points    []DeepPoint `json:"points"`
	OpenMS    float64     `json:"open_clean_ms"` // of the engine, after a clean stop
	Clean     Process     `json:"clean"`         // a server on it, after a clean stop
	Killed    Process     `json:"killed"`        // after a SIGKILL under load
}

// DeepPoint is what reads cost at a depth.
type DeepPoint struct {
	Messages int64        `json:"messages"`
	Heap     int64        `json:"heap"` // live bytes of the engine
	Read     load.Summary `json:"read"` // of 32 messages at a random offset
}

// Scale measures both.
func Scale(ctx context.Context, t Target, o ScaleOptions) (r ScaleResult, err error) {
	if r.Wide, err = wide(ctx, t, o); err != nil {
		return r, err
	}
	r.Deep, err = deep(ctx, t, o)
	return r, err
}

// liveHeap is what is left after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Print writes the result for people.
func (r ScaleResult) Print(w io.Writer) {
	x := r.Wide
	fmt.Fprintf(w, "wide: %d queues of %d topics, %d groups, a message and a position each; disk %s\n", x.Queues, x.Topics, x.Groups, x.Disk)
	fmt.Fprintf(w, "  created in %.1f s, filled in %.1f s\n", x.CreateSeconds, x.FillSeconds)
	fmt.Fprintf(w, "  memory of an idle queue: %.0f bytes live, %.0f bytes resident\n", x.HeapPerQueue, x.RSSPerQueue)
	t := newTable("server", "ready ms", "resident", "open files")
	for _, p := range []struct {
		name string
		p    Process
	}{
		{"empty", x.Empty},
		{"filled", x.Filled},
		{"restarted", x.Restarted},
		{"after SIGKILL", x.Killed},
		{"deep", r.Deep.Clean},
		{"deep, SIGKILL under load", r.Deep.Killed},
	} {
		t.row(p.name, p.p.ReadyMS, mib(p.p.RSS), p.p.Files)
	}
	d := r.Deep
	fmt.Fprintf(w, "deep: %d messages in one queue, %s, stored at %.0f/s; engine opens in %.0f ms after a clean stop; disk %s\n",
		d.Messages, mib(d.LogBytes), d.PerSecond, d.OpenMS, d.Disk)
	t.print(w)
	t = newTable("messages", "live memory", "pull of 32, p50", "p99")
	for _, p := range d.Points {
		t.row(p.Messages, mib(p.Heap), micros(p.Read.P50), micros(p.Read.P99))
	}
	t.print(w)
}

// since is the seconds since t.
func since(t time.Time) float64 { return round2(time.Since(t).Seconds()) }
