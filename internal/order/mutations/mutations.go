// SPDX-License-Identifier: Apache-2.0

// Package mutations holds deliberate faults of package order, one per rule:
// each names the rule that it breaks and the test that must find it. `make
// mutate` compiles package order with one fault at a time and fails if a named
// test passes.
//
// A fault is a file of the form
//
//	rule: the client stops after half the grace
//	file: session.go
//	test: TestScripts/session
//	--- before
//	text that stands in the file exactly once
//	--- after
//	text that takes its place
package mutations

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.mut
var files embed.FS

// Mutation is one deliberate fault.
type Mutation struct {
	Name   string
	Rule   string
	File   string // of package order
	Test   string // that must fail, as for go test -run
	Before string
	After  string
}

// All returns all mutations, by name.
func All() ([]Mutation, error) {
	names, err := fs.Glob(files, "*.mut")
	if err != nil {
		return nil, fmt.Errorf("list mutations: %w", err)
	}
	var all []Mutation
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read mutation: %w", err)
		}
		m, err := parse(strings.TrimSuffix(name, ".mut"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func parse(name, text string) (Mutation, error) {
	m := Mutation{Name: name}
	head, patch, ok := strings.Cut(text, "--- before\n")
	before, after, ok2 := strings.Cut(patch, "\n--- after\n")
	if !ok || !ok2 {
		return m, fmt.Errorf("mutation %s: the parts before and after are missing", name)
	}
	m.Before, m.After = before, strings.TrimSuffix(after, "\n")
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "rule":
			m.Rule = value
		case "file":
			m.File = value
		case "test":
			m.Test = value
		default:
			return m, fmt.Errorf("mutation %s: unknown line %q", name, line)
		}
	}
	if m.Rule == "" || m.File == "" || m.Test == "" {
		return m, fmt.Errorf("mutation %s: rule, file or test is missing", name)
	}
	return m, nil
}

// Apply returns source with the fault.
func (m Mutation) Apply(source string) (string, error) {
	if n := strings.Count(source, m.Before); n != 1 {
		return "", fmt.Errorf("mutation %s: its text stands %d times in %s, want once: adapt it", m.Name, n, m.File)
	}
	return strings.Replace(source, m.Before, m.After, 1), nil
}
