// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestDocs holds the tables of docs/protocol.md against the code: each request's
// row names its code, its name and exactly its fields, required ones unmarked;
// each field of ours has a row.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int32][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if code, err := strconv.ParseInt(strings.TrimSpace(cells[min(1, len(cells)-1)]), 10, 32); err == nil && len(cells) == 9 {
			rows[int32(code)] = cells
		}
	}
	for code, cells := range rows {
		if name := strings.TrimSpace(cells[2]); name != wire.RequestName(code) {
			t.Errorf("%d is %s, the page says %s", code, wire.RequestName(code), name)
		}
	}
	checkRows(t, rows, requests(), 4)
	checkRows(t, rows, responses(), 6)
	for _, field := range []string{
		header.ExtSession, header.ExtGroups, header.ExtMember, header.ExtFrom, header.ExtPing, header.ExtAck, header.ExtEpoch,
		header.ExtEpochs, header.ExtStart, header.ExtRefused, header.ExtRanges, header.ExtAttempts, header.ExtLane,
		header.ExtLaneEpoch, header.ExtSelector, header.ExtOverrun, header.ExtTaken, header.ExtStrategy, header.ExtClosing,
	} {
		if !regexp.MustCompile("(?m)^\\| .*`" + field + "`.* \\|").Match(text) {
			t.Errorf("the page has no row for %s", field)
		}
	}
}

// checkRows decodes the fields that a row names: each must be known to the
// header, and be required or not as the page says.
func checkRows(t *testing.T, rows map[int32][]string, headers map[int32]func() custom, cell int) {
	t.Helper()
	named := regexp.MustCompile("`([^`]+)`(\\??)")
	for code, fresh := range headers {
		cells := rows[code]
		if cells == nil {
			t.Errorf("%d %s is not on the page", code, wire.RequestName(code))
			continue
		}
		var full wire.Fields
		required := map[string]bool{}
		for _, m := range named.FindAllStringSubmatch(cells[cell], -1) {
			full.Add(m[1], "1") // a good text, number and, as false, boolean
			required[m[1]] = m[2] == ""
		}
		h := fresh()
		if err := h.Decode(full); err != nil {
			t.Errorf("%d %s: %v", code, wire.RequestName(code), err)
		}
		var written wire.Fields
		h.Encode(&written)
		if len(written) != len(full) {
			t.Errorf("%d %s: the page has %d fields, the header writes %d", code, wire.RequestName(code), len(full), len(written))
		}
		for i := range full {
			rest := append(append(wire.Fields{}, full[:i]...), full[i+1:]...)
			if missing := fresh().Decode(rest) != nil; missing != required[full[i].Key] || !written.Has(full[i].Key) {
				t.Errorf("%d %s: %s required: %t", code, wire.RequestName(code), full[i].Key, missing)
			}
		}
	}
}
