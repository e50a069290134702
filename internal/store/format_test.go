// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
)

// formatExamples makes the bytes that the pages of docs/format show.
func formatExamples(t *testing.T) map[string][]byte {
	t.Helper()
	m := message("T", 2, "abc", msg.PropTags, "x")
	m.QueueOffset, m.PhysicalOffset, m.StoreTimestamp, m.StoreHost = 5, 4096, 1_700_000_000_100, testHost
	record, err := msg.AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	f := frame{
		kind: frameBatch, slots: 1, start: 4096, length: uint32(len(record)), records: 1,
		stamp: m.StoreTimestamp, durable: 4096, dataCRC: crcOf(record),
	}
	fr := make([]byte, slotSize)
	f.encode(fr)
	last := frameRef{pos: 192, crc: f.dataCRC}
	end := f.end()

	var run runBuilder
	run.reset(4096, end, last)
	run.add(&queue{topic: "T", id: 2}, memExtent{base: 5, units: []unit{unitOf(record, 4096)}})

	ck := checkpoint{
		seq: 7, async: true, boot: "boot", segSize: 1 << 30, start: 0, synced: end, framePos: 256,
		indexed: 4096, keyed: 4096, stamp: m.StoreTimestamp, floors: 48,
	}
	slot := make([]byte, ckptBytes)
	ck.encode(slot)
	return map[string][]byte{
		"commitlog.md record": record,
		"commitlog.md blank":  msg.AppendBlank(nil, 1024),
		"commitlog.md frame":  fr,
		"commitlog.md numbers": appendEntries(nil, []entry{{
			Numbers: Numbers{Producer: 0xabcd, Epoch: 2, First: 7}, count: 1,
		}}),
		"queueindex.md run":  run.bytes(),
		"keyindex.md run":    encodeKeyRun(4096, end, last, appendKeys(nil, record, 4096)),
		"checkpoint.md slot": slot,
		"floors.md group":    appendFloorGroup(nil, []floorEntry{{floorNext, "T", 2, 6}, {floorDrop, "old", 0, 9}}),
	}
}

// TestFormatExamples holds the examples of docs/format against the code: each is
// a block of lines with hex digits, then two spaces and what they are; 00*N is N
// zeros.
func TestFormatExamples(t *testing.T) {
	for name, want := range formatExamples(t) {
		page, block, _ := strings.Cut(name, " ")
		text, err := os.ReadFile("../../docs/format/" + page)
		if err != nil {
			t.Fatal(err)
		}
		got := hexBlock(t, string(text), block)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the page has\n%x\nthe code writes\n%x", name, got, want)
		}
	}
}

func hexBlock(t *testing.T, page, name string) (out []byte) {
	t.Helper()
	_, rest, ok := strings.Cut(page, "```hex "+name+"\n")
	body, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatalf("no block %q", name)
	}
	for line := range strings.Lines(body) {
		digits, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if n, ok := strings.CutPrefix(digits, "00*"); ok {
			zeros, err := strconv.Atoi(n)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out = append(out, make([]byte, zeros)...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, b...)
	}
	return out
}
