// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
)

// TestDeadLetterCommands has a consumer give a message up, lists it and sends it
// back.
func TestDeadLetterCommands(t *testing.T) {
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
	command("topic", "create", "orders", "--queues", "1")
	command("send", "orders", "--key", "k", "a", "b")
	client, err := orderly.Open(t.Context(), orderly.Config{NameServers: []string{s.namesrv}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	err = client.Consume(ctx, orderly.ConsumerConfig{Group: "billing", Topic: "orders"}, func(_ context.Context, m *orderly.Message) error {
		if string(m.Body) == "a" {
			return orderly.DeadLetter(errors.New("no such account"))
		}
		stop()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list := command("deadletter", "list", "billing")
	for _, want := range []string{"orders", "k", "no such account"} {
		if !strings.Contains(list, want) {
			t.Errorf("list lacks %q:\n%s", want, list)
		}
	}
	refused("no such dead letter", "deadletter", "resend", "billing", "--letter", "7")
	refused("at least one of the flags", "deadletter", "resend", "billing")
	if out := command("deadletter", "resend", "billing", "--all"); !strings.Contains(out, "1 sent back, 0 had been before") {
		t.Errorf("resend: %s", out)
	}
	if out := command("deadletter", "resend", "billing", "--all"); !strings.Contains(out, "0 sent back, 1 had been before") {
		t.Errorf("resend again: %s", out)
	}
	refused("sent back before", "deadletter", "resend", "billing", "--letter", "0")
	if out := command("consume", "orders", "--group", "billing", "--count", "1"); !strings.Contains(out, "a") {
		t.Errorf("consumed:\n%s", out)
	}
}
