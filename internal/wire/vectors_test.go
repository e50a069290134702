// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
)

// vector is one recorded frame of Apache RocketMQ 5.5.0 and its clients.
type vector struct {
	Scenario  string             `json:"scenario"`
	N         int                `json:"n"`
	Code      int32              `json:"code"`
	Opaque    int32              `json:"opaque"`
	Flag      int32              `json:"flag"`
	Response  bool               `json:"is_response"`
	Oneway    bool               `json:"oneway"`
	Language  string             `json:"language"`
	Version   int32              `json:"version"`
	Serialize string             `json:"serialize"`
	Remark    *string            `json:"remark"`
	Ext       *map[string]string `json:"ext"`
	BodyKind  string             `json:"body_kind"`
	FrameHex  string             `json:"frame_hex"`
}

var readVectors = sync.OnceValues(func() (all []vector, err error) {
	file, err := os.Open("testdata/frames.jsonl.gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	for lines := json.NewDecoder(bufio.NewReader(z)); lines.More(); {
		var v vector
		if err := lines.Decode(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
})

func vectors(t testing.TB) []vector {
	t.Helper()
	all, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2800 {
		t.Fatalf("%d recorded frames: the file is cut short", len(all))
	}
	return all
}

func (v vector) name() string { return fmt.Sprintf("%s/%d", v.Scenario, v.N) }

func (v vector) frame(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(v.FrameHex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordedFramesDecode(t *testing.T) {
	for _, v := range vectors(t) {
		frame := v.frame(t)
		c, err := wire.Decode(frame[4:])
		if err != nil {
			t.Errorf("%s: %v", v.name(), err)
			continue
		}
		if got := describe(c); got != want(v) {
			t.Errorf("%s:\n got %s\nwant %s", v.name(), got, want(v))
		}
		headerLen := int(frame[5])<<16 | int(frame[6])<<8 | int(frame[7])
		if !bytes.Equal(c.Body, frame[8+headerLen:]) {
			t.Errorf("%s: the body is not the frame's", v.name())
		}
	}
}

// describe renders the fields that a recording names.
func describe(c *wire.Command) string {
	remark, ext := "null", "null"
	if c.Remark != "" || c.EmptyRemark {
		remark = fmt.Sprintf("%q", c.Remark)
	}
	if c.Ext != nil {
		m := map[string]string{}
		for _, f := range c.Ext {
			m[f.Key] = f.Value
		}
		ext = fmt.Sprintf("%q", m)
	}
	return fmt.Sprintf("code %d opaque %d flag %d response %t oneway %t %s %d %d remark %s ext %s",
		c.Code, c.Opaque, c.Flag, c.IsResponse(), c.IsOneway(), c.Language, c.Version, c.Serialize, remark, ext)
}

func want(v vector) string {
	remark, ext, serialize := "null", "null", 0
	if v.Remark != nil {
		remark = fmt.Sprintf("%q", *v.Remark)
	}
	if v.Ext != nil {
		ext = fmt.Sprintf("%q", *v.Ext)
	}
	if v.Serialize == "ROCKETMQ" {
		serialize = 1
		if v.Remark != nil && *v.Remark == "" {
			remark = "null" // the binary form does not tell them apart
		}
		if v.Ext != nil && len(*v.Ext) == 0 {
			ext = "null"
		}
	}
	return fmt.Sprintf("code %d opaque %d flag %d response %t oneway %t %s %d %d remark %s ext %s",
		v.Code, v.Opaque, v.Flag, v.Response, v.Oneway, v.Language, v.Version, serialize, remark, ext)
}

// TestRecordedFramesComeBack encodes what was decoded: a binary frame must be
// equal byte for byte, a JSON header equal as JSON, with the same keys.
func TestRecordedFramesComeBack(t *testing.T) {
	for _, v := range vectors(t) {
		frame := v.frame(t)
		c, err := wire.Decode(frame[4:])
		if err != nil {
			t.Errorf("%s: %v", v.name(), err)
			continue
		}
		back, err := wire.AppendFrame(nil, c)
		if err != nil {
			t.Errorf("%s: %v", v.name(), err)
			continue
		}
		if v.Serialize == "ROCKETMQ" {
			if !bytes.Equal(back, frame) {
				t.Errorf("%s:\n got %x\nwant %x", v.name(), back, frame)
			}
			continue
		}
		gotHeader, gotBody := split(t, back)
		wantHeader, wantBody := split(t, frame)
		if got, want := canonical(t, gotHeader), canonical(t, wantHeader); got != want {
			t.Errorf("%s:\n got %s\nwant %s", v.name(), got, want)
		}
		if !bytes.Equal(gotBody, wantBody) {
			t.Errorf("%s: the body changed", v.name())
		}
	}
}

func split(t *testing.T, frame []byte) (header, body []byte) {
	t.Helper()
	total := int(frame[0])<<24 | int(frame[1])<<16 | int(frame[2])<<8 | int(frame[3])
	headerLen := int(frame[5])<<16 | int(frame[6])<<8 | int(frame[7])
	if total != len(frame)-4 || 8+headerLen > len(frame) {
		t.Fatalf("frame of %d bytes says %d, header %d", len(frame), total, headerLen)
	}
	return frame[8 : 8+headerLen], frame[8+headerLen:]
}

// canonical rewrites JSON by the standard library: sorted keys, one spelling.
func canonical(t *testing.T, b []byte) string {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRecordedFramesAcrossForms writes each JSON frame in the binary form and
// back: the fields must survive.
func TestRecordedFramesAcrossForms(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Serialize == "ROCKETMQ" || v.Code > 32767 {
			continue
		}
		c, err := wire.Decode(v.frame(t)[4:])
		if err != nil {
			t.Fatal(err)
		}
		c.Serialize = wire.SerializeRocketMQ
		binary, err := wire.AppendFrame(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.Decode(binary[4:])
		if err != nil {
			t.Fatalf("%s: %v", v.name(), err)
		}
		c.EmptyRemark = false
		if len(c.Ext) == 0 {
			c.Ext = nil
		}
		if a, b := describe(got), describe(c); a != b {
			t.Errorf("%s:\n got %s\nwant %s", v.name(), a, b)
		}
	}
}

func TestEveryRecordedCodeHasAName(t *testing.T) {
	unknown := map[int32]bool{9999: true, 200999: true, 1500: true} // made up by the recording
	for _, v := range vectors(t) {
		if v.Response {
			if name := wire.ResponseName(v.Code); strings.Trim(name, "-0123456789") == "" {
				t.Errorf("%s: response code %d has no name", v.name(), v.Code)
			}
			continue
		}
		if wire.KnownRequest(v.Code) == unknown[v.Code] {
			t.Errorf("%s: request code %d known: %t", v.name(), v.Code, wire.KnownRequest(v.Code))
		}
	}
}
