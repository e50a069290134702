// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func addStored(f *testing.F) {
	f.Helper()
	for _, g := range []string{goldenT1, goldenOrder, goldenBatch} {
		f.Add(unhex(f, g))
	}
	for i, fr := range readLines[frame](f, "records.jsonl.gz") {
		if b, err := hex.DecodeString(fr.Body); err == nil && i%5 == 0 {
			f.Add(b)
		}
	}
}

// Whatever decodes also survives every accessor and encodes to the same bytes
// (up to the check sum of the body, which the decoder does not look at).
func FuzzDecodeRecord(f *testing.F) {
	addStored(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, n, err := DecodeRecord(b)
		_, _ = Peek(b)
		verified := VerifyRecord(b)
		if err != nil {
			if verified == nil {
				t.Fatalf("verified, but not decoded: %v", err)
			}
			return
		}
		rec := bytes.Clone(b[:n])
		v := View(rec)
		if !bytes.Equal(v.Body(), m.Body) || string(v.Topic()) != m.Topic || string(v.Properties()) != m.Properties {
			t.Fatal("view and value differ")
		}
		_, _, _, _ = m.ID(), m.OrderingKey(), v.TagHash(), v.KeyHash()
		PatchRecord(rec, m.QueueOffset, m.PhysicalOffset, m.StoreTimestamp)
		if !bytes.Equal(rec, b[:n]) {
			t.Fatal("patching with the same values changed the record")
		}
		again, err := AppendRecord(nil, &m)
		if err != nil || v.Magic() == MagicV2 && len(m.Topic) <= MaxTopicV1 {
			return // topics that we do not write, or not in this form
		}
		m2, _, err := DecodeRecord(again)
		if err != nil || len(again) != n || m2.Topic != m.Topic || !bytes.Equal(m2.Body, m.Body) || m2.BornHost != m.BornHost || m2.Properties != m.Properties {
			t.Fatalf("%v\n%x\n%x", err, again, rec)
		}
		if checked, err := AppendCheckedRecord(nil, &m); err == nil {
			if err := VerifyRecord(checked); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzDecodeBatch(f *testing.F) {
	addStored(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		msgs, err := DecodeBatch(b, 0)
		if err != nil {
			return
		}
		again, err := AppendBatch(nil, msgs)
		if err != nil || len(again) != len(b) {
			t.Fatalf("%d bytes became %d, %v", len(b), len(again), err)
		}
		inner, err := Unwrap(Message{SysFlag: FlagNeedUnwrap | FlagInnerBatch, Body: b, Properties: "a\x01b\x02"})
		if err != nil || len(inner) != len(msgs) {
			t.Fatalf("%d unwrapped of %d, %v", len(inner), len(msgs), err)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add("a\x01b\x02TAGS\x01x", "TAGS", "y")
	f.Add("\x01\x02\x02", "\x01", "\x02")
	f.Add("a\x01b\x02"+PropCRC+"\x010123456789\x02", PropCRC, "")
	f.Fuzz(func(t *testing.T, raw, name, value string) {
		fromBytes, ok1 := findProperty([]byte(raw), name)
		fromString, ok2 := Property(raw, name)
		if ok1 != ok2 || string(fromBytes) != fromString {
			t.Fatal("bytes and string differ")
		}
		if v, ok := ParseProperties(raw)[name]; ok != ok2 || v != fromString {
			t.Fatalf("map says %q, search %q", v, fromString)
		}
		_ = WithoutCheck(raw)
		if CheckProperty(name, value) != nil {
			return
		}
		if got, ok := Property(SetProperty(raw, name, value), name); !ok || got != value {
			t.Fatalf("set %q, got %q", value, got)
		}
		if _, ok := Property(DeleteProperty(raw, name), name); ok {
			t.Fatal("still there after its deletion")
		}
	})
}

func FuzzDecompress(f *testing.F) {
	var codec Codec
	for _, how := range ways {
		b, err := codec.Compress(nil, bytes.Repeat([]byte("orderly"), 100), how)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int32(how))
	}
	const limit = 1 << 16
	f.Fuzz(func(t *testing.T, b []byte, how int32) {
		plain, err := codec.Decompress(b, Compression(how), limit)
		if err == nil && len(plain) > limit {
			t.Fatalf("%d bytes", len(plain))
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("TagA || TagC", "1s 5s", "0A00000100002A9F0000000000001234")
	f.Fuzz(func(t *testing.T, tags, levels, id string) {
		if filter, err := ParseTags(tags); err == nil {
			for _, tag := range filter.Tags() {
				if !filter.Match(tag) || !filter.MatchHash(TagHash(tag)) {
					t.Fatalf("%q holds back its own tag %q", tags, tag)
				}
			}
		}
		if d, err := ParseDelayLevels(levels); err == nil && d.Delay(1) < 0 {
			t.Fatalf("%q: negative", levels)
		}
		if host, off, err := ParseOffsetID(id); err == nil && len(OffsetID(host, off)) != len(id) {
			t.Fatalf("%q became %q", id, OffsetID(host, off))
		}
		_, _ = CheckTopic(id), CheckGroup(id)
	})
}
