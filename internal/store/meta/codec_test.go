// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples has a change of every kind, with all fields set.
func samples() []Change {
	key := QueueKey{"G", "T", 7}
	group := DefaultGroup("G")
	group.RetryPolicy = RetryPolicy{Exponential: true, NextMs: []int64{1, 2}, InitialMs: 3, MaxMs: 4, Multiplier: 5}
	group.Subscriptions = []Subscription{{"T", "TAG", "A || B", 9}}
	group.Attributes = map[string]string{"a": "1", "b": "2"}
	group.Forbidden = map[string]int32{"T": 1}
	group.Ordered, group.StockFastRelease = true, true
	group.GraceMs, group.LeaseMs, group.MaxAttempts, group.BackoffMs = 500, 20000, 5, []int32{100, 200}
	group.Poison, group.Overrun, group.MaxHandlerMs = PoisonPark, OverrunRelease, 1<<40
	return []Change{
		PutTopic{Topic: Topic{
			Name: "T", ReadQueues: 8, WriteQueues: 4, Perm: 6, FilterType: MultiTag, SysFlag: 3, Order: true,
			Attributes: map[string]string{AttrMessageType: TypeFIFO}, LaneFunc: LaneGoFNV, Check: CheckRefuse,
			Lanes: &LaneMap{Epoch: 3, Queue: []int32{0, 1, 2, 3}, Since: []int64{10, 20, 30, 1 << 50}},
		}, At: 5_000_000},
		DeleteTopic{"T", 1},
		PutGroup{group, 2},
		DeleteGroup{"G", true, 3},
		SetForbidden{"G", "T", 1, 4},
		Commit{
			QueueKey: key, Offset: 100, Epoch: 12, Replace: true, At: -1,
			Settled: []Range{{105, 110}, {120, 1 << 60}}, Attempts: []Attempt{{101, 2}, {130, math.MaxInt32}},
		},
		FixStart{key, math.MaxInt64},
		ResetOffset{key, 50, 13, true, 6},
		ClearReset{key},
		DropQueues{"G", "", AllQueues},
		GrantLease{key, Lease{"10.0.0.1@77", math.MaxUint64, "worker-1", LeaseOurs, 14, math.MaxInt64, "10.0.0.1"}},
		DropLease{key, 14},
		PutKV{"ORDER_TOPIC_CONFIG", "T", "broker-a:8"},
		DeleteKV{"ORDER_TOPIC_CONFIG", "T"},
		SetMark{"log start", math.MinInt64},
		DeleteMark{"log start"},
		ReserveEpochs{1 << 33},
		StartBroker{"boot", 7},
		PutProducer{Producer{1, 2, "PG", "client", 8}},
		DropProducer{1},
		AddFrame{ProducerKey{1, "T", 0}, Frame{2, 3, 4, 5}},
		SetStateVersion{4, 9},
		loadQueue{key, Queue{
			Committed: 5, CommittedAt: 6, Epoch: 7, Ranges: []Range{{8, 9}}, Attempts: []Attempt{{10, 11}}, Start: 12,
			Reset: Reset{true, 13, 14, 15, 16}, Lease: Lease{"h", 17, "m", LeaseOurs, 18, 19, "host"},
		}},
		loadTables{1, DataVersion{1, 2, 3}, DataVersion{4, 5, 6}, DataVersion{7, 8, 9}, 10, Boot{11, "b", 12}},
	}
}

func TestEveryKindComesBack(t *testing.T) {
	seen := map[kind]bool{}
	opts := cmp.AllowUnexported(loadTables{})
	for _, want := range samples() {
		if seen[want.kind()] {
			t.Errorf("%T has the kind of another change", want)
		}
		seen[want.kind()] = true
		b := appendChange([]byte("before"), want)
		got, rest, err := decodeChange(b[6:])
		if err != nil || len(rest) != 0 {
			t.Fatalf("%T: %v, %d bytes left", want, err, len(rest))
		}
		if d := cmp.Diff(want, got, opts); d != "" {
			t.Errorf("%T (-want +got):\n%s", want, d)
		}
	}
	for k := range 256 {
		if _, ok := shapeFor(kind(k)); ok != seen[kind(k)] {
			t.Errorf("kind %d has no sample", k)
		}
	}
}

// TestWritingOnlyReads writes each kind from two goroutines: a snapshot is
// written while readers and later changes share what it shows. The race
// detector finds a coder that stores into what it writes.
func TestWritingOnlyReads(t *testing.T) {
	for _, c := range samples() {
		var wg sync.WaitGroup
		var out [2][]byte
		for i := range out {
			wg.Go(func() { out[i] = appendChange(nil, c) })
		}
		wg.Wait()
		if !bytes.Equal(out[0], out[1]) {
			t.Errorf("%T: written differently: %x and %x", c, out[0], out[1])
		}
	}
}

func TestLongChangeComesBack(t *testing.T) {
	for _, n := range []int{0, 100, 127, 128, 16_383, 16_384, 1 << 20} {
		want := PutKV{"n", "k", string(bytes.Repeat([]byte{'x'}, n))}
		got, _, err := decodeChange(appendChange(nil, want))
		if err != nil || got != want {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

// The bytes of one change are fixed: what is on disk stays readable.
func TestCommitBytes(t *testing.T) {
	b := appendChange(nil, Commit{
		QueueKey: QueueKey{"G", "T", 7}, Offset: 100, Epoch: 12, At: 1,
		Settled: []Range{{105, 110}}, Attempts: []Attempt{{101, 2}},
	})
	const want = "060112" + "0147" + "0154" + "0e" + "02" + "c801" + "0c" + "00" + "01d2010a" + "01ca0104"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, hex string
		unknown   bool
	}{
		{"cut header", "0601", false},
		{"cut fields", "060105" + "0147", false},
		{"unknown kind", "7f0100", true},
		{"version 0", "060000", true},
		{"newer version", "06ff00", true},
		{"too many fields", "110102" + "0101", false},
		{"number not in its shortest form", "110102" + "8100", false},
		{"list longer than the change", "060110" + "0147" + "0154" + "0e" + "02" + "c801" + "0c" + "00" + "ffffff0f" + "00", false},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = decodeChange(b)
		var unknown *UnknownError
		if err == nil || errors.As(err, &unknown) != c.unknown {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzDecodeChanges(f *testing.F) {
	var all []byte
	for _, c := range samples() {
		b := appendChange(nil, c)
		f.Add(b)
		all = append(all, b...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		v := newView()
		var again []byte
		err := decodeChanges(b, func(c Change) error {
			again = appendChange(again, c)
			c.apply(v)
			return nil
		})
		if err == nil && !bytes.Equal(b, again) {
			t.Fatalf("%x became %x", b, again)
		}
		// Whatever was applied can be stored and read back.
		back := newView()
		err = v.emit(func(item []byte) error {
			return decodeChanges(item, func(c Change) error {
				c.apply(back)
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
