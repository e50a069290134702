// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/orderlymq/orderly"

// pkg is what `go list -json` says of one package.
type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	Doc          string
	Standard     bool
	GoFiles      []string
	TestGoFiles  []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func rel(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// allowed names, for each package that is held to a list, what it may import
// of the module and of others beside the standard library.
var allowed = map[string][]string{
	"internal/order":       {},
	"internal/wire":        {},
	"internal/wire/header": {"internal/wire"},
	"internal/wire/body":   {"internal/wire"},
	"internal/msg":         {"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"},
	"internal/route":       {"internal/msg"},
	"internal/rebalance":   {"internal/route"},
	"internal/vfs":         {},
	"internal/memnet":      {},
}

func TestPurePackagesImportOnlyTheirList(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		may, held := allowed[rel(p.ImportPath)]
		if !held {
			continue
		}
		seen[rel(p.ImportPath)] = true
		for _, imp := range p.Imports {
			if !isStandard(imp) && !covered(may, rel(imp)) {
				t.Errorf("%s imports %s: it may import the standard library and %v only", rel(p.ImportPath), imp, may)
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("package %s of the list does not exist: the rule guards nothing", name)
		}
	}
}

func covered(may []string, imp string) bool {
	return slices.ContainsFunc(may, func(m string) bool {
		return imp == m || strings.HasPrefix(imp, m+"/") && strings.Contains(m, ".")
	})
}

// never lists pairs that must not meet, directly or through others.
var never = []struct{ who, whom, why string }{
	{"internal/store", "internal/wire", "the disk outlives the protocol"},
	{"internal/broker", ".", "the server never uses the client library"},
	{"internal/namesrv", ".", "the server never uses the client library"},
	{".", "internal/broker", "users of the client must not pull in the server"},
	{".", "internal/store", "users of the client must not pull in the server"},
	{".", "internal/namesrv", "users of the client must not pull in the server"},
	{".", "internal/cli", "users of the client must not pull in the tools"},
	{"embed", "internal/cli", "only the binary imports the command line"},
	{"internal/broker", "internal/cli", "only the binary imports the command line"},
}

func TestForbiddenImports(t *testing.T) {
	deps := map[string][]string{}
	for _, p := range list(t, "./...") {
		deps[rel(p.ImportPath)] = p.Deps
	}
	for _, rule := range never {
		for who, ds := range deps {
			if who != rule.who && !(rule.who != "." && strings.HasPrefix(who, rule.who+"/")) {
				continue
			}
			for _, d := range ds {
				if !strings.HasPrefix(d, module) {
					continue
				}
				if d = rel(d); d == rule.whom || rule.whom != "." && strings.HasPrefix(d, rule.whom+"/") {
					t.Errorf("%s depends on %s: %s", who, d, rule.why)
				}
			}
		}
	}
}

func TestOnlyTheBinaryImportsTheCommandLine(t *testing.T) {
	for _, p := range list(t, "./...") {
		if strings.HasPrefix(rel(p.ImportPath), "cmd/") || strings.HasPrefix(rel(p.ImportPath), "internal/cli") {
			continue
		}
		if slices.ContainsFunc(p.Imports, func(i string) bool { return strings.HasPrefix(i, module+"/internal/cli") }) {
			t.Errorf("%s imports internal/cli", p.ImportPath)
		}
	}
}

func TestRootDependsOnStandardLibraryAndCompressionOnly(t *testing.T) {
	may := []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}
	for _, p := range list(t, "-deps", ".") {
		if !p.Standard && !strings.HasPrefix(p.ImportPath, module) && !covered(may, p.ImportPath) {
			t.Errorf("the client library pulls in %s", p.ImportPath)
		}
	}
}

// TestEveryDependencyHasAReason compares imports with deps.txt: where each
// module may be imported, and that nothing is listed which nobody uses.
func TestEveryDependencyHasAReason(t *testing.T) {
	reasons := readDeps(t)
	used := map[string]bool{}
	check := func(p pkg, imports []string, test bool) {
		for _, imp := range imports {
			if isStandard(imp) || strings.HasPrefix(imp, module) {
				continue
			}
			i := slices.IndexFunc(reasons, func(d dep) bool { return imp == d.module || strings.HasPrefix(imp, d.module+"/") })
			if i < 0 {
				t.Errorf("%s imports %s, which has no line in internal/lint/deps.txt", rel(p.ImportPath), imp)
				continue
			}
			d := reasons[i]
			used[d.module] = true
			inside := rel(p.ImportPath) == d.where || strings.HasPrefix(rel(p.ImportPath), d.where+"/")
			if !test && !inside {
				t.Errorf("%s imports %s, which is for %s", rel(p.ImportPath), imp, d.where)
			}
		}
	}
	for _, p := range list(t, "./...") {
		check(p, p.Imports, false)
		check(p, append(p.TestImports, p.XTestImports...), true)
	}
	for _, d := range reasons {
		if !used[d.module] {
			t.Errorf("deps.txt lists %s, which nothing imports", d.module)
		}
	}
}

type dep struct{ module, where, reason string }

func readDeps(t *testing.T) []dep {
	t.Helper()
	text, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	var deps []dep
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 {
			t.Fatalf("deps.txt: %q wants a module, a place and a reason", line)
		}
		deps = append(deps, dep{f[0], f[1], strings.Join(f[2:], " ")})
	}
	return deps
}

func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range list(t, "./...") {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("package %s has no doc comment", rel(p.ImportPath))
		}
	}
}

// bannedCalls lists calls that product code must not make, by package.
var bannedCalls = []struct{ prefix, call, why string }{
	{"internal/order", "time.Now", "the heart is told the time"},
	{"", "time.Sleep", "wait on a timer and a context"},
}

var bannedImports = map[string][]string{
	"internal/order": {"sync", "sync/atomic", "context", "os", "net", "io"},
}

func TestBannedCalls(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, name := range p.GoFiles {
			for _, found := range callsOf(t, filepath.Join(p.Dir, name)) {
				for _, b := range bannedCalls {
					if found.name == b.call && strings.HasPrefix(rel(p.ImportPath), b.prefix) && !strings.HasPrefix(rel(p.ImportPath), "internal/testutil") {
						t.Errorf("%s: %s: %s", found.pos, b.call, b.why)
					}
				}
			}
		}
		for _, imp := range bannedImports[rel(p.ImportPath)] {
			if slices.Contains(p.Imports, imp) {
				t.Errorf("%s imports %s", rel(p.ImportPath), imp)
			}
		}
	}
}

type call struct{ name, pos string }

func callsOf(t *testing.T, path string) []call {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok {
			calls = append(calls, call{x.Name + "." + sel.Sel.Name, fset.Position(sel.Pos()).String()})
		}
		return true
	})
	return calls
}

// TestFilesKeepTheHouseRules reads every tracked file: an SPDX line on top of
// Go files, no path of somebody's machine, no name of a registry's host.
func TestFilesKeepTheHouseRules(t *testing.T) {
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "orderly-data" {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".txt", ".mod", ""}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if strings.HasSuffix(name, ".go") && !bytes.HasPrefix(text, []byte("// SPDX-License-Identifier: Apache-2.0\n")) {
			t.Errorf("%s: the first line is not the SPDX line", name)
		}
		for _, bad := range []string{"/wo" + "rk/main", "/wo" + "rk/shared", "/ro" + "ot/", "/tm" + "p/arch"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s: names a path of a machine: %s", name, bad)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
