// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net"
	"strings"
	"testing"
)

// TestTopicCommands creates and deletes topics, and tries what would take the
// order from one.
func TestTopicCommands(t *testing.T) {
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
	command("topic", "create", "orders", "--queues", "2", "--lanes", "java-string")
	command("topic", "create", "orders", "--queues", "2") // the same again
	refused("would move", "topic", "create", "orders", "--queues", "3")
	refused("would move", "topic", "create", "orders", "--queues", "2", "--lanes", "orderly")
	refused("ordered", "topic", "create", "orders", "--queues", "2", "--plain")
	refused("at least one", "topic", "create", "other", "--queues", "0")
	if out := command("topic", "show", "orders", "--json"); !strings.Contains(out, `"lane_function": "java-string"`) || !strings.Contains(out, `"queues": 2`) {
		t.Errorf("the topic has changed:\n%s", out)
	}
	command("topic", "create", "audit", "--plain", "--queues", "1")
	command("topic", "create", "audit", "--plain", "--queues", "2") // no keys, none to move
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	s.namesrv = dead.Addr().String() + ";" + s.namesrv // one of two is gone
	if out := command("topic", "delete", "audit"); !strings.Contains(out, "deleted topic audit") {
		t.Errorf("delete says %q", out)
	}
	refused("not found", "topic", "show", "audit")
}
