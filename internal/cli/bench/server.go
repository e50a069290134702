// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/testutil/proc"
)

// Target says which server is measured.
type Target struct {
	// Self is the path of the orderly binary, which is started as a server.
	Self string
	// Namesrv is the name server of a cluster that runs already; nothing is
	// started then, and its process is not looked at. Empty: start a server.
	Namesrv string
	// Dir is where temporary data goes; empty is the system's place. What is
	// measured is its disk.
	Dir string
	// Async acknowledges before the disk has synced.
	Async bool
	// Profile is a file that the started server writes a CPU profile to.
	Profile string
	Logger  *slog.Logger
}

// Mode names the durability in every result.
func (t Target) Mode() string {
	switch {
	case t.Namesrv != "":
		return "as the given server"
	case t.Async:
		return "async"
	}
	return "synced"
}

// Server is what a result says of the server's process. All of it is zero for a
// server that was not started here, and sizes where the system does not tell.
type Server struct {
	Disk          string  `json:"disk"` // durability mode
	ReadyMS       float64 `json:"ready_ms"`
	StartRSS      int64   `json:"rss_start"`
	RSS           int64   `json:"rss"`
	PeakRSS       int64   `json:"rss_peak"`
	CPUPerMessage float64 `json:"cpu_us_per_message"`
}

// Bounds on starting and stopping.
const (
	startLimit = 60 * time.Second
	stopLimit  = 10 * time.Second
)

// server is the server under load.
type server struct {
	t       Target
	dir     string
	proc    *proc.Server // nil: given
	namesrv string
	ready   time.Duration
	start   usage
	client  *orderly.Client
}

// open starts a server with its data in a new directory, or connects to the
// given one.
func (t Target) open(ctx context.Context) (*server, error) {
	s := &server{t: t, namesrv: t.Namesrv}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *server) open(ctx context.Context) (err error) {
	if s.t.Namesrv == "" {
		if s.dir, err = os.MkdirTemp(s.t.Dir, "orderly-bench-"); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	s.client, err = s.connect(ctx, s.t.Logger)
	return err
}

func (s *server) connect(ctx context.Context, log *slog.Logger) (*orderly.Client, error) {
	return orderly.Open(ctx, orderly.Config{NameServers: []string{s.namesrv}, Logger: log})
}

// data is the server's data directory.
func (s *server) data() string { return filepath.Join(s.dir, "data") }

// run starts the process.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	args := []string{"--log-level", "warn"}
	if s.t.Async {
		args = append(args, "--async-disk")
	}
	if s.t.Profile != "" {
		args = append(args, "--cpu-profile", s.t.Profile)
	}
	began := time.Now()
	p, err := proc.StartServer(ctx, s.t.Self, "127.0.0.1:0", "127.0.0.1:0", s.data(), args...)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	s.ready = time.Since(began)
	s.proc, s.namesrv = p, p.Namesrv
	s.start = usageOf(p.PID())
	return nil
}

// stop ends the process as an operator would.
func (s *server) stop() error {
	if s.proc == nil {
		return nil
	}
	err := s.proc.Stop(stopLimit)
	s.proc = nil
	return err
}

// kill ends the process as a crash would.
func (s *server) kill() {
	if s.proc != nil {
		s.proc.Kill()
		s.proc = nil
	}
}

func (s *server) close() error {
	if s.client != nil {
		_ = s.client.Close()
	}
	err := s.stop()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	return err
}

// usage is what the process has used so far.
func (s *server) usage() usage {
	if s.proc == nil {
		return usage{}
	}
	return usageOf(s.proc.PID())
}

// figures sums up what the process has used since before, for n messages.
func (s *server) figures(before usage, n int64) Server {
	f := Server{Disk: s.t.Mode()}
	if s.proc == nil {
		return f
	}
	now := s.usage()
	f.ReadyMS = millis(s.ready)
	f.StartRSS, f.RSS, f.PeakRSS = s.start.rss, now.rss, now.peak
	if n > 0 {
		f.CPUPerMessage = round2(float64((now.cpu - before.cpu).Microseconds()) / float64(n))
	}
	return f
}

// topic creates the topic of a run.
func (s *server) topic(ctx context.Context, name string, queues int, ordered bool) error {
	a, err := admin.Open(ctx, admin.Config{NameServers: []string{s.namesrv}, Logger: s.t.Logger})
	if err != nil {
		return err
	}
	defer a.Close()
	return a.CreateTopic(ctx, admin.Topic{Name: name, Queues: queues, Ordered: ordered})
}

func millis(d time.Duration) float64 { return round2(float64(d.Microseconds()) / 1000) }

// round2 keeps two decimals.
func round2(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }
