// SPDX-License-Identifier: Apache-2.0

package testutil

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPollWaitsUntilTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Poll(t, time.Minute, "two seconds", func() bool { return time.Since(start) >= 2*time.Second })
		if d := time.Since(start); d > 2010*time.Millisecond {
			t.Errorf("took %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if PollContext(ctx, func() bool { return false }) {
			t.Error("never became true, but was reported so")
		}
	})
}

func TestRandRepeatsWithItsSeed(t *testing.T) {
	t.Setenv(SeedVariable, "42")
	if a, b := Rand(t).Uint64(), Rand(t).Uint64(); a != b {
		t.Errorf("same seed, different numbers: %d, %d", a, b)
	}
}

func TestGolden(t *testing.T) {
	Golden(t, "example.txt", []byte("expected\n"))
}

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct {
		want, got string
		line      int
	}{{"a\nb\n", "a\nb\n", 0}, {"", "", 0}, {"a\nb\n", "a\nc\n", 2}, {"a\n", "a\nb\n", 2}, {"a", "a\n", 1}} {
		if line, _, _ := firstDifference(c.want, c.got); line != c.line {
			t.Errorf("%q, %q: line %d, want %d", c.want, c.got, line, c.line)
		}
	}
}
