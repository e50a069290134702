// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/order"
)

func TestHandlerOutcomes(t *testing.T) {
	boom := errors.New("boom")
	three := []*Message{{}, {}, {}}
	one := three[:1]
	batch := func(done int, err error) callback {
		return BatchHandler(func(context.Context, []*Message) (int, error) { return done, err }).callback()
	}
	manual := func(d Decision, err error) callback {
		return ManualHandler(func(context.Context, []*Message) (Decision, error) { return d, err }).callback()
	}
	plain := func(f func() error) callback {
		return Handler(func(context.Context, *Message) error { return f() }).callback()
	}
	tests := []struct {
		name    string
		call    callback
		ms      []*Message
		verdict order.Verdict
		done    int
		delay   time.Duration
		text    string
	}{
		{"nil is success", plain(func() error { return nil }), one, order.Success, 0, 0, ""},
		{"an error is a retry", plain(func() error { return boom }), one, order.Retry, 0, 0, "boom"},
		{"a wait is kept", plain(func() error { return RetryAfter(5*time.Second, boom) }), one, order.Retry, 0, 5 * time.Second, "boom"},
		{"a wait may be wrapped", plain(func() error { return fmt.Errorf("x: %w", RetryAfter(time.Second, nil)) }), one, order.Retry, 0, time.Second, "x"},
		{"a long wait is cut", plain(func() error { return RetryAfter(time.Hour, boom) }), one, order.Retry, 0, maxBackoff, "boom"},
		{"a short wait is stretched", plain(func() error { return RetryAfter(-1, boom) }), one, order.Retry, 0, minBackoff, "boom"},
		{"a dead letter", plain(func() error { return DeadLetter(boom) }), one, order.Letter, 0, 0, "boom"},
		{"a panic is a retry", plain(func() error { panic("ouch") }), one, order.Retry, 0, 0, "ouch"},
		{"a panic shows its stack", plain(func() error { panic("ouch") }), one, order.Retry, 0, 0, "handler_test.go"},
		{"Goexit is a retry", plain(func() error { runtime.Goexit(); return nil }), one, order.Retry, 0, 0, "Goexit"},
		{"a nil panic is a retry", plain(func() error { panic(nil) }), one, order.Retry, 0, 0, "panic"},
		{"a whole batch", batch(3, nil), three, order.Success, 0, 0, ""},
		{"a part of a batch", batch(2, boom), three, order.Retry, 2, 0, "boom"},
		{"a part without an error", batch(2, nil), three, order.Retry, 2, 0, "2 of 3"},
		{"more than there is", batch(4, nil), three, order.Retry, 0, 0, "4 of 3"},
		{"less than nothing", batch(-1, boom), three, order.Retry, 0, 0, "boom"},
		{"all, and an error", batch(3, boom), three, order.Retry, 0, 0, "boom"},
		{"hold", manual(Hold, nil), three, order.Success, 0, 0, ""},
		{"commit", manual(Commit, nil), three, order.Commit, 0, 0, ""},
		{"rollback", manual(Rollback, nil), three, order.Rollback, 0, 0, ""},
		{"no decision", manual(0, nil), three, order.Retry, 0, 0, "decision 0"},
		{"an unknown decision", manual(9, nil), three, order.Retry, 0, 0, "decision 9"},
		{"commit with an error", manual(Commit, boom), three, order.Retry, 0, 0, "boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			outcomes := make(chan outcome, 2)
			go guard(t.Context(), test.call, test.ms, func(o outcome) { outcomes <- o })
			got := <-outcomes
			if got.verdict != test.verdict || got.done != test.done || got.delay != test.delay {
				t.Errorf("got %+v", got)
			}
			if text := fmt.Sprint(got.err); test.text == "" && got.err != nil || !strings.Contains(text, test.text) {
				t.Errorf("error %q, want %q in it", text, test.text)
			}
		})
	}
}
