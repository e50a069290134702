// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// all returns a fresh value of every header, by type name.
func all() map[string]func() custom {
	m := map[string]func() custom{}
	for _, table := range []map[int32]func() custom{requests(), responses()} {
		for _, fresh := range table {
			m[reflect.TypeOf(fresh()).Elem().Name()] = fresh
		}
	}
	return m
}

// TestComesBack: what Encode writes, in any order, Decode reads.
func TestComesBack(t *testing.T) {
	headers := all()
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := headers[name]()
				fill(t, reflect.ValueOf(h).Elem())
				f := wire.Fields{{Key: "unknown", Value: "x"}}
				h.Encode(&f)
				rand.Shuffle(len(f), func(i, j int) { f[i], f[j] = f[j], f[i] })
				got := headers[name]()
				fill(t, reflect.ValueOf(got).Elem()) // Decode must clear it
				if err := got.Decode(f); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(h, got); d != "" {
					t.Fatal(d)
				}
			})
		})
	}
}

func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Int32, reflect.Int64:
		n := rapid.Int64().Draw(t, "number")
		if v.OverflowInt(n) {
			n = int64(int32(n))
		}
		v.SetInt(n)
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Struct:
		if set := v.FieldByName("Set"); set.IsValid() && rapid.Bool().Draw(t, "absent") {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
		if set := v.FieldByName("Set"); set.IsValid() {
			set.SetBool(true)
		}
	}
}

// TestMissingFieldIsNamed takes each required field away in turn.
func TestMissingFieldIsNamed(t *testing.T) {
	for name, fresh := range all() {
		var f wire.Fields
		fresh().Encode(&f)
		for i, missing := range f {
			rest := slices.Delete(slices.Clone(f), i, i+1)
			err := fresh().Decode(rest)
			var fe *header.FieldError
			if err != nil && (!errors.As(err, &fe) || fe.Field != missing.Key || !strings.Contains(err.Error(), missing.Key)) {
				t.Errorf("%s without %s: %v", name, missing.Key, err)
			}
			if err == nil && required(name, missing.Key) {
				t.Errorf("%s without %s: no error", name, missing.Key)
			}
		}
	}
}

// required names the fields of the hand-written headers; the others' follow the
// same rule.
func required(name, key string) bool {
	switch name {
	case "SendMessage":
		return !slices.Contains([]string{"properties", "reconsumeTimes", "unitMode", "batch"}, key)
	case "SendMessageV2":
		return !slices.Contains([]string{"i", "j", "k", "m"}, key)
	case "PullMessage", "PullMessageResponse", "EndTransaction", "UpdateConsumerOffset", "QueryMessage":
		return key != "fromTransactionCheck"
	}
	return false
}

func TestBadNumberIsNamed(t *testing.T) {
	for name, fresh := range all() {
		var f wire.Fields
		fresh().Encode(&f)
		for i := range f {
			if f[i].Value != "0" {
				continue
			}
			for _, bad := range []string{"x", "1.5", "99999999999999999999", " 1"} {
				g := slices.Clone(f)
				g[i].Value = bad
				var fe *header.FieldError
				if err := fresh().Decode(g); !errors.As(err, &fe) || fe.Field != f[i].Key || fe.Value != bad {
					t.Errorf("%s with %s=%q: %v", name, f[i].Key, bad, err)
				}
			}
		}
	}
}

func TestLongValueIsCutInTheError(t *testing.T) {
	f := wire.Fields{{Key: "consumerGroup", Value: "g"}, {Key: "topic", Value: "t"}, {Key: "queueId", Value: strings.Repeat("9", 5000)}}
	var h header.QueryConsumerOffset
	if err := h.Decode(f); err == nil || len(err.Error()) > 250 {
		t.Errorf("got %v", err)
	}
}

func TestLastOfTwoCounts(t *testing.T) {
	var f wire.Fields
	send, pull := header.SendMessageV2{SendMessage: sampleSend()}, samplePull()
	send.Encode(&f)
	f.Add("e", "7")
	f.Add("i", "later")
	var gotSend header.SendMessageV2
	if err := gotSend.Decode(f); err != nil || gotSend.QueueID != 7 || gotSend.Properties != "later" {
		t.Errorf("send: %+v, %v", gotSend, err)
	}
	f = nil
	pull.Encode(&f)
	f.Add("queueId", "7")
	f.Add("topic", "later")
	var gotPull header.PullMessage
	if err := gotPull.Decode(f); err != nil || gotPull.QueueID != 7 || gotPull.Topic != "later" {
		t.Errorf("pull: %+v, %v", gotPull, err)
	}
}

func TestDecodeSend(t *testing.T) {
	want := sampleSend()
	for _, code := range []int32{10, 324, 310, 320, 325} {
		var f wire.Fields
		if header.UsesLetters(code) {
			(&header.SendMessageV2{SendMessage: want}).Encode(&f)
		} else {
			want.Encode(&f)
		}
		got, err := header.DecodeSend(code, f)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%d: %v %s", code, err, d)
		}
	}
}

func TestUpper(t *testing.T) {
	for text, want := range map[string]bool{"UPPER": true, "upper": true, "LOWER": false, "": false, "x": false} {
		h := header.SearchOffset{BoundaryType: text}
		if h.Upper() != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
