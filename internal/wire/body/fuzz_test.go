// SPDX-License-Identifier: Apache-2.0

package body

import (
	"bytes"
	"maps"
	"slices"
	"testing"
)

// kinds has every body once, in a fixed order.
func kinds() []func() text {
	var all []func() text
	for _, table := range []map[int32]func() text{requestBodies(), responseBodies()} {
		for _, code := range slices.Sorted(maps.Keys(table)) {
			all = append(all, table[code])
		}
	}
	return all
}

// FuzzBodies: what decodes must encode to a body that decodes to the same.
func FuzzBodies(f *testing.F) {
	table := requestBodies()
	codes := slices.Sorted(maps.Keys(table))
	answers := slices.Sorted(maps.Keys(responseBodies()))
	seen := map[int]int{}
	for _, rec := range recordings(f) {
		kind := slices.Index(codes, rec.code)
		if rec.response {
			if kind = slices.Index(answers, rec.code); kind >= 0 {
				kind += len(codes)
			}
		}
		if kind < 0 || len(rec.body) > 2000 || seen[kind] == 2 {
			continue
		}
		seen[kind]++
		f.Add(byte(kind), rec.body)
	}
	f.Add(byte(0), []byte(`{"topicConfigList":[{"attributes":{"a":"b"}},{"attributes":{"$ref":"$.topicConfigList[0].attributes"}}]}`))
	all := kinds()
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		fresh := all[int(kind)%len(all)]
		b := fresh()
		if err := b.Decode(data); err != nil {
			return
		}
		first := b.Encode()
		again := fresh()
		if err := again.Decode(first); err != nil {
			t.Fatalf("%T: %v in %s", b, err, first)
		}
		if second := again.Encode(); !bytes.Equal(first, second) {
			t.Fatalf("%T:\n got %s\nwant %s", b, second, first)
		}
	})
}

func FuzzCompressedRegistration(f *testing.F) {
	b := RegisterBroker{Topics: TopicConfigSerializeWrapper{Topics: map[string]TopicConfig{"T": {TopicName: "T"}}}}
	data, err := b.EncodeCompressed(true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(slices.Concat(make([]byte, 4), []byte{0xff, 0xff, 0xff, 0xff}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = new(RegisterBroker).DecodeCompressed(data)
		_ = new(RegisterBroker).readParts(&parts{data}) // as if it had been inflated
	})
}
