// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// expected is one line of what RocketMQ's own decoder found in a commit log.
type expected struct {
	PhysicalOffset            int64
	TotalSize                 int
	Magic, Kind, Topic        string
	QueueID                   int32 `json:"queueId"`
	QueueOffset               int64
	BodyCRC                   uint32
	Flag, SysFlag             int32
	BornTimestamp             int64
	BornHost                  string
	StoreTimestamp            int64
	StoreHost                 string
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	OffsetMsgID               string `json:"offsetMsgId"`
	MsgID                     string `json:"msgId"`
	Properties                map[string]string
	Body                      string
}

// Every record of two stores of RocketMQ's broker: its decoder and ours agree,
// and ours encodes the same bytes again.
func TestStoresOfRocketMQ(t *testing.T) {
	for _, store := range []string{"clean", "killed"} {
		t.Run(store, func(t *testing.T) {
			log := readGzip(t, store+".commitlog.gz")
			at := int64(0)
			for _, want := range readLines[expected](t, store+".expected.jsonl.gz") {
				if want.PhysicalOffset != at {
					t.Fatalf("our records lead to %d, theirs to %d", at, want.PhysicalOffset)
				}
				kind, size := Peek(log[at:])
				switch want.Kind {
				case "message":
					if kind != KindRecord {
						t.Fatalf("at %d: kind %d", at, kind)
					}
					compareRecord(t, log[at:], want)
				case "blank":
					if kind != KindBlank || !bytes.Equal(AppendBlank(nil, int32(size)), log[at:at+BlankSize]) {
						t.Fatalf("at %d: kind %d", at, kind)
					}
				case "end":
					if kind != KindEnd {
						t.Fatalf("at %d: kind %d", at, kind)
					}
				}
				if size != want.TotalSize {
					t.Fatalf("at %d: size %d, want %d", at, size, want.TotalSize)
				}
				at += int64(size)
			}
		})
	}
}

func compareRecord(t *testing.T, b []byte, want expected) {
	t.Helper()
	m, n, err := DecodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	rec := b[:n]
	if err := VerifyRecord(rec); err != nil {
		t.Errorf("at %d: %v", want.PhysicalOffset, err)
	}
	var codec Codec
	plain, err := codec.Plain(&m, MaxBody)
	if err != nil {
		t.Errorf("at %d: %v", want.PhysicalOffset, err)
	}
	got := expected{
		PhysicalOffset: m.PhysicalOffset, TotalSize: int(m.StoreSize), Magic: fmt.Sprintf("%08x", View(rec).Magic()), Kind: "message",
		Topic: m.Topic, QueueID: m.QueueID, QueueOffset: m.QueueOffset, BodyCRC: m.BodyCRC, Flag: m.Flag, SysFlag: m.SysFlag,
		BornTimestamp: m.BornTimestamp, BornHost: m.BornHost.String(), StoreTimestamp: m.StoreTimestamp, StoreHost: m.StoreHost.String(),
		ReconsumeTimes: m.ReconsumeTimes, PreparedTransactionOffset: m.PreparedTransactionOffset,
		OffsetMsgID: m.OffsetID(), MsgID: m.ID(), Properties: ParseProperties(m.Properties), Body: string(plain),
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	again, err := AppendRecord(nil, &m)
	if err != nil || !bytes.Equal(again, rec) {
		t.Errorf("at %d: encoded again (%v):\n%x\n%x", want.PhysicalOffset, err, again, rec)
	}
}

// The tag codes in RocketMQ's queue index are our hashes. (In the queues of
// delayed messages it keeps times instead.)
func TestTagCodesOfRocketMQ(t *testing.T) {
	type entry struct {
		Topic          string
		PhysicalOffset int64
		Size           int
		TagsCode       int64
	}
	checked, notASCII := 0, 0
	for _, store := range []string{"clean", "killed"} {
		log := readGzip(t, store+".commitlog.gz")
		for _, e := range readLines[entry](t, store+".consumequeue.jsonl.gz") {
			v, n, err := ParseView(log[e.PhysicalOffset:])
			if err != nil || n != e.Size || string(v.Topic()) != e.Topic {
				t.Fatalf("%+v: %d bytes of %q, %v", e, n, v.Topic(), err)
			}
			if e.Topic == TopicSchedule || e.Topic == TopicTimer {
				continue
			}
			if v.TagHash() != e.TagsCode {
				t.Errorf("%+v: our code is %d", e, v.TagHash())
			}
			tag, _ := v.Property(PropTags)
			for _, c := range tag {
				if c >= 0x80 {
					notASCII++
				}
			}
			checked++
		}
	}
	if checked < 50 || notASCII == 0 {
		t.Errorf("only %d codes checked, %d bytes not ASCII", checked, notASCII)
	}
}

// frame is one recorded frame body that holds messages.
type frame struct {
	Scenario string
	N, Code  int
	Response bool
	Body     string
}

const sendBatchCode = 320

// All recorded bodies with messages, stored records and batches, decode and
// encode to the same bytes.
func TestRecordedBodies(t *testing.T) {
	records, batches := 0, 0
	for _, f := range readLines[frame](t, "records.jsonl.gz") {
		body, err := hex.DecodeString(f.Body)
		if err != nil {
			t.Fatal(err)
		}
		if f.Code == sendBatchCode && !f.Response {
			msgs, err := DecodeBatch(body, 0)
			if err != nil {
				t.Errorf("%s %d: %v", f.Scenario, f.N, err)
			}
			again, err := AppendBatch(nil, msgs)
			if err != nil || !bytes.Equal(again, body) {
				t.Errorf("%s %d: batch encoded again differs (%v)", f.Scenario, f.N, err)
			}
			batches += len(msgs)
			continue
		}
		var again []byte
		for v, err := range Views(body) {
			if err != nil {
				t.Fatalf("%s %d: %v", f.Scenario, f.N, err)
			}
			m := v.Message()
			if again, err = AppendRecord(again, &m); err != nil {
				t.Errorf("%s %d: %v", f.Scenario, f.N, err)
			}
			if err := VerifyRecord(v); err != nil {
				t.Errorf("%s %d: %v", f.Scenario, f.N, err)
			}
			checkProperties(t, v, m)
			records++
		}
		if !bytes.Equal(again, body) {
			t.Errorf("%s %d: records encoded again differ\n%x\n%x", f.Scenario, f.N, again, body)
		}
	}
	if records < 100 || batches < 10 {
		t.Errorf("only %d records and %d batch messages", records, batches)
	}
}

// The two ways to read properties agree on real ones.
func checkProperties(t *testing.T, v View, m Message) {
	t.Helper()
	props := ParseProperties(m.Properties)
	for name, value := range props {
		if got, ok := v.Property(name); !ok || string(got) != value {
			t.Errorf("property %s: view says %q, map %q", name, got, value)
		}
	}
	if again := ParseProperties(FormatProperties(props)); !maps.Equal(props, again) {
		t.Errorf("properties %q, written and read %q", props, again)
	}
}

// Records that RocketMQ's Java library encoded: hosts of both lengths, with and
// without the check over the whole record, whose digits it worked out too.
func TestEncodedByRocketMQ(t *testing.T) {
	text, err := os.ReadFile("testdata/encoded-5.5.0.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		topic, checked, rec, id := f[0], f[1] == "1", unhex(t, f[2]), f[3]
		born, store := "10.1.2.3:40000", "10.0.0.1:10911"
		if topic == "BornV6" || topic == "BothV6" {
			born = "[2001:db8::1]:40000"
		}
		if topic == "StoreV6" {
			store = "[fe80::1]:10911"
		} else if topic == "BothV6" {
			store = "[2001:db8::2]:10911"
		}
		got, n, err := DecodeRecord(rec)
		if err != nil || n != len(rec) {
			t.Fatalf("%s: %d of %d, %v", topic, n, len(rec), err)
		}
		want := Message{
			Topic: topic, QueueID: 3, Flag: -7, QueueOffset: 1 << 40, PhysicalOffset: 123456789012, BornTimestamp: 1700000000000, StoreTimestamp: 1700000000123,
			BornHost: addr(born), StoreHost: addr(store), ReconsumeTimes: 2, PreparedTransactionOffset: 77, Body: []byte("täst"),
			Properties: got.Properties, StoreSize: int32(len(rec)), BodyCRC: BodyCRC([]byte("täst")),
		}
		want.SysFlag = recordSysFlag(&want)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Errorf("%s: %s", topic, diff)
		}
		props := ParseProperties(WithoutCheck(got.Properties))
		if !maps.Equal(props, map[string]string{"colour": "rød", PropTags: "TägA", PropKeys: "k1 k2"}) {
			t.Errorf("%s: properties %q", topic, props)
		}
		verify, encode := VerifyRecord, AppendRecord
		if checked {
			verify, encode = VerifyCheckedRecord, AppendCheckedRecord
		}
		if err := verify(rec); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
		if again, err := encode(nil, &got); err != nil || !bytes.Equal(again, rec) {
			t.Errorf("%s: encoded again %x, want %x, %v", topic, again, rec, err)
		}
		if got.OffsetID() != id {
			t.Errorf("%s: id %s, want %s", topic, got.OffsetID(), id)
		}
		seen++
	}
	if seen != 8 {
		t.Errorf("%d records", seen)
	}
}
