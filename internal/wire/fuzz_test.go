// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/orderlymq/orderly/internal/wire"
)

// seeds adds some recorded frames of each shape.
func seeds(f *testing.F, add func(frame []byte)) {
	for i, v := range vectors(f) {
		if i%40 == 0 && len(v.FrameHex) < 4000 || v.Serialize == "ROCKETMQ" {
			add(v.frame(f)[4:])
		}
	}
}

// FuzzDecode: what decodes must encode, and come back the same.
func FuzzDecode(f *testing.F) {
	seeds(f, func(frame []byte) { f.Add(frame) })
	f.Fuzz(func(t *testing.T, frame []byte) {
		c, err := wire.Decode(frame)
		if err != nil {
			return
		}
		back, err := wire.AppendFrame(nil, c)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := wire.Decode(back[4:])
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		if c.Serialize == wire.SerializeJSON {
			replaceBadUTF8(c)
		}
		if d := cmp.Diff(c, again, cmpopts.IgnoreUnexported(wire.Command{})); d != "" {
			t.Fatal(d)
		}
	})
}

// replaceBadUTF8 does to c what the JSON writer does to it.
func replaceBadUTF8(c *wire.Command) {
	fix := func(s string) string {
		if utf8.ValidString(s) {
			return s
		}
		return string([]rune(s))
	}
	c.Remark = fix(c.Remark)
	for i, f := range c.Ext {
		c.Ext[i] = wire.Field{Key: fix(f.Key), Value: fix(f.Value)}
	}
}

func FuzzJSONHeader(f *testing.F) {
	seeds(f, func(frame []byte) {
		if frame[0] == 0 {
			n := binary.BigEndian.Uint32(frame)
			f.Add(frame[4 : 4+n])
		}
	})
	f.Add([]byte(`{code:'1','ext_fields':{"a":1,'b':null},"x":[{}],}`))
	f.Add([]byte(`{"remark":"\ud83d\ude00\u0001\x"}`))
	f.Fuzz(func(t *testing.T, header []byte) {
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(header)&0xffffff)), header...)
		c, err := wire.Decode(frame)
		if err != nil {
			return
		}
		if _, err := wire.AppendFrame(nil, c); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 0, 1, 2, 3}, 10)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		frame, err := wire.ReadFrame(bytes.NewReader(stream), limit)
		if err == nil && len(frame) > len(stream)-4 {
			t.Fatalf("%d bytes out of %d", len(frame), len(stream))
		}
	})
}
