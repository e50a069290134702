// SPDX-License-Identifier: Apache-2.0

package mutations

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutationsApply: every mutation still fits the source, leaves it
// parsable, and names a test that exists.
func TestMutationsApply(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("%d mutations, want at least 40", len(all))
	}
	tests := testSources(t)
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join("..", m.File))
		if err != nil {
			t.Error(err)
			continue
		}
		mutated, err := m.Apply(string(source))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, mutated, 0); err != nil {
			t.Errorf("mutation %s: %v", m.Name, err)
		}
		if name, _, _ := strings.Cut(m.Test, "/"); !strings.Contains(tests, "func "+name+"(") {
			t.Errorf("mutation %s: there is no test %s", m.Name, name)
		}
	}
}

func testSources(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("../*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
