// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Two golden records of RocketMQ.
const (
	goldenT1 = `0000006cdaa320a73610a686000000010000000000000000000000030000000000001234000000000000018bcfe568000a0000090000138800
		00018bcfe568010a00000100002a9f0000000000000000000000000000000568656c6c6f025431000a54414753015461674102`
	goldenOrder = `0000007d daa320a7 060bb6a6 00000000 00000000 0000000000000000 0000000000000000
		00000000 0000018bcfe56800 7f000001 000004d2 000001a22e602424 7f000001 00002a9f
		00000000 0000000000000000 00000006 626f64792d30 0a 4f72646572546f706963
		0012 4b455953 01 6b30 02 54414753 01 54616741 02`
)

func addr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func TestGoldenRecords(t *testing.T) {
	tests := []struct {
		golden, offsetID string
		m                Message
	}{
		{goldenT1, "0A00000100002A9F0000000000001234", Message{
			Topic: "T1", QueueID: 1, QueueOffset: 3, PhysicalOffset: 0x1234, BornTimestamp: 1700000000000, StoreTimestamp: 1700000000001,
			BornHost: addr("10.0.0.9:5000"), StoreHost: addr("10.0.0.1:10911"), Body: []byte("hello"), Properties: "TAGS\x01TagA\x02",
			StoreSize: 108, BodyCRC: 0x3610a686,
		}},
		{goldenOrder, "7F00000100002A9F0000000000000000", Message{
			Topic: "OrderTopic", BornTimestamp: 1700000000000, StoreTimestamp: 0x1a22e602424,
			BornHost: addr("127.0.0.1:1234"), StoreHost: addr("127.0.0.1:10911"), Body: []byte("body-0"), Properties: "KEYS\x01k0\x02TAGS\x01TagA\x02",
			StoreSize: 125, BodyCRC: 0x060bb6a6,
		}},
	}
	for _, tt := range tests {
		rec := unhex(t, tt.golden)
		got, n, err := DecodeRecord(append(bytes.Clone(rec), "the next record"...))
		if err != nil || n != len(rec) {
			t.Fatalf("decode: %d bytes, %v", n, err)
		}
		if diff := cmp.Diff(tt.m, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Error(diff)
		}
		if out, err := AppendRecord([]byte("before"), &tt.m); err != nil || !bytes.Equal(out[6:], rec) {
			t.Errorf("encode: %x, %v", out, err)
		}
		if got.OffsetID() != tt.offsetID || got.ID() != tt.offsetID {
			t.Errorf("id %s %s, want %s", got.OffsetID(), got.ID(), tt.offsetID)
		}
	}
}

func TestIPv6HostsAndLongTopics(t *testing.T) {
	long := strings.Repeat("t", 128)
	tests := []struct {
		name        string
		m           Message
		size        int
		flag        int32
		born, store string
	}{
		{"both v4", Message{Topic: "T", BornHost: addr("1.2.3.4:1"), StoreHost: addr("5.6.7.8:2")}, 92, 0, "1.2.3.4:1", "5.6.7.8:2"},
		{"no hosts", Message{Topic: "T"}, 92, 0, "0.0.0.0:0", "0.0.0.0:0"},
		{"born v6", Message{Topic: "T", BornHost: addr("[::1]:1"), StoreHost: addr("5.6.7.8:2")}, 104, FlagBornHostV6, "[::1]:1", "5.6.7.8:2"},
		{"store v6", Message{Topic: "T", BornHost: addr("1.2.3.4:1"), StoreHost: addr("[fe80::1]:65535")}, 104, FlagStoreHostV6, "1.2.3.4:1", "[fe80::1]:65535"},
		{"both v6", Message{Topic: "T", BornHost: addr("[::1]:1"), StoreHost: addr("[::2]:2"), SysFlag: 8}, 116, FlagBornHostV6 | FlagStoreHostV6 | 8, "[::1]:1", "[::2]:2"},
		{"bits set beforehand", Message{Topic: "T", BornHost: addr("1.2.3.4:1"), SysFlag: FlagBornHostV6}, 104, FlagBornHostV6, "[::ffff:1.2.3.4]:1", "0.0.0.0:0"},
		{"mapped without the bit", Message{Topic: "T", BornHost: addr("[::ffff:1.2.3.4]:1")}, 92, 0, "1.2.3.4:1", "0.0.0.0:0"},
		{"topic of 127", Message{Topic: long[:127]}, 91 + 127, 0, "0.0.0.0:0", "0.0.0.0:0"},
		{"topic of 128 makes V2", Message{Topic: long}, 92 + 128, 0, "0.0.0.0:0", "0.0.0.0:0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := AppendRecord(nil, &tt.m)
			if err != nil || len(rec) != tt.size {
				t.Fatalf("%d bytes, want %d, %v", len(rec), tt.size, err)
			}
			got, _, err := DecodeRecord(rec)
			if err != nil {
				t.Fatal(err)
			}
			if got.SysFlag != tt.flag || got.BornHost.String() != tt.born || got.StoreHost.String() != tt.store || got.Topic != tt.m.Topic {
				t.Errorf("flag %#x, born %v, store %v, topic %q", got.SysFlag, got.BornHost, got.StoreHost, got.Topic)
			}
			if v2 := View(rec).Magic() == MagicV2; v2 != (len(tt.m.Topic) > 127) {
				t.Errorf("V2 is %v for a topic of %d", v2, len(tt.m.Topic))
			}
		})
	}
}

func TestOffsetIDOfWideStoreHost(t *testing.T) {
	m := Message{StoreHost: addr("10.0.0.1:10911"), SysFlag: FlagStoreHostV6, PhysicalOffset: 1}
	if got := m.OffsetID(); len(got) != 56 {
		t.Errorf("id %s", got)
	}
}

func TestRecordsThatDoNotFit(t *testing.T) {
	tests := map[string]struct {
		m    Message
		want error
	}{
		"no topic":                {Message{}, ErrCorrupt},
		"topic of 256":            {Message{Topic: strings.Repeat("t", 256)}, ErrTooLong},
		"properties of 32768":     {Message{Topic: "T", Properties: strings.Repeat("p", 32768)}, ErrTooLong},
		"properties of 32767 fit": {Message{Topic: "T", Properties: strings.Repeat("p", 32767)}, nil},
	}
	for name, tt := range tests {
		if _, err := AppendRecord(nil, &tt.m); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	m := Message{Topic: "T", Properties: strings.Repeat("p", MaxProperties-CheckSize)}
	if _, err := AppendCheckedRecord(nil, &m); !errors.Is(err, ErrTooLong) { // one byte for the separator
		t.Errorf("check that does not fit: %v", err)
	}
}

// A record cut off anywhere, or with one lying length, is refused.
func TestBrokenRecords(t *testing.T) {
	rec := unhex(t, goldenOrder)
	for n := range rec {
		if _, _, err := DecodeRecord(rec[:n]); !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d of %d bytes: %v", n, len(rec), err)
		}
	}
	const bodyLen, topicLen, propsLen = 84, 94, 105
	tests := map[string]func(b []byte){
		"size 0":                   func(b []byte) { binary.BigEndian.PutUint32(b, 0) },
		"size negative":            func(b []byte) { b[0] = 0xff },
		"size below the least":     func(b []byte) { binary.BigEndian.PutUint32(b, MinRecordSize-1) },
		"size one short":           func(b []byte) { binary.BigEndian.PutUint32(b, uint32(len(b)-1)) },
		"bad magic":                func(b []byte) { b[4]++ },
		"blank magic":              func(b []byte) { binary.BigEndian.PutUint32(b[4:], MagicBlank) },
		"V2 magic on V1":           func(b []byte) { binary.BigEndian.PutUint32(b[4:], MagicV2) },
		"body negative":            func(b []byte) { b[bodyLen] = 0xff },
		"body too long":            func(b []byte) { binary.BigEndian.PutUint32(b[bodyLen:], 1000) },
		"body eats the topic":      func(b []byte) { b[bodyLen+3] = 37 },
		"topic of 128 in V1":       func(b []byte) { b[topicLen] = 128 },
		"topic too long":           func(b []byte) { b[topicLen] = 127 },
		"topic eats the rest":      func(b []byte) { b[topicLen] = 30 },
		"properties negative":      func(b []byte) { b[propsLen] = 0x80 },
		"properties too short":     func(b []byte) { b[propsLen+1]-- },
		"properties too long":      func(b []byte) { b[propsLen+1]++ },
		"host bit without a place": func(b []byte) { b[39] = byte(FlagBornHostV6) },
	}
	for name, breakIt := range tests {
		b := bytes.Clone(rec)
		breakIt(b)
		if _, _, err := DecodeRecord(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out, err := DecodeRecords(append(bytes.Clone(rec), 1, 2, 3)); len(out) != 1 || !errors.Is(err, ErrTruncated) {
		t.Errorf("one record and a rest: %d, %v", len(out), err)
	}
}

func TestPatchRecord(t *testing.T) {
	for _, host := range []string{"1.2.3.4:1", "[::1]:1"} {
		m := Message{Topic: "T", BornHost: addr(host), Body: []byte("b"), Properties: "a\x01b\x02"}
		plain, _ := AppendRecord(nil, &m)
		checked, _ := AppendCheckedRecord(nil, &m)
		PatchRecord(plain, 5, 6, 7)
		PatchRecord(checked, 5, 6, 7)
		m.QueueOffset, m.PhysicalOffset, m.StoreTimestamp = 5, 6, 7
		if want, _ := AppendRecord(nil, &m); !bytes.Equal(plain, want) {
			t.Errorf("patched %x, want %x", plain, want)
		}
		if err := VerifyRecord(checked); !errors.Is(err, ErrChecksum) {
			t.Errorf("patched and not sealed: %v", err)
		}
		if !SealRecord(checked) {
			t.Error("no check found to seal")
		}
		if want, _ := AppendCheckedRecord(nil, &m); !bytes.Equal(checked, want) {
			t.Errorf("patched %x, want %x", checked, want)
		}
		if SealRecord(plain) {
			t.Error("sealed a record without a check")
		}
	}
}

func TestCheckedRecord(t *testing.T) {
	m := Message{Topic: "T", Body: []byte("hello"), Properties: "a\x01b"} // no separator at the end
	rec, err := AppendCheckedRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := CheckedRecordSize(&m); n != len(rec) || err != nil {
		t.Errorf("size %d, have %d, %v", n, len(rec), err)
	}
	if err := VerifyRecord(rec); err != nil {
		t.Error(err)
	}
	if err := VerifyCheckedRecord(rec); err != nil {
		t.Error(err)
	}
	tail := rec[len(rec)-20:]
	if !bytes.HasPrefix(tail, []byte("__CRC32#\x01")) || tail[19] != 2 {
		t.Errorf("tail %q", tail)
	}
	for i := range rec {
		for _, bit := range []byte{1, 0x80} {
			rec[i] ^= bit
			if err := VerifyCheckedRecord(rec); err == nil {
				t.Errorf("byte %d changed by %#x: nobody noticed", i, bit)
			}
			rec[i] ^= bit
		}
	}
	got, _, err := DecodeRecord(rec)
	if err != nil || WithoutCheck(got.Properties) != "a\x01b\x02" {
		t.Errorf("properties %q, %v", got.Properties, err)
	}
	again, err := AppendCheckedRecord(nil, &got)
	if err != nil || !bytes.Equal(again, rec) {
		t.Errorf("encoded again: %x, want %x, %v", again, rec, err)
	}
}

// The digits of the check stand in reverse: an executed sample of RocketMQ ends
// in 0645496481.
func TestCheckDigits(t *testing.T) {
	b := make([]byte, checkDigits)
	putCheck(b, 1846945460)
	if string(b) != "0645496481" {
		t.Errorf("digits %s", b)
	}
	if sum, ok := readCheck(b); !ok || sum != 1846945460 {
		t.Errorf("read %d %v", sum, ok)
	}
	for _, bad := range []string{"064549648x", "9999999999", "          "} {
		if _, ok := readCheck([]byte(bad)); ok {
			t.Errorf("%q taken for a check", bad)
		}
	}
}

func TestVerifyRecord(t *testing.T) {
	rec := unhex(t, goldenOrder)
	if err := VerifyRecord(rec); err != nil {
		t.Error(err)
	}
	if err := VerifyCheckedRecord(rec); !errors.Is(err, ErrChecksum) {
		t.Errorf("a check was asked for, none is there: %v", err)
	}
	if err := VerifyRecord(append(bytes.Clone(rec), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with a byte more: %v", err)
	}
	rec[88] ^= 1
	if err := VerifyRecord(rec); !errors.Is(err, ErrChecksum) {
		t.Errorf("body changed: %v", err)
	}
}

func TestPeek(t *testing.T) {
	golden := unhex(t, goldenOrder)
	tests := []struct {
		b    []byte
		kind Kind
		size int
	}{
		{golden, KindRecord, 125},
		{golden[:8], KindRecord, 125},
		{golden[:7], KindBad, 0},
		{AppendBlank(nil, 19), KindBlank, 19},
		{AppendBlank(nil, 7), KindBad, 7},
		{make([]byte, 8), KindEnd, 0},
		{[]byte{0, 0, 0, 1, 0, 0, 0, 0}, KindBad, 1},
		{[]byte{0, 0, 0, 0, 0xda, 0xa3, 0x20, 0xa7}, KindBad, 0},
	}
	for _, tt := range tests {
		if kind, size := Peek(tt.b); kind != tt.kind || size != tt.size {
			t.Errorf("%x: kind %d size %d, want %d %d", tt.b[:7], kind, size, tt.kind, tt.size)
		}
	}
}

func genHost(t *rapid.T, label string) netip.AddrPort {
	size := rapid.SampledFrom([]int{4, 16}).Draw(t, label+" size")
	ip, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, label))
	return netip.AddrPortFrom(ip.Unmap(), rapid.Uint16().Draw(t, label+" port"))
}

func genMessage(t *rapid.T) Message {
	m := Message{
		Topic:         rapid.StringMatching(`[%|a-zA-Z0-9_-]{1,200}`).Draw(t, "topic"),
		QueueID:       rapid.Int32().Draw(t, "queue"),
		Flag:          rapid.Int32().Draw(t, "flag"),
		SysFlag:       rapid.Int32().Draw(t, "sysFlag") &^ (FlagBornHostV6 | FlagStoreHostV6),
		QueueOffset:   rapid.Int64().Draw(t, "offset"),
		BornTimestamp: rapid.Int64().Draw(t, "born"), StoreTimestamp: rapid.Int64().Draw(t, "stored"),
		PhysicalOffset: rapid.Int64().Draw(t, "physical"), PreparedTransactionOffset: rapid.Int64().Draw(t, "prepared"),
		BornHost: genHost(t, "born host"), StoreHost: genHost(t, "store host"),
		ReconsumeTimes: rapid.Int32().Draw(t, "reconsume"),
		Body:           rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		Properties:     FormatProperties(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "properties")),
	}
	return m
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMessage(t)
		encode := AppendRecord
		if rapid.Bool().Draw(t, "checked") {
			encode = AppendCheckedRecord
		}
		rec, err := encode([]byte("x"), &m)
		if err != nil {
			t.Fatal(err)
		}
		rec = rec[1:]
		if err := VerifyRecord(rec); err != nil {
			t.Fatal(err)
		}
		got, n, err := DecodeRecord(rec)
		if err != nil || n != len(rec) {
			t.Fatalf("decode: %d of %d, %v", n, len(rec), err)
		}
		m.SysFlag, m.StoreSize, m.BodyCRC = recordSysFlag(&m), int32(n), BodyCRC(m.Body)
		got.Properties = WithoutCheck(got.Properties)
		if diff := cmp.Diff(m, got, cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
