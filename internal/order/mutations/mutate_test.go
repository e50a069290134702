// SPDX-License-Identifier: Apache-2.0

//go:build mutate

package mutations

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMutate compiles package order with one fault at a time, by an overlay,
// and wants the named test to fail.
func TestMutate(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	order, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			mutate(t, order, m)
		})
	}
}

func mutate(t *testing.T, order string, m Mutation) {
	path := filepath.Join(order, m.File)
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mutated, err := m.Apply(string(source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	faulty := filepath.Join(dir, m.File)
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: faulty}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{faulty: []byte(mutated), overlay: list} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-count=1", "-timeout", "60s", "-run", runPattern(m.Test), ".", "-rapid.nofailfile")
	cmd.Dir = order
	out, err := cmd.CombinedOutput()
	name, _, _ := strings.Cut(m.Test, "/")
	switch {
	case err == nil:
		t.Errorf("%s passes although %q is broken", m.Test, m.Rule)
	case !strings.Contains(string(out), "--- FAIL: "+name) && !strings.Contains(string(out), "panic: "):
		t.Errorf("%s did not fail, it did not run:\n%s", m.Test, out)
	}
}

// runPattern matches exactly the named test.
func runPattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}
