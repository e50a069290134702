// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// measures is the table that is printed at the end.
var measures table

type table struct {
	mu   sync.Mutex
	rows []*row
}

// row is one measured thing of a case, over all rounds.
type row struct {
	id, what, bound string
	values          []string
	broken          bool
}

func (t *table) add(id, what, value, bound string, broken bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.id == id && r.what == what })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, &row{id: id, what: what, bound: bound})
	}
	r := t.rows[i]
	r.values = append(r.values, value)
	r.broken = r.broken || broken
}

func (t *table) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) == 0 {
		return
	}
	slices.SortStableFunc(t.rows, func(a, b *row) int { return strings.Compare(a.id, b.id) })
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\ncase\tmeasured\tby round\tbound\t\n")
	for _, r := range t.rows {
		mark := ""
		if r.broken {
			mark = "BROKEN"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.id, r.what, strings.Join(r.values, "  "), r.bound, mark)
	}
	tw.Flush()
}

// took records a time that must stay below its bound.
func (s *scene) took(what string, d, bound time.Duration) {
	s.Helper()
	broken := d >= bound
	measures.add(s.id, what, fmt.Sprintf("%.2fs", d.Seconds()), fmt.Sprintf("< %v", bound), broken)
	if broken {
		s.Errorf("%s took %v, bound %v", what, d, bound)
	}
}

// counted records a number that must not be above its bound.
func (s *scene) counted(what string, n, bound int) {
	s.Helper()
	measures.add(s.id, what, fmt.Sprint(n), fmt.Sprintf("<= %d", bound), n > bound)
	if n > bound {
		s.Errorf("%s: %d, bound %d", what, n, bound)
	}
}

// noted records something without a bound.
func (s *scene) noted(what string, v any) {
	if d, ok := v.(time.Duration); ok {
		v = fmt.Sprintf("%.2fs", d.Seconds())
	}
	measures.add(s.id, what, fmt.Sprint(v), "", false)
}
