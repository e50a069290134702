// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is rows under titles, aligned when they are printed.
type table struct {
	rows [][]string
}

func newTable(titles ...string) *table {
	t := &table{rows: [][]string{titles}}
	for i, s := range titles {
		titles[i] = strings.ToUpper(s)
	}
	return t
}

func (t *table) row(cells ...any) {
	var row []string
	for _, c := range cells {
		row = append(row, fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range t.rows {
		fmt.Fprintln(out, "  "+strings.Join(r, "\t"))
	}
	_ = out.Flush()
}
