// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/cli/bench"
)

// benchmark runs a benchmark to its end and reads its JSON.
func benchmark(t *testing.T, v any, args ...string) {
	t.Helper()
	stdout, stderr, err := run(t, append([]string{"bench"}, append(args, "--json", "--log-level", "warn", "--limit", "2m")...)...)
	if err != nil {
		t.Fatalf("bench %v: %v\n%s", args, err, stderr)
	}
	if stderr != "" {
		t.Errorf("bench %v says on stderr: %s", args, stderr)
	}
	m := struct {
		Machine bench.Machine `json:"machine"`
		Result  any           `json:"result"`
	}{Result: v}
	if err := json.Unmarshal([]byte(stdout), &m); err != nil {
		t.Fatalf("bench %v: %v\n%s", args, err, stdout)
	}
	if m.Machine.CPUs == 0 || m.Machine.Go == "" || m.Machine.Date == "" {
		t.Errorf("machine %+v", m.Machine)
	}
}

func checkSent(t *testing.T, r bench.SendResult, disk string) {
	t.Helper()
	if r.Messages == 0 || r.Failed != 0 || r.OutOfOrder != 0 || r.PerSecond <= 0 || r.Latency.P99 < r.Latency.P50 || r.Latency.P50 <= 0 {
		t.Errorf("sent: %+v", r)
	}
	checkServer(t, r.Server, disk)
	if (r.RawSyncUS > 0) != (disk == "synced") {
		t.Errorf("raw sync of %v us on a %s disk", r.RawSyncUS, disk)
	}
}

// checkServer holds where the system tells of processes.
func checkServer(t *testing.T, s bench.Server, disk string) {
	t.Helper()
	_, err := os.Stat("/proc/self/status")
	if s.Disk != disk || s.ReadyMS <= 0 || err == nil && (s.RSS <= 0 || s.PeakRSS < s.RSS || s.StartRSS <= 0) {
		t.Errorf("server: %+v", s)
	}
}

func TestBenchSend(t *testing.T) {
	t.Parallel()
	var r bench.SendResult
	benchmark(t, &r, "send", "--senders", "4", "--keys", "8", "--count", "500", "--dir", t.TempDir())
	checkSent(t, r, "synced")
	if r.Messages != 500 || r.Senders != 4 || r.Keys != 8 || r.InFlight != 1 {
		t.Errorf("%+v", r)
	}
}

// TestBenchOfAGivenServer measures one that runs already, and leaves it alone.
func TestBenchOfAGivenServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir())
	var r bench.SendResult
	benchmark(t, &r, "send", "-n", s.namesrv, "--in-flight", "16", "--keys", "0", "--count", "500")
	if r.Messages != 500 || r.Failed != 0 || r.Server != (bench.Server{Disk: "as the given server"}) {
		t.Errorf("%+v", r)
	}
	s.terminate()
}

func TestBenchDrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var r bench.DrainResult
	benchmark(t, &r, "drain", "--count", "2000", "--order", "key", "--async-disk", "--dir", dir)
	if r.Received != 2000 || r.Missing != 0 || r.OutOfOrder != 0 || r.PerSecond <= 0 || r.Order != "key" {
		t.Errorf("%+v", r)
	}
	checkServer(t, r.Server, "async")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBenchOrders drains a little in every order, and beside a stuck key.
func TestBenchOrders(t *testing.T) {
	t.Parallel()
	var r bench.OrdersResult
	benchmark(t, &r, "orders", "--count", "10000", "--behind", "40000", "--body", "100", "--rounds", "1", "--dir", t.TempDir())
	if len(r.Cases) != 7 || len(r.Ratios) != 4 {
		t.Fatalf("%+v", r)
	}
	for _, c := range r.Cases {
		if c.Wrong != 0 || c.PerSecond <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

// TestBenchAll runs all of them for a moment.
func TestBenchAll(t *testing.T) {
	t.Parallel()
	var r bench.AllResult
	benchmark(t, &r, "all", "--repeat", "1", "--duration", "30ms", "--drain", "500", "--rounds", "1", "--slice", "5ms",
		"--topics", "3", "--topic-queues", "2", "--messages", "2000", "--dir", t.TempDir())
	if len(r.Sends) != 8 || len(r.Drains) != 2 || len(r.Store.Cases) == 0 {
		t.Fatalf("%+v", r)
	}
	for i, s := range r.Sends {
		checkSent(t, s, []string{"synced", "async"}[i/4])
	}
	for _, d := range r.Drains {
		if d.Received != 500 || d.OutOfOrder != 0 {
			t.Errorf("%+v", d)
		}
	}
	w, d := r.Scale.Wide, r.Scale.Deep
	// Memory per queue is noise with six of them.
	if w.Queues != 6 || w.Restarted.ReadyMS <= 0 || w.Killed.ReadyMS <= 0 {
		t.Errorf("wide: %+v", w)
	}
	if d.Messages != 2000 || d.LogBytes <= 0 || len(d.Points) != 4 || d.Points[3].Messages != 2000 || d.Points[3].Read.P50 <= 0 || d.Clean.ReadyMS <= 0 || d.Killed.ReadyMS <= 0 {
		t.Errorf("deep: %+v", d)
	}
}

// TestBenchSaysWhatIsWrong ends with 1 and a sentence, at once.
func TestBenchSaysWhatIsWrong(t *testing.T) {
	for want, args := range map[string][]string{
		"--senders":   {"send", "--senders", "0"},
		"keys":        {"send", "--senders", "9", "--keys", "3", "--count", "1"},
		"order":       {"drain", "--order", "sometimes"},
		"machine":     {"send", "-n", "192.0.2.1:9876"},
		"--limit":     {"send", "--limit", "1ms"},
		"--messages":  {"scale", "--messages", "1"},
		"--repeat":    {"all", "--repeat", "0"},
		"no such fil": {"store", "--dir", t.TempDir() + "/none"},
	} {
		stdout, stderr, err := run(t, append([]string{"bench"}, args...)...)
		if err == nil || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("bench %v: %v\n%s%s", args, err, stdout, stderr)
		}
	}
}

func TestCPUProfile(t *testing.T) {
	file := t.TempDir() + "/cpu"
	if _, stderr, err := run(t, "version", "--cpu-profile", file); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if st, err := os.Stat(file); err != nil || st.Size() == 0 {
		t.Errorf("%v, %v", st, err)
	}
	if _, stderr, err := run(t, "version", "--cpu-profile", file+"/none"); err == nil || !strings.Contains(stderr, "--cpu-profile") {
		t.Errorf("%v\n%s", err, stderr)
	}
}
