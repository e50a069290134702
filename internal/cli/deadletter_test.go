// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
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
	refused("no such dead letter", "deadletter", "resend", "billing", "--queue", "0", "--offset", "1")
	refused("no such dead letter", "deadletter", "resend", "billing", "--all", "--topic", "other")
	refused("must all be set", "deadletter", "resend", "billing", "--offset", "0")
	refused("at least one of the flags", "deadletter", "resend", "billing")
	if out := command("deadletter", "resend", "billing", "--queue", "0", "--offset", "0"); !strings.Contains(out, "1 sent back, 0 had been before") {
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

// TestLetterPick: what is named is one dead letter or none.
func TestLetterPick(t *testing.T) {
	list := []admin.Letter{
		{Broker: "a", Letter: 0, Topic: "orders", Queue: 1, Offset: 5},
		{Broker: "a", Letter: 1, Topic: "bills", Queue: 1, Offset: 5},
		{Broker: "b", Letter: 0, Topic: "bills", Queue: -1, Offset: -1},
	}
	for _, tc := range []struct {
		name string
		pick letterPick
		want int
	}{
		{"all", letterPick{letter: -1, offset: -1, all: true}, 3},
		{"all of a topic", letterPick{letter: -1, offset: -1, all: true, topic: "bills"}, 2},
		{"number", letterPick{letter: 1, offset: -1}, 1},
		{"number of two brokers", letterPick{letter: 0, offset: -1}, 0},
		{"number and topic", letterPick{letter: 0, offset: -1, topic: "bills"}, 1},
		{"place in two topics", letterPick{letter: -1, queue: 1, offset: 5}, 0},
		{"place", letterPick{letter: -1, queue: 1, offset: 5, topic: "orders"}, 1},
		{"unknown place", letterPick{letter: -1, queue: 0, offset: 5}, 0},
	} {
		picked, err := tc.pick.from(list)
		if len(picked) != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("%s: %v, %v", tc.name, picked, err)
		}
	}
}
