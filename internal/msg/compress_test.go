// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var ways = []Compression{None, LZ4, Zstd, Zlib}

func TestCompressRoundTrip(t *testing.T) {
	var codec Codec
	rapid.Check(t, func(t *rapid.T) {
		how := rapid.SampledFrom(ways).Draw(t, "how")
		body := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "body"), rapid.IntRange(1, 100).Draw(t, "times"))
		small, err := codec.Compress([]byte("x"), body, how)
		if err != nil || small[0] != 'x' {
			t.Fatal(err)
		}
		plain, err := codec.Decompress(small[1:], how, len(body))
		if err != nil || !bytes.Equal(plain, body) {
			t.Fatalf("%v: %d bytes came back of %d, %v", how, len(plain), len(body), err)
		}
		if len(body) > 0 {
			if _, err := codec.Decompress(small[1:], how, len(body)-1); !errors.Is(err, ErrTooBig) {
				t.Fatalf("%v: one byte over the limit: %v", how, err)
			}
		}
	})
}

// The first bytes are those that RocketMQ's clients write and expect.
func TestCompressedForm(t *testing.T) {
	var codec Codec
	body := bytes.Repeat([]byte("orderly "), 1000)
	for how, head := range map[Compression]string{Zlib: "785e", LZ4: "04224d186070", Zstd: "28b52ffd"} {
		got, err := codec.Compress(nil, body, how)
		if err != nil || !bytes.HasPrefix(got, unhex(t, head)) || len(got) > len(body)/10 {
			t.Errorf("%v: %d bytes, %x, %v", how, len(got), got[:min(8, len(got))], err)
		}
	}
}

func TestDecompressRefuses(t *testing.T) {
	var codec Codec
	body := bytes.Repeat([]byte("orderly "), 1000)
	for _, how := range ways[1:] {
		good, err := codec.Compress(nil, body, how)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"garbage": []byte("this is not compressed at all"), "empty": {}, "cut": good[:len(good)-5]} {
			if plain, err := codec.Decompress(bad, how, MaxBody); err == nil && !(name == "empty" && len(plain) == 0) {
				t.Errorf("%v of %s: %d bytes and no error", how, name, len(plain))
			}
		}
		// A codec that has seen garbage still works.
		if plain, err := codec.Decompress(good, how, MaxBody); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("%v after garbage: %v", how, err)
		}
	}
	if _, err := codec.Decompress(body, 7, MaxBody); err == nil {
		t.Error("unknown type decompressed")
	}
	if _, err := codec.Compress(nil, body, 7); err == nil {
		t.Error("unknown type compressed")
	}
}

// A bomb costs no more than the limit.
func TestDecompressionIsBounded(t *testing.T) {
	var codec Codec
	huge := make([]byte, 16<<20)
	for _, how := range ways[1:] {
		bomb, err := codec.Compress(nil, huge, how)
		if err != nil {
			t.Fatal(err)
		}
		const limit = 1 << 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := codec.Decompress(bomb, how, limit); !errors.Is(err, ErrTooBig) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 14<<20 {
			t.Errorf("%v: %d bytes allocated for a limit of %d", how, allocated, limit)
		}
	}
}

func TestCodecConcurrently(t *testing.T) {
	var codec Codec
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte(w), 1, 2}, 3000)
			for i := range 20 {
				how := ways[i%len(ways)]
				small, err := codec.Compress(nil, body, how)
				if err != nil {
					t.Error(err)
				}
				if plain, err := codec.Decompress(small, how, MaxBody); err != nil || !bytes.Equal(plain, body) {
					t.Errorf("%v: %v", how, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCompressionFlags(t *testing.T) {
	tests := []struct {
		flag int32
		want Compression
	}{{0, None}, {0x100, None}, {0x1, Zlib}, {0x101, LZ4}, {0x201, Zstd}, {0x301, Zlib}}
	for _, tt := range tests {
		if got := CompressionOf(tt.flag); got != tt.want {
			t.Errorf("%#x: %v, want %v", tt.flag, got, tt.want)
		}
	}
	for _, how := range ways {
		if flag := WithCompression(0x702|FlagInnerBatch, how); CompressionOf(flag) != how || flag&^0x701 != 0x2|FlagInnerBatch {
			t.Errorf("%v: flag %#x", how, flag)
		}
	}
}
