// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/admin"
)

func TestServerServesAndEndsWithinTwoSeconds(t *testing.T) {
	s := startServer(t, t.TempDir())
	if out, stderr, err := run(t, "topic", "create", "orders", "-n", s.namesrv); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr)
	}
	if took := s.terminate(); took > 2*time.Second {
		t.Errorf("SIGTERM took %v", took)
	}
}

// TestSendAndConsumeFromTheTerminal is the README's session.
func TestSendAndConsumeFromTheTerminal(t *testing.T) {
	s := startServer(t, t.TempDir())
	command := func(stdin string, args ...string) string {
		t.Helper()
		out, stderr, err := runWith(t, stdin, append(args, "-n", s.namesrv)...)
		if err != nil {
			t.Fatalf("orderly %v: %v\n%s%s", args, err, out, stderr)
		}
		return out
	}
	command("", "topic", "create", "orders", "--queues", "4")
	command("", "send", "orders", "--key", "order-42", "--tag", "step", "created", "paid")
	command("packed\nshipped\n", "send", "orders", "--key", "order-42")
	got := command("", "consume", "orders", "--group", "billing", "--count", "4")
	last := -1
	for _, body := range []string{"created", "paid", "packed", "shipped"} {
		at := strings.Index(got, body)
		if at <= last {
			t.Errorf("%s is not in its place:\n%s", body, got)
		}
		last = at
	}
	var info struct {
		QueueList []struct {
			Max int64 `json:"max_offset"`
		} `json:"queue_list"`
		Ordered bool `json:"ordered"`
	}
	if err := json.Unmarshal([]byte(command("", "topic", "show", "orders", "--json")), &info); err != nil {
		t.Fatal(err)
	}
	var stored int64
	for _, q := range info.QueueList {
		stored += q.Max
	}
	if len(info.QueueList) != 4 || stored != 4 || !info.Ordered {
		t.Errorf("topic show: %+v", info)
	}
	var group struct {
		Ordered bool `json:"ordered"`
		Queues  []struct {
			Committed int64 `json:"committed"`
			Lag       int64 `json:"lag"`
		} `json:"queues"`
	}
	if err := json.Unmarshal([]byte(command("", "group", "show", "billing", "--json")), &group); err != nil {
		t.Fatal(err)
	}
	var committed, lag int64
	for _, q := range group.Queues {
		committed, lag = committed+q.Committed, lag+q.Lag
	}
	if committed != 4 || lag != 0 || !group.Ordered {
		t.Errorf("group show: %+v", group)
	}
	for _, list := range [][]string{{"topic", "list"}, {"group", "list"}} {
		if out := command("", list...); !strings.Contains(out, map[string]string{"topic": "orders", "group": "billing"}[list[0]]) {
			t.Errorf("orderly %v:\n%s", list, out)
		}
	}
}

// TestServerKeepsAcknowledgedMessagesOverSIGKILL kills and restarts it, with
// the same data, between sends.
func TestServerKeepsAcknowledgedMessagesOverSIGKILL(t *testing.T) {
	data := t.TempDir()
	var want []string
	for round := range 3 {
		s := startServer(t, data)
		if round == 0 {
			if _, stderr, err := run(t, "topic", "create", "orders", "-n", s.namesrv); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
		}
		body := fmt.Sprintf("round-%d", round)
		if _, stderr, err := run(t, "send", "orders", "--key", "k", body, body+"b", "-n", s.namesrv); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		want = append(want, body, body+"b")
		s.kill()
	}
	s := startServer(t, data)
	out, stderr, err := run(t, "consume", "orders", "--group", "g", "--count", fmt.Sprint(len(want)), "-n", s.namesrv)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var got []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		got = append(got, f[len(f)-1])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestNamesrvAndBrokerApart runs them as two processes.
func TestNamesrvAndBrokerApart(t *testing.T) {
	n, line := launch(t, "namesrv", "--namesrv-addr", "127.0.0.1:0", "--data", t.TempDir())
	_, addr, ok := strings.Cut(line, "namesrv=")
	if !ok {
		t.Fatalf("no ready line: %q\n%s", line, n.stderr)
	}
	addr = strings.Fields(addr)[0]
	b, line := launch(t, "broker", "--broker-addr", "127.0.0.1:0", "--namesrv", addr, "--data", t.TempDir())
	if !strings.HasPrefix(line, "orderly ready broker=") {
		t.Fatalf("no ready line: %q\n%s", line, b.stderr)
	}
	if _, stderr, err := run(t, "topic", "create", "orders", "-n", addr); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if _, stderr, err := run(t, "send", "orders", "-k", "k", "hello", "-n", addr); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
}

// TestBadStartsAreRefusedClearly: each names the cause and the way out, and
// nothing listens afterwards.
func TestBadStartsAreRefusedClearly(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := t.TempDir()
	startServer(t, busy)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--namesrv-addr", "127.0.0.1:0", "--broker-addr", "127.0.0.1:0"}
	tests := map[string]struct {
		args []string
		want []string
	}{
		"port in use":               {[]string{"--namesrv-addr", "127.0.0.1:0", "--broker-addr", taken.Addr().String(), "--data", t.TempDir()}, []string{taken.Addr().String(), "in use"}},
		"name server's port in use": {[]string{"--broker-addr", "127.0.0.1:0", "--namesrv-addr", taken.Addr().String(), "--data", t.TempDir()}, []string{taken.Addr().String(), "in use"}},
		"data directory in use":     {append(free, "--data", busy), []string{busy, "another"}},
		"data directory is a file":  {append(free, "--data", file), []string{file}},
		"not loopback":              {[]string{"--broker-addr", "0.0.0.0:0", "--namesrv-addr", "127.0.0.1:0", "--data", t.TempDir()}, []string{"0.0.0.0:0", "--public"}},
		"no address":                {[]string{"--broker-addr", "here", "--data", t.TempDir()}, []string{"here", "HOST:PORT"}},
		"absurd port":               {[]string{"--broker-addr", "127.0.0.1:99999", "--data", t.TempDir()}, []string{"65535"}},
		"unknown flag":              {[]string{"--dta", "x"}, []string{"--dta"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, line := launch(t, append([]string{"server"}, tt.args...)...)
			if line != "" {
				t.Fatalf("it started: %s", line)
			}
			if err := s.cmd.Wait(); err == nil {
				t.Error("exit status 0")
			}
			for _, want := range tt.want {
				if !strings.Contains(s.stderr.String(), want) {
					t.Errorf("the error does not say %q:\n%s", want, s.stderr)
				}
			}
		})
	}
}

// TestCommandsSayWhenNobodyIsThere points at a port where nothing listens.
func TestCommandsSayWhenNobodyIsThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	for _, args := range [][]string{{"topic", "list"}, {"group", "list"}, {"health"}, {"send", "orders", "-k", "k", "x"}, {"consume", "orders"}} {
		_, stderr, err := run(t, append(args, "-n", addr)...)
		if err == nil || !strings.Contains(stderr, addr) {
			t.Errorf("orderly %v: %v, and the error does not name %s:\n%s", args, err, addr, stderr)
		}
	}
}

// TestHealthTellsOfAFencedLog takes the log's file away from a running server.
func TestHealthTellsOfAFencedLog(t *testing.T) {
	data := t.TempDir()
	s := startServer(t, data)
	var brokers []admin.BrokerHealth
	if status := decode(t, &brokers, "health", "-n", s.namesrv, "--json"); status != 0 || len(brokers) != 1 {
		t.Fatalf("status %d: %+v", status, brokers)
	}
	if h := brokers[0]; !h.OK || h.Messages != "open" || h.State != "healthy" || len(h.Problems) != 0 || h.Disk <= 0 {
		t.Errorf("%+v", h)
	}
	if err := os.Remove(filepath.Join(data, "store", "commitlog", fmt.Sprintf("%020d", 0))); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		status := decode(t, &brokers, "health", "-n", s.namesrv, "--json")
		if status != 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("healthy without its log")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if h := brokers[0]; h.OK || h.Messages != "fenced" || h.State != "healthy" || len(h.Problems) == 0 {
		t.Errorf("%+v", h)
	}
	status, out, stderr := here(t, "health", "-n", s.namesrv)
	if status != 1 || !strings.Contains(out, "was removed under the running store") || !strings.Contains(stderr, "see above") {
		t.Errorf("status %d\n%s%s", status, out, stderr)
	}
}
