// SPDX-License-Identifier: Apache-2.0

package msg

import "testing"

func benchMessage() Message {
	return Message{
		Topic: "OrderTopic", QueueID: 3, BornHost: addr("127.0.0.1:1234"), StoreHost: addr("127.0.0.1:10911"), Body: make([]byte, 1024),
		Properties: "UNIQ_KEY\x01C000020217D330946E099A42DDAE0000\x02WAIT\x01true\x02TAGS\x01TagA\x02__SHARDINGKEY\x01order-4711\x02",
	}
}

// The broker's hot paths allocate nothing.
func TestHotPathsDoNotAllocate(t *testing.T) {
	m := benchMessage()
	buf := make([]byte, 0, 4096)
	rec, err := AppendCheckedRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	filter, _ := ParseTags("TagA || TagB")
	for name, f := range map[string]func(){
		"AppendRecord":        func() { buf, _ = AppendRecord(buf[:0], &m) },
		"AppendCheckedRecord": func() { buf, _ = AppendCheckedRecord(buf[:0], &m) },
		"PatchRecord":         func() { PatchRecord(rec, 1, 2, 3); SealRecord(rec) },
		"VerifyRecord":        func() { _ = VerifyRecord(rec) },
		"ParseView":           func() { v, _, _ := ParseView(rec); _, _ = v.TagHash(), v.KeyHash() },
		"Property":            func() { _, _ = m.Property(PropShardingKey) },
		"MatchHash":           func() { filter.MatchHash(2598919) },
		"CheckTopic":          func() { _ = CheckTopic(m.Topic) },
		"WithoutCheck":        func() { _ = WithoutCheck(m.Properties) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	m := benchMessage()
	buf := make([]byte, 0, 4096)
	n, _ := RecordSize(&m)
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendRecord(buf[:0], &m)
	}
}

func BenchmarkAppendCheckedRecord(b *testing.B) {
	m := benchMessage()
	buf := make([]byte, 0, 4096)
	n, _ := CheckedRecordSize(&m)
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendCheckedRecord(buf[:0], &m)
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	m := benchMessage()
	rec, _ := AppendRecord(nil, &m)
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DecodeRecord(rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDispatchView(b *testing.B) {
	m := benchMessage()
	rec, _ := AppendRecord(nil, &m)
	b.ReportAllocs()
	for b.Loop() {
		v, _, err := ParseView(rec)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = v.TagHash(), v.KeyHash()
	}
}

func BenchmarkProperty(b *testing.B) {
	m := benchMessage()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = m.Property(PropShardingKey)
	}
}

func BenchmarkZlib(b *testing.B) {
	m := benchMessage()
	var codec Codec
	buf := make([]byte, 0, 4096)
	b.SetBytes(int64(len(m.Body)))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = codec.Compress(buf[:0], m.Body, Zlib)
	}
}

func BenchmarkNextID(b *testing.B) {
	g := NewIDGenerator(IDConfig{})
	b.ReportAllocs()
	for b.Loop() {
		_ = g.Next()
	}
}
