// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/order"
)

func TestOffsetFileKeepsPositions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "below")
	a, b := Queue{Topic: "t", Broker: "x", ID: 0}, Queue{Topic: "t", Broker: "x", ID: 1}
	f, err := openOffsetFile(dir, "g")
	must(t, err)
	if got := f.load(a); got != order.Unknown {
		t.Fatalf("fresh position %d", got)
	}
	must(t, f.store(a, 5))
	must(t, f.store(b, 7))
	must(t, f.store(a, 6))

	f, err = openOffsetFile(dir, "g")
	must(t, err)
	if f.load(a) != 6 || f.load(b) != 7 {
		t.Fatalf("read back %d, %d, want 6, 7", f.load(a), f.load(b))
	}
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%d files are left, want 1", len(files))
	}
}

func TestOffsetFileRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "g.json"), []byte("[{"), 0o644))
	if _, err := openOffsetFile(dir, "g"); err == nil || !strings.Contains(err.Error(), "mend the file") {
		t.Fatalf("err = %v", err)
	}
}

func TestOffsetsWithoutDirectoryAreRemembered(t *testing.T) {
	f, err := openOffsetFile("", "g")
	must(t, err)
	q := Queue{Topic: "t"}
	must(t, f.store(q, 3))
	if f.load(q) != 3 {
		t.Fatal("forgotten")
	}
}
