// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestConsumeCountFailsNothing stops after one message while others were handed
// out already, in a group that dead-letters at the first failure.
func TestConsumeCountFailsNothing(t *testing.T) {
	s := startServer(t, t.TempDir())
	command := func(args ...string) string {
		t.Helper()
		out, stderr, err := run(t, append(args, "-n", s.namesrv)...)
		if err != nil || strings.Contains(stderr, "handler failed") || strings.Contains(stderr, "dead-letter") {
			t.Fatalf("orderly %v: %v\n%s", args, err, stderr)
		}
		return out
	}
	command("topic", "create", "orders")
	command("group", "create", "billing", "--max-attempts", "1", "--poison", "dead-letter")
	const keys, each = 8, 2
	for k := range keys {
		command("send", "orders", "--key", fmt.Sprint("k", k), "first", "second")
	}
	seen := map[string]int{}
	for _, count := range []int{1, 3, keys*each - 4} {
		out := command("consume", "orders", "--group", "billing", "--count", fmt.Sprint(count))
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != count {
			t.Errorf("--count %d printed %d lines:\n%s", count, len(lines), out)
		}
		for _, line := range lines {
			if seen[line]++; seen[line] > 1 {
				t.Errorf("again: %s", line)
			}
		}
	}
}
