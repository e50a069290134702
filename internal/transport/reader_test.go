// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/orderlymq/orderly/internal/wire"
)

// chunks reads b in pieces of the sizes that sizes gives, in turn.
func chunks(b []byte, sizes ...int) func([]byte) (int, error) {
	i := 0
	return func(p []byte) (int, error) {
		if len(b) == 0 {
			return 0, io.EOF
		}
		n := copy(p[:min(len(p), sizes[i%len(sizes)])], b)
		i++
		b = b[n:]
		return n, nil
	}
}

func readAll(read func([]byte) (int, error), l Limits) (cmds []*wire.Command, err error) {
	f := newFrameReader(read, l.withDefaults())
	defer f.release()
	for {
		h, err := f.next()
		if err == nil {
			err = f.body(h)
		}
		if err != nil {
			return cmds, err
		}
		cmds = append(cmds, h.cmd)
	}
}

// stream makes frames of many sizes and their bytes.
func stream(t testing.TB, seed uint64) (cmds []*wire.Command, b []byte) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		cmd := wire.NewRequest(rng.Int32N(400), nil, make([]byte, rng.IntN([]int{1, 100, smallBuffer, 100 << 10}[rng.IntN(4)])))
		for i := range cmd.Body {
			cmd.Body[i] = byte(i + len(cmds))
		}
		cmd.Ext.Set("k", strings.Repeat("v", rng.IntN([]int{10, 10, 10, 5000, 100_000}[rng.IntN(5)])))
		cmd.Serialize = wire.SerializeType(rng.IntN(2))
		cmds = append(cmds, cmd)
		b = append(b, frame(t, cmd)...)
	}
	return cmds, b
}

func TestFramesComeOutHoweverTheyArrive(t *testing.T) {
	for seed := range uint64(4) {
		want, b := stream(t, seed)
		for _, sizes := range [][]int{{1 << 30}, {1, 7, 4096}, {4096}, {8}, {3, 70_000}} {
			got, err := readAll(chunks(b, sizes...), Limits{})
			if err != io.EOF || len(got) != len(want) {
				t.Fatalf("seed %d, pieces %v: %d of %d frames, %v", seed, sizes, len(got), len(want), err)
			}
			for i := range want {
				if got[i].Code != want[i].Code || !bytes.Equal(got[i].Body, want[i].Body) || got[i].Ext.Value("k") != want[i].Ext.Value("k") {
					t.Fatalf("seed %d, pieces %v: frame %d differs", seed, sizes, i)
				}
			}
		}
	}
}

func TestBodyIsAllocatedOnceAtItsSize(t *testing.T) {
	b := frame(t, wire.NewRequest(10, nil, make([]byte, 1000)))
	got, _ := readAll(chunks(b, 1<<30), Limits{})
	if c := cap(got[0].Body); c > 1024 {
		t.Errorf("body of 1000 bytes has capacity %d", c)
	}
}

func TestWaitingReaderHoldsTheSmallBufferOnly(t *testing.T) {
	_, b := stream(t, 1)
	f := newFrameReader(nil, Limits{}.withDefaults())
	feed := chunks(b, 1<<30)
	f.read = func(p []byte) (int, error) {
		if f.large != nil && !f.partial() {
			t.Fatal("waits between frames with a borrowed buffer")
		}
		return feed(p)
	}
	for {
		h, err := f.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.skip(h); err != nil {
			t.Fatal(err)
		}
	}
}

func prefix(length, mark uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, length), mark)
}

func TestBadFramesAreNamed(t *testing.T) {
	good := frame(t, wire.NewRequest(10, nil, []byte("body")))
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"too long":              {prefix(16<<20-3, 2), "16777217 bytes announced, at most 16777216 allowed"},
		"longest possible":      {prefix(1<<32-1, 2), "4294967299 bytes announced"},
		"no room for the mark":  {prefix(3, 0), "length 3 is less than"},
		"zero":                  {prefix(0, 0), "length 0 is less than"},
		"header beyond frame":   {prefix(10, 7), "header of 7 bytes announced in a frame that has room for 6"},
		"header too long":       {prefix(2<<20, 1<<20+1), "header of 1048577 bytes, at most 1048576 allowed"},
		"unknown serialization": {prefix(100, 2<<24|50), "unknown serialization 2"},
		"header is no JSON":     {append(prefix(8, 4), "abcd"...), "header does not decode"},
		"cut prefix":            {good[:5], "ended inside the frame's first 8 bytes"},
		"cut header":            {good[:20], "ended inside a header"},
		"cut body":              {good[:len(good)-1], "ended inside a body"},
		"TLS":                   {prefix(0x16030102, 0), "looks like TLS"},
		"HTTP":                  {[]byte("GET / HTTP/1.1\r\n"), "looks like HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(chunks(c.in, 1<<30), Limits{})
			if !isFrameError(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got, err := readAll(chunks(good, 1<<30), Limits{}); err != io.EOF || len(got) != 1 {
		t.Errorf("good frame: %d, %v", len(got), err)
	}
}

func TestReadErrorsComeThrough(t *testing.T) {
	good := frame(t, wire.NewRequest(10, nil, []byte("body")))
	r := iotest.TimeoutReader(bytes.NewReader(good))
	if _, err := readAll(r.Read, Limits{}); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// FuzzFrames checks that no input makes the reader panic, allocate more than
// the input and its limits allow, or accept what the plain decoder refuses.
func FuzzFrames(f *testing.F) {
	f.Add(frame(f, wire.NewRequest(10, nil, []byte("body"))), uint8(3))
	binaryForm := wire.NewRequest(34, nil, nil)
	binaryForm.Serialize = wire.SerializeRocketMQ
	f.Add(append(frame(f, binaryForm), frame(f, wire.NewRequest(11, nil, nil))...), uint8(200))
	f.Add(prefix(16<<20-3, 2), uint8(1))
	f.Add(prefix(100, 1<<24|96), uint8(1))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		l := Limits{MaxFrame: 1 << 16, MaxHeader: 1 << 14}
		got, err := readAll(chunks(b, int(piece)+1), l)
		if err == nil {
			t.Fatal("an end without an error")
		}
		rest := bytes.NewReader(b)
		for i, cmd := range got {
			raw, err := wire.ReadFrame(rest, l.MaxFrame)
			if err != nil {
				t.Fatalf("frame %d: the plain reader refuses: %v", i, err)
			}
			want, err := wire.Decode(raw)
			if err != nil {
				t.Fatalf("frame %d: the plain decoder refuses: %v", i, err)
			}
			if want.Code != cmd.Code || want.Opaque != cmd.Opaque || want.Remark != cmd.Remark || !bytes.Equal(want.Body, cmd.Body) {
				t.Fatalf("frame %d: got %+v, want %+v", i, cmd, want)
			}
		}
		if err == io.EOF && rest.Len() > 0 {
			t.Fatalf("%d bytes left behind", rest.Len())
		}
	})
}
