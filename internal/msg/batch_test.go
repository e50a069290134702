// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const goldenBatch = `0000002f 00000000 00000000 00000000 00000005 68656c6c6f 0014 5741495401747275650254414753015461674102`

func TestGoldenBatch(t *testing.T) {
	want := []BatchMessage{{Body: []byte("hello"), Properties: "WAIT\x01true\x02TAGS\x01TagA\x02"}}
	got, err := DecodeBatch(unhex(t, goldenBatch), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b, err := AppendBatch(nil, want); err != nil || !bytes.Equal(b, unhex(t, goldenBatch)) {
		t.Errorf("%x, %v", b, err)
	}
}

func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) BatchMessage {
			return BatchMessage{rapid.Int32().Draw(t, "flag"), rapid.SliceOf(rapid.Byte()).Draw(t, "body"), rapid.String().Draw(t, "props")}
		})).Draw(t, "messages")
		b, err := AppendBatch([]byte("x"), want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeBatch(b[1:], len(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBrokenBatches(t *testing.T) {
	golden := unhex(t, goldenBatch)
	for n := 1; n < len(golden); n++ {
		if _, err := DecodeBatch(golden[:n], 0); !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	tests := map[string]func(b []byte){
		"size 0":               func(b []byte) { b[3] = 0 },
		"size negative":        func(b []byte) { b[0] = 0x80 },
		"size short":           func(b []byte) { b[3]-- },
		"body negative":        func(b []byte) { b[16] = 0xff },
		"body too long":        func(b []byte) { binary.BigEndian.PutUint32(b[16:], 26) },
		"properties negative":  func(b []byte) { b[25] = 0x80 },
		"properties too long":  func(b []byte) { b[26]++ },
		"properties too short": func(b []byte) { b[26]-- },
	}
	for name, breakIt := range tests {
		b := bytes.Clone(golden)
		breakIt(b)
		if _, err := DecodeBatch(b, 0); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := DecodeBatch(bytes.Repeat(golden, 3), 2); !errors.Is(err, ErrTooLong) {
		t.Errorf("three messages, two allowed: %v", err)
	}
	if _, err := AppendBatch(nil, []BatchMessage{{Properties: strings.Repeat("p", 32768)}}); !errors.Is(err, ErrTooLong) {
		t.Errorf("properties too long: %v", err)
	}
}

func TestUnwrap(t *testing.T) {
	body, err := AppendBatch(nil, []BatchMessage{{Body: []byte("a"), Properties: "TAGS\x01A\x02"}, {Flag: 7, Body: []byte("b")}})
	if err != nil {
		t.Fatal(err)
	}
	outer := Message{Topic: "T", QueueOffset: 3, SysFlag: FlagNeedUnwrap | FlagInnerBatch, Body: body, Properties: "TAGS\x01Outer\x02INNER_BASE\x0110\x02"}
	got, err := Unwrap(outer)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, want := range []struct {
		body, tag string
		flag      int32
	}{{"a", "A", 0}, {"b", "Outer", 7}} {
		m := got[i]
		if string(m.Body) != want.body || m.Tag() != want.tag || m.Flag != want.flag || m.QueueOffset != 10+int64(i) || m.SysFlag != 0 || m.Topic != "T" {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	plain := Message{Topic: "T", Body: []byte("x")}
	if got, err := Unwrap(plain); err != nil || len(got) != 1 || string(got[0].Body) != "x" {
		t.Errorf("plain message: %v, %v", got, err)
	}
	outer.Body = []byte("garbage")
	if _, err := Unwrap(outer); err == nil {
		t.Error("garbage unwrapped")
	}
}

// Outer properties are repeated in each message: that must not get out of hand.
func TestUnwrapIsBounded(t *testing.T) {
	body, err := AppendBatch(nil, make([]BatchMessage, 100))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := AppendBatch(nil, []BatchMessage{{Properties: "a\x01b\x02"}})
	body = append(body, bytes.Repeat(one, 3000)...)
	outer := Message{SysFlag: FlagNeedUnwrap | FlagInnerBatch, Body: body, Properties: "x\x01" + strings.Repeat("y", 32000) + "\x02"}
	if _, err := Unwrap(outer); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}
