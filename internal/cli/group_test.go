// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/admin"
)

// TestGroupCommands creates, changes, resets and deletes a group.
func TestGroupCommands(t *testing.T) {
	s := startServer(t, t.TempDir())
	command := func(args ...string) string {
		t.Helper()
		out, stderr, err := run(t, append(args, "-n", s.namesrv)...)
		if err != nil {
			t.Fatalf("orderly %v: %v\n%s", args, err, stderr)
		}
		return out
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if out, stderr, err := run(t, append(args, "-n", s.namesrv)...); err == nil || !strings.Contains(stderr, want) {
			t.Errorf("orderly %v: %v, want %q\n%s%s", args, err, want, out, stderr)
		}
	}
	command("topic", "create", "orders", "--queues", "2")
	command("send", "orders", "--key", "k", "a", "b", "c")
	command("group", "create", "billing", "--grace", "2s", "--max-attempts", "3", "--poison", "dead-letter", "--backoff", "100ms,1s")
	refused("there already", "group", "create", "billing")
	command("group", "set", "billing", "--lease", "8s", "--stock-fast-release")
	refused("less than twice the grace of 2s", "group", "set", "billing", "--lease", "3s")
	refused("250ms to 1m", "group", "set", "billing", "--grace", "100ms")
	refused("group not found", "group", "set", "unknown", "--grace", "1s")
	shown := command("group", "show", "billing")
	for _, want := range []string{"grace: 2s", "lease: 8s", "stock fast release: yes", "max attempts: 3", "poison: dead-letter", "back-off: 100ms,1s"} {
		if !strings.Contains(shown, want) {
			t.Errorf("group show lacks %q:\n%s", want, shown)
		}
	}
	command("group", "set", "billing", "--lease", "0", "--poison", "")
	if shown = command("group", "show", "billing"); !strings.Contains(shown, "lease: 10s") || !strings.Contains(shown, "poison: block") || !strings.Contains(shown, "grace: 2s") {
		t.Errorf("after two settings were taken back:\n%s", shown)
	}

	command("consume", "orders", "--group", "billing", "--count", "3")
	var list []admin.QueueReset
	if err := json.Unmarshal([]byte(command("group", "reset", "billing", "orders", "--to", "first", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	var from, to int64
	for _, q := range list {
		from, to = from+q.From, to+q.To
	}
	if len(list) != 2 || from != 3 || to != 0 {
		t.Errorf("reset: %+v", list)
	}
	if out := command("consume", "orders", "--group", "billing", "--count", "3"); !strings.Contains(out, "a") || !strings.Contains(out, "c") {
		t.Errorf("consumed again:\n%s", out)
	}
	if !strings.Contains(command("group", "show", "billing"), "free") {
		t.Error("group show says nothing of free queues")
	}
	refused("not in consume queue range", "group", "reset", "billing", "orders", "--queue", "0", "--offset", "99")
	refused("name the queue", "group", "reset", "billing", "orders", "--offset", "1")
	refused("give one of", "group", "reset", "billing", "orders")
	refused("2026-01-02T15:04:05Z", "group", "reset", "billing", "orders", "--to", "yesterday")
	refused("topic not found", "group", "reset", "billing", "none", "--to", "last")
	refused("group not found", "group", "reset", "none", "orders", "--to", "last")
	command("group", "delete", "billing")
	refused("group not found", "group", "show", "billing")
}
