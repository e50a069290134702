// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/orderlymq/orderly/internal/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenBinary has the frames of the protocol reference, made by the real
// Java and Go classes.
func TestGoldenBinary(t *testing.T) {
	for _, tc := range []struct {
		name, frame string
		want        wire.Command
	}{
		{
			"route request of Java",
			"0000002a 01000026 0069 00 01db 00000001 00000000 00000000 00000011 0005 746f706963 00000006 544257313032",
			wire.Command{
				Code: 105, Version: 475, Opaque: 1, Serialize: wire.SerializeRocketMQ,
				Ext: wire.Fields{{Key: "topic", Value: "TBW102"}},
			},
		},
		{
			"Go with a remark",
			"00000023 0100001f 000a 09 013d 00000001 00000000 00000002 6869 00000008 0001 6b 00000001 76",
			wire.Command{
				Code: 10, Language: wire.LanguageGo, Version: 317, Opaque: 1, Remark: "hi",
				Serialize: wire.SerializeRocketMQ, Ext: wire.Fields{{Key: "k", Value: "v"}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			frame := unhex(t, tc.frame)
			got, err := wire.Decode(frame[4:])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tc.want, got, cmpopts.IgnoreUnexported(wire.Command{})); d != "" {
				t.Error(d)
			}
			back, err := wire.AppendFrame(nil, &tc.want)
			if err != nil || !bytes.Equal(back, frame) {
				t.Errorf("%v\n got %x\nwant %x", err, back, frame)
			}
		})
	}
}

func frameOf(header string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	return append(b, header...)
}

func TestGoldenJSON(t *testing.T) {
	java := `{"code":105,"extFields":{"topic":"TBW102"},"flag":0,"language":"JAVA","opaque":1,` +
		`"serializeTypeCurrentRPC":"JSON","version":475}`
	c, err := wire.Decode(frameOf(java))
	if err != nil {
		t.Fatal(err)
	}
	back, err := wire.AppendFrame(nil, c)
	if err != nil || string(back[8:]) != java {
		t.Errorf("%v\n got %s\nwant %s", err, back[8:], java)
	}
	golang := `{"code":105,"language":"GO","version":317,"opaque":1,"flag":0,"remark":"","extFields":{"topic":"T"}}`
	if c, err = wire.Decode(frameOf(golang)); err != nil {
		t.Fatal(err)
	}
	if !c.EmptyRemark || c.Language != wire.LanguageGo {
		t.Errorf("got %+v", c)
	}
	back, err = wire.AppendFrame(nil, c)
	want := `{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"GO","opaque":1,"remark":"","version":317}`
	if err != nil || string(back[8:]) != want {
		t.Errorf("%v\n got %s\nwant %s", err, back[8:], want)
	}
}

// TestLeniency is the table of the protocol reference, section 1.2.
func TestLeniency(t *testing.T) {
	ext := func(kv ...string) wire.Fields {
		f := wire.Fields{}
		for i := 0; i < len(kv); i += 2 {
			f.Add(kv[i], kv[i+1])
		}
		return f
	}
	for _, tc := range []struct {
		name, header string
		want         wire.Command
	}{
		{"unknown keys", `{"code":1,"x":{"y":[1,"}",{}]},"z":null,"t":true}`, wire.Command{Code: 1}},
		{"missing keys", `{}`, wire.Command{}},
		{"numbers and booleans in ext", `{"extFields":{"a":1,"b":true,"c":-2.5}}`, wire.Command{Ext: ext("a", "1", "b", "true", "c", "-2.5")}},
		{"null in ext is absent", `{"extFields":{"a":null,"b":"x"}}`, wire.Command{Ext: ext("b", "x")}},
		{"ext null", `{"extFields":null}`, wire.Command{}},
		{"ext empty", `{"extFields":{}}`, wire.Command{Ext: wire.Fields{}}},
		{"ext twice", `{"extFields":{"a":"1"},"extFields":{"a":"2"}}`, wire.Command{Ext: ext("a", "1", "a", "2")}},
		{"object in ext", `{"extFields":{"a":{"b":1}}}`, wire.Command{Ext: ext("a", `{"b":1}`)}},
		{"codes beyond int16", `{"code":200050,"version":70000}`, wire.Command{Code: 200050, Version: 70000}},
		{"language by name", `{"language":"PYTHON"}`, wire.Command{Language: 3}},
		{"language by ordinal", `{"language":9}`, wire.Command{Language: wire.LanguageGo}},
		{"language unknown", `{"language":"COBOL"}`, wire.Command{Language: wire.LanguageOther}},
		{"language out of range", `{"language":99}`, wire.Command{Language: wire.LanguageOther}},
		{"language null", `{"language":null}`, wire.Command{}},
		{"numbers as text", `{"code":"105","opaque":" -7 ","flag":""}`, wire.Command{Code: 105, Opaque: -7}},
		{"null numbers", `{"code":null}`, wire.Command{}},
		{"other case", `{"CODE":3,"ExtFields":{"k":"v"},"Remark":"r"}`, wire.Command{Code: 3, Remark: "r", Ext: ext("k", "v")}},
		{"underscores", `{"ext_fields":{"k":"v"}}`, wire.Command{Ext: ext("k", "v")}},
		{"remark null", `{"remark":null}`, wire.Command{}},
		{"remark empty", `{"remark":""}`, wire.Command{EmptyRemark: true}},
		{"spaces", " {\n\t\"code\" : 5 , \"remark\" : \"x\" } ", wire.Command{Code: 5, Remark: "x"}},
		{"bare keys and single quotes", `{code:5,remark:'it"s'}`, wire.Command{Code: 5, Remark: `it"s`}},
		{"escapes", `{"remark":"\u0001\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800x\u4F60"}`, wire.Command{Remark: "\x01\"\\/\b\f\n\r\té😀\uFFFDx你"}},
		{"largest numbers", `{"code":2147483647,"opaque":-2147483648}`, wire.Command{Code: 1<<31 - 1, Opaque: -1 << 31}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := wire.Decode(frameOf(tc.header))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tc.want, got, cmpopts.IgnoreUnexported(wire.Command{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	many := strings.Repeat(`"k":"",`, wire.MaxFields+1)
	for name, header := range map[string]string{
		"empty":           "",
		"no object":       `[]`,
		"null":            `null`,
		"no end":          `{"code":1`,
		"no value":        `{"code":}`,
		"no colon":        `{"code" 1}`,
		"no comma":        `{"code":1 "flag":2}`,
		"text after it":   `{"code":1} x`,
		"two objects":     `{}{}`,
		"code too large":  `{"code":2147483648}`,
		"code far beyond": `{"code":99999999999999999999999}`,
		"code no number":  `{"code":"x"}`,
		"code a float":    `{"code":1.5}`,
		"minus alone":     `{"code":-}`,
		"bad escape":      `{"remark":"\x"}`,
		"cut escape":      `{"remark":"\u12"}`,
		"string no end":   `{"remark":"abc}`,
		"escape at end":   `{"remark":"\`,
		"nested too deep": `{"x":` + deep + `}`,
		"too many fields": `{"extFields":{` + many + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := wire.Decode(frameOf(header))
			if !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
}

func TestRefusedBinary(t *testing.T) {
	good := unhex(t, "0069 00 01db 00000001 00000000 00000000 00000011 0005 746f706963 00000006 544257313032")
	frame := func(h []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, 1<<24|uint32(len(h))), h...)
	}
	if _, err := wire.Decode(frame(good)); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := wire.Decode(frame(good[:n])); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	for name, at := range map[string]int{"remark": 13, "ext": 17, "value": 28} {
		bad := bytes.Clone(good)
		copy(bad[at:], "\xff\xff\xff\xff")
		if _, err := wire.Decode(frame(bad)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("negative %s length: %v", name, err)
		}
		copy(bad[at:], "\x7f\xff\xff\xff")
		if _, err := wire.Decode(frame(bad)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("huge %s length: %v", name, err)
		}
	}
	bad := bytes.Clone(good)
	copy(bad[21:], "\xff\xff")
	if _, err := wire.Decode(frame(bad)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("negative key length: %v", err)
	}
	other := frame(good)
	other[0] = 2
	if _, err := wire.Decode(other); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("unknown serialize type: %v", err)
	}
	other = frame(good)
	other[3]++
	if _, err := wire.Decode(other); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("header longer than the frame: %v", err)
	}
}

func TestBinaryOrdinals(t *testing.T) {
	h := unhex(t, "ffff c8 ffff 00000001 00000000 00000000 00000000 0000")
	c, err := wire.Decode(append(unhex(t, "01000017"), h...))
	if err != nil {
		t.Fatal(err)
	}
	if c.Code != -1 || c.Version != -1 || c.Language != wire.LanguageOther || c.Ext != nil {
		t.Errorf("got %+v", c)
	}
}

func TestWhatDoesNotFitBinaryGoesAsJSON(t *testing.T) {
	for name, c := range map[string]wire.Command{
		"code":    {Code: wire.ReqPopMessage, Serialize: wire.SerializeRocketMQ},
		"version": {Version: 40000, Serialize: wire.SerializeRocketMQ},
		"key":     {Serialize: wire.SerializeRocketMQ, Ext: wire.Fields{{Key: strings.Repeat("k", 40000)}}},
	} {
		frame, err := wire.AppendFrame(nil, &c)
		if err != nil || frame[4] != byte(wire.SerializeJSON) {
			t.Fatalf("%s: type %d, %v", name, frame[4], err)
		}
		got, err := wire.Decode(frame[4:])
		if err != nil || got.Code != c.Code || got.Version != c.Version || len(got.Ext) != len(c.Ext) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestExtValuesAreStrings: a number in ext makes the Go client drop the frame.
func TestWrittenHeaderIsStrictJSON(t *testing.T) {
	c := wire.Command{
		Code: 1, Language: 200, Remark: "bad\xff \x00\x1f\"\\", Serialize: wire.SerializeJSON,
		Ext: wire.Fields{{Key: "é\x7f", Value: "1"}, {Key: "p", Value: "KEYS\x01a\x02"}},
	}
	frame, err := wire.AppendFrame(nil, &c)
	if err != nil {
		t.Fatal(err)
	}
	var h struct {
		Language  string
		Remark    string
		ExtFields map[string]string
	}
	if err := json.Unmarshal(frame[8:], &h); err != nil {
		t.Fatalf("%v in %s", err, frame[8:])
	}
	want := map[string]string{"é\x7f": "1", "p": "KEYS\x01a\x02"}
	if d := cmp.Diff(want, h.ExtFields); d != "" || h.Language != "OTHER" || h.Remark != "bad\uFFFD \x00\x1f\"\\" {
		t.Errorf("got %+v %s", h, d)
	}
}

func TestFrameLimits(t *testing.T) {
	prefix := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for _, tc := range []struct {
		n    uint32
		want error
	}{
		{wire.MaxFrame - 4, nil},
		{4, nil},
		{wire.MaxFrame - 3, wire.ErrFrameTooLarge},
		{1 << 31, wire.ErrFrameTooLarge},
		{1<<32 - 1, wire.ErrFrameTooLarge},
		{0x16030100, wire.ErrFrameTooLarge}, // a TLS client
		{3, wire.ErrMalformed},
		{0, wire.ErrMalformed},
	} {
		if _, err := wire.FrameLen(prefix(tc.n), 0); !errors.Is(err, tc.want) {
			t.Errorf("%d: %v, want %v", tc.n, err, tc.want)
		}
	}
	if _, err := wire.FrameLen(prefix(100), 50); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Errorf("own limit: %v", err)
	}
	c := wire.Command{Code: 1}
	room, err := wire.AppendHeader(nil, &c, 0)
	if err != nil {
		t.Fatal(err)
	}
	dst := []byte("kept")
	if got, err := wire.AppendHeader(dst, &c, wire.MaxFrame-len(room)+1); !errors.Is(err, wire.ErrFrameTooLarge) || string(got) != "kept" {
		t.Errorf("one byte too many: %q, %v", got, err)
	}
	if _, err := wire.AppendHeader(dst, &c, wire.MaxFrame-len(room)); err != nil {
		t.Errorf("just fits: %v", err)
	}
}

func TestReadFrame(t *testing.T) {
	c := wire.Command{Code: 10, Ext: wire.Fields{}, Body: bytes.Repeat([]byte("0123456789"), 50_000)}
	frame, err := wire.AppendFrame(nil, &c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.ReadFrame(iotest.HalfReader(bytes.NewReader(frame)), 0)
	if err != nil || !bytes.Equal(got, frame[4:]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if _, err := wire.ReadFrame(bytes.NewReader(nil), 0); !errors.Is(err, io.EOF) {
		t.Errorf("clean end: %v", err)
	}
	for _, n := range []int{1, 4, 5, 70_000, len(frame) - 1} {
		if _, err := wire.ReadFrame(bytes.NewReader(frame[:n]), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := wire.ReadFrame(bytes.NewReader(frame), 1000); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Errorf("limit: %v", err)
	}
}

// TestLyingFrameCostsLittle: 16 MiB announced and nothing sent.
func TestLyingFrameCostsLittle(t *testing.T) {
	lie := binary.BigEndian.AppendUint32(nil, wire.MaxFrame-4)
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if _, err := wire.ReadFrame(bytes.NewReader(lie), 0); err == nil {
			t.Fatal("no error")
		}
	}
	runtime.ReadMemStats(&after)
	bytesPerRun := (after.TotalAlloc - before.TotalAlloc) / runs
	if bytesPerRun > 128<<10 {
		t.Errorf("%d bytes allocated", bytesPerRun)
	}
}

func TestFields(t *testing.T) {
	var f wire.Fields
	f.Add("a", "1")
	f.Add("a", "2")
	f.Set("b", "x")
	f.Set("b", "y")
	if f.Value("a") != "2" || f.Value("b") != "y" || len(f) != 3 || f.Has("c") || f.Value("c") != "" {
		t.Errorf("got %v", f)
	}
	f.Del("a")
	if len(f) != 1 || f.Has("a") {
		t.Errorf("got %v", f)
	}
}

func TestResponseAnswersItsRequest(t *testing.T) {
	req := wire.NewRequest(wire.ReqHeartBeat, nil, []byte("b"))
	req.Opaque, req.Serialize, req.Flag = 7, wire.SerializeRocketMQ, wire.FlagOneway
	resp := wire.NewResponse(req, wire.SystemError, "why")
	if !resp.IsResponse() || resp.IsOneway() || resp.Opaque != 7 || resp.Serialize != wire.SerializeRocketMQ {
		t.Errorf("got %+v", resp)
	}
	if req.Name() != "HEART_BEAT" || resp.Name() != "SYSTEM_ERROR" {
		t.Errorf("names %s, %s", req.Name(), resp.Name())
	}
}

func TestNames(t *testing.T) {
	for code, want := range map[int32]string{10: "SEND_MESSAGE", 200151: "BATCH_ACK_MESSAGE", 77: "77", -5: "-5"} {
		if got := wire.RequestName(code); got != want {
			t.Errorf("%d: %s", code, got)
		}
	}
	for code, want := range map[int32]string{0: "SUCCESS", -1000: "RPC_UNKNOWN", 7001: "FENCED", 99: "99"} {
		if got := wire.ResponseName(code); got != want {
			t.Errorf("%d: %s", code, got)
		}
	}
	for v, want := range map[int32]string{
		0: "0", 79: "79", 213: "V4_0_0", 232: "V4_1_0_SNAPSHOT", 233: "V4_1_0", 317: "V4_5_2", 399: "V4_9_3",
		401: "V4_9_4", 413: "V5_0_0", 479: "V5_3_3", 513: "V5_5_0", 612: "HIGHER_VERSION", 32767: "HIGHER_VERSION",
		412: "V5_0_0_SNAPSHOT", 475: "V5_3_1",
	} {
		if got := wire.VersionName(v); got != want {
			t.Errorf("version %d: %s, want %s", v, got, want)
		}
	}
}
