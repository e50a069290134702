// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/admin"
)

// TestBlockedCommands lists what waits, and says words to nobody.
func TestBlockedCommands(t *testing.T) {
	s := startServer(t, t.TempDir())
	ask := func(args ...string) (out, stderr string, err error) {
		t.Helper()
		return run(t, append(args, "-n", s.namesrv)...)
	}
	command := func(args ...string) string {
		t.Helper()
		out, stderr, err := ask(args...)
		if err != nil {
			t.Fatalf("orderly %v: %v\n%s", args, err, stderr)
		}
		return out
	}
	command("topic", "create", "orders", "--queues", "1")
	command("send", "orders", "--key", "k", "a", "b", "c")
	command("consume", "orders", "--group", "billing", "--count", "1")
	if out := command("blocked", "billing"); !strings.Contains(out, "no member of the group is running") || !strings.Contains(out, "orders") {
		t.Errorf("blocked:\n%s", out)
	}
	var list []admin.Blocked
	if err := json.Unmarshal([]byte(command("blocked", "--json")), &list); err != nil || len(list) != 1 || list[0].Offset != 1 || list[0].Behind != 1 {
		t.Errorf("blocked --json: %+v, %v", list, err)
	}
	command("consume", "orders", "--group", "billing", "--count", "2")
	if out := command("blocked"); !strings.Contains(out, "nothing waits") {
		t.Errorf("blocked:\n%s", out)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"group not found", []string{"blocked", "unknown"}},
		{"nobody of group billing holds queue 0", []string{"unblock", "billing", "orders", "0", "1", "--retry"}},
		{"at least one of the flags", []string{"unblock", "billing", "orders", "0", "1"}},
		{"use a number", []string{"unblock", "billing", "orders", "x", "1", "--park"}},
		{"use a number", []string{"unblock", "billing", "orders", "0", "first", "--park"}},
		{"nobody of group billing holds queue 0", []string{"group", "release", "billing", "orders", "0"}},
		{"use a number", []string{"group", "release", "billing", "orders", "first"}},
	} {
		if out, stderr, err := ask(tt.args...); err == nil || !strings.Contains(stderr, tt.want) {
			t.Errorf("orderly %v: %v, want %q\n%s%s", tt.args, err, tt.want, out, stderr)
		}
	}
}
