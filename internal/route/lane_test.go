// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/hex"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/msg"
)

// vector is one row of the published table.
type vector struct {
	key, hash                                    string
	lane, orderly8, hashCode, j7, j8, gofnv7, g8 int
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../../docs/lanes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Test vectors")
	if !ok {
		t.Fatal("the page has no test vectors")
	}
	var out []vector
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 12 || strings.Contains(line, "---") || strings.Contains(line, "hashCode") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		key, err := hex.DecodeString(cells[2])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		v := vector{key: string(key), hash: cells[3]}
		for i, p := range []*int{&v.lane, &v.orderly8, &v.hashCode, &v.j7, &v.j8, &v.gofnv7, &v.g8} {
			if *p, err = strconv.Atoi(cells[4+i]); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		out = append(out, v)
	}
	if len(out) < 25 {
		t.Fatalf("only %d vectors found", len(out))
	}
	return out
}

func TestPublishedVectors(t *testing.T) {
	for _, v := range vectors(t) {
		h := fnv.New64a()
		h.Write([]byte(v.key))
		if got := strconv.FormatUint(h.Sum64(), 16); strings.TrimLeft(v.hash, "0") != got {
			t.Errorf("%q: FNV-1a-64 is %s, the page says %s", v.key, got, v.hash)
		}
		for name, pair := range map[string][2]int{
			"lane":          {int(Lane(v.key)), v.lane},
			"hashCode":      {int(msg.TagHash(v.key)), v.hashCode},
			"java-string 7": {int(JavaString(v.key, 7)), v.j7},
			"java-string 8": {int(JavaString(v.key, 8)), v.j8},
			"go-fnv 7":      {int(GoFNV(v.key, 7)), v.gofnv7},
			"go-fnv 8":      {int(GoFNV(v.key, 8)), v.g8},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%q: %s is %d, the page says %d", v.key, name, pair[0], pair[1])
			}
		}
		for f, want := range map[Function]int{"": v.orderly8, Orderly: v.orderly8, JavaStringHash: v.j8, GoFNVHash: v.g8} {
			p := Placement{Function: f, Queues: 8}
			if got, err := p.Queue(v.key); err != nil || int(got) != want {
				t.Errorf("%q by %q: %d, want %d, %v", v.key, f, got, want, err)
			}
		}
	}
}

// Two sends of RocketMQ's Go client with its hash selector, as recorded, to a
// topic of 4 queues.
func TestRecordedGoSends(t *testing.T) {
	for key, want := range map[string]int32{"key0": 0, "key1": 3} {
		if got := GoFNV(key, 4); got != want {
			t.Errorf("%s: queue %d, recorded %d", key, got, want)
		}
	}
}

func TestFunctionsStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		n := rapid.Int32Range(1, msg.MaxQueueCount).Draw(t, "n")
		lane := Lane(key)
		if lane < 0 || lane >= Lanes || lane != LaneOfHash(msg.KeyHash(key)) {
			t.Fatalf("lane %d", lane)
		}
		for _, f := range []Function{Orderly, JavaStringHash, GoFNVHash} {
			p := Placement{Function: f, Queues: n}
			if q, err := p.Queue(key); err != nil || q < 0 || q >= n {
				t.Fatalf("%s: queue %d of %d, %v", f, q, n, err)
			}
		}
	})
}

// Keys that differ only at their end spread evenly: no queue of 8 gets more than
// a tenth above or below its share of 20,000 such keys.
func TestLanesSpread(t *testing.T) {
	for _, prefix := range []string{"", "order-", "customer/0000"} {
		load := make([]int, 8)
		lanes := map[int32]bool{}
		for i := range 20000 {
			lane := Lane(prefix + strconv.Itoa(i))
			lanes[lane] = true
			load[lane%8]++
		}
		for q, n := range load {
			if n < 2250 || n > 2750 {
				t.Errorf("%q: queue %d gets %d of 20000", prefix, q, n)
			}
		}
		if len(lanes) != Lanes {
			t.Errorf("%q: %d lanes used", prefix, len(lanes))
		}
	}
}

func TestParseFunction(t *testing.T) {
	for s, want := range map[string]Function{"": Orderly, "orderly": Orderly, "java-string": JavaStringHash, "go-fnv": GoFNVHash} {
		if got, err := ParseFunction(s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if _, err := ParseFunction("md5"); err == nil {
		t.Error("md5 passed")
	}
}

func TestPlacementErrors(t *testing.T) {
	for name, p := range map[string]Placement{
		"no queues":        {Function: Orderly},
		"unknown function": {Function: "md5", Queues: 1},
		"map of a larger topic": {
			Function: Orderly, Queues: 1,
			Map: LaneMap{Epoch: 2, Queue: func() []int32 { m := NewLaneMap(2, 1); m.Queue[Lane("k")] = 5; return m.Queue }()},
		},
	} {
		if _, err := p.Queue("k"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkLane(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Lane("550e8400-e29b-41d4-a716-446655440000")
	}
}
