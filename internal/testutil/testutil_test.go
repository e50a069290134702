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
