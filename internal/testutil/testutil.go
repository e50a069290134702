// SPDX-License-Identifier: Apache-2.0

// Package testutil has small helpers for tests of several packages.
//
// It promises that a failing test says what is needed to see it fail again: a
// seed is printed, a golden file's difference is shown, a poll names what it
// waited for.
package testutil

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Poll calls ok at once and then every few milliseconds until it returns true,
// and fails the test when it has not after within. It is for tests of real
// processes; in a synctest bubble use synctest.Wait.
func Poll(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if !PollContext(ctx, ok) {
		t.Fatalf("not after %v: %s", within, what)
	}
}

// PollContext is Poll without a test: it reports whether ok returned true
// before ctx ended.
func PollContext(ctx context.Context, ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ok()
		}
	}
	return true
}

// SeedVariable is the environment variable that repeats a random test.
const SeedVariable = "ORDERLY_SEED"

// Rand returns a source of random numbers for a test. Its seed is new each
// time, or SeedVariable's, and is printed if the test fails.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", SeedVariable, err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with %s=%d", SeedVariable, seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

var rewrite = flag.Bool("rewrite-golden", false, "rewrite golden files with what the tests got")

// Golden compares got with testdata/name. Run the test with -rewrite-golden to
// write the file, and review the difference.
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -rewrite-golden to write it)", err)
	}
	if line, w, g := firstDifference(string(want), string(got)); line > 0 {
		t.Errorf("%s differs from line %d on:\n- %s\n+ %s", path, line, w, g)
	}
}

// firstDifference returns the first line, counted from 1, in which two texts
// differ, and its two forms; 0 if there is none.
func firstDifference(want, got string) (line int, w, g string) {
	ws, gs := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range max(len(ws), len(gs)) {
		w, g = "", ""
		if i < len(ws) {
			w = ws[i]
		}
		if i < len(gs) {
			g = gs[i]
		}
		if w != g {
			return i + 1, strconv.Quote(w), strconv.Quote(g)
		}
	}
	return 0, "", ""
}
