// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func fields(kv ...string) wire.Fields {
	var f wire.Fields
	for i := 0; i < len(kv); i += 2 {
		f.Add(kv[i], kv[i+1])
	}
	return f
}

func TestSession(t *testing.T) {
	for _, tc := range []struct {
		h header.Session
		f wire.Fields
	}{
		{header.Session{}, nil},
		{header.Session{New: true}, fields("oSession", "new")},
		{header.Session{Token: 1<<64 - 1}, fields("oSession", "ffffffffffffffff")},
		{header.Session{Token: 0xab}, fields("oSession", "ab")},
	} {
		var f wire.Fields
		tc.h.Encode(&f)
		if d := cmp.Diff(tc.f, f); d != "" {
			t.Error(d)
		}
		got := header.Session{Token: 9}
		if err := got.Decode(f); err != nil || got != tc.h {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for _, bad := range []string{"", "0", "xyz", "-1", "10000000000000000", "NEW"} {
		if err := new(header.Session).Decode(fields("oSession", bad)); !isFieldError(err, "oSession") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func isFieldError(err error, field string) bool {
	var fe *header.FieldError
	return errors.As(err, &fe) && fe.Field == field
}

func TestGroups(t *testing.T) {
	groups := []header.GroupTimes{
		{Group: "CG|1%", Grace: time.Second, Lease: 10 * time.Second},
		{Group: "g", Grace: 250 * time.Millisecond, Lease: 0},
	}
	var f wire.Fields
	header.EncodeGroups(&f, groups)
	if got := f.Value("oGroups"); got != "CG|1%=1000/10000;g=250/0" {
		t.Error(got)
	}
	got, err := header.DecodeGroups(f)
	if d := cmp.Diff(groups, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	f = nil
	header.EncodeGroups(&f, nil)
	if got, err := header.DecodeGroups(f); f != nil || got != nil || err != nil {
		t.Errorf("none: %v %v %v", f, got, err)
	}
	for _, bad := range []string{"g", "g=", "g=1", "=1/2", "g=1/2;", "g=1/2;;", "g=-1/2", "g=1/2/3", "g=9999999999999/1"} {
		got, err := header.DecodeGroups(fields("oGroups", bad))
		if bad == "g=1/2;" { // a trailing separator is no harm
			if err != nil || len(got) != 1 {
				t.Errorf("%q: %v, %v", bad, got, err)
			}
			continue
		}
		if !isFieldError(err, "oGroups") {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func TestPing(t *testing.T) {
	for _, h := range []header.Ping{{N: 1}, {N: 1<<64 - 1, Ack: 7}} {
		var f wire.Fields
		h.Encode(&f)
		var got header.Ping
		if err := got.Decode(f); err != nil || got != h || !header.IsPing(f) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if header.IsPing(fields("oSession", "1")) {
		t.Error("a heartbeat is taken for a ping")
	}
	if err := new(header.Ping).Decode(nil); !isFieldError(err, "oPing") {
		t.Error(err)
	}
	if err := new(header.Ping).Decode(fields("oPing", "1", "oAck", "x")); !isFieldError(err, "oAck") {
		t.Error(err)
	}
}

func TestFence(t *testing.T) {
	for _, h := range []header.Fence{
		{},
		{Session: header.Session{Token: 5}},
		{Session: header.Session{Token: 5}, Epoch: 1<<64 - 1},
	} {
		var f wire.Fields
		h.Encode(&f)
		got := header.Fence{Epoch: 3}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if err := new(header.Fence).Decode(fields("oEpoch", "-1")); !isFieldError(err, "oEpoch") {
		t.Error(err)
	}
	if err := new(header.Fence).Decode(fields("oSession", "?", "oEpoch", "1")); !isFieldError(err, "oSession") {
		t.Error(err)
	}
}

func TestLane(t *testing.T) {
	for _, h := range []header.Lane{{}, {Selector: true}, {Lane: header.Some[int32](0), Epoch: 4}, {Lane: header.Some[int32](1023)}} {
		var f wire.Fields
		h.Encode(&f)
		got := header.Lane{Selector: true}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for _, bad := range []string{"1024", "-1", "x"} {
		if err := new(header.Lane).Decode(fields("oLane", bad)); !isFieldError(err, "oLane") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLockGrants(t *testing.T) {
	for name, h := range map[string]header.LockGrants{
		"none":  {},
		"plain": {Grants: []header.LockGrant{{Epoch: 7, Start: -1}, {Epoch: 8, Start: 100}}},
		"progress": {Grants: []header.LockGrant{
			{Epoch: 7, Start: 3, Progress: header.Progress{Ranges: "5-6,8-9"}},
			{Epoch: 8, Start: 4, Progress: header.Progress{Attempts: "4:2,9:1+"}},
			{Epoch: 9, Start: 0},
		}},
		"refused": {Refused: []header.LockRefusal{
			{Topic: "T", Queue: 3, Holder: `10.0.0.9@1"#2`, Why: header.WhyHeld},
			{Topic: "T", Queue: 4, Why: header.WhyRestart},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var f wire.Fields
			h.Encode(&f)
			got := header.LockGrants{Refused: []header.LockRefusal{{}}}
			err := got.Decode(f)
			if d := cmp.Diff(h, got, cmpopts.EquateEmpty()); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
			if name == "none" && f != nil {
				t.Errorf("fields %v", f)
			}
		})
	}
	for _, f := range []wire.Fields{
		fields("oEpochs", "1,x"),
		fields("oEpochs", "1,"),
		fields("oEpochs", "1", "oStart", "y"),
		fields("oRefused", "{"),
	} {
		if err := new(header.LockGrants).Decode(f); !isFieldError(err, f[len(f)-1].Key) {
			t.Errorf("%v: %v", f, err)
		}
	}
	var short header.LockGrants
	if err := short.Decode(fields("oEpochs", "1,2", "oStart", "5")); err != nil || short.Grants[1].Start != -1 {
		t.Errorf("%+v, %v", short, err)
	}
}

func TestNames(t *testing.T) {
	names := []header.Named{{Group: "CG|1%", Name: "10.0.0.1@a=b;c"}, {Group: "g", Name: "worker-1"}}
	var f wire.Fields
	header.EncodeNames(&f, header.ExtMember, names)
	if got := f.Value("oMember"); got != "CG|1%=10.0.0.1%40a%3Db%3Bc;g=worker-1" {
		t.Error(got)
	}
	got, err := header.DecodeNames(f, header.ExtMember)
	if d := cmp.Diff(names, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	f = nil
	header.EncodeNames(&f, header.ExtTaken, nil)
	if got, err := header.DecodeNames(f, header.ExtTaken); f != nil || got != nil || err != nil {
		t.Errorf("none: %v %v %v", f, got, err)
	}
	for _, bad := range []string{"worker-1", "=x", "g=", "g=%zz", "g=a;;h=b"} {
		if _, err := header.DecodeNames(fields("oTaken", bad), header.ExtTaken); !isFieldError(err, "oTaken") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPolicies(t *testing.T) {
	want := map[string]header.GroupPolicy{
		"a": {MaxAttempts: 3, Poison: "dead-letter", Backoff: []time.Duration{100 * time.Millisecond, time.Second}, MaxHandler: time.Minute, Overrun: "release"},
		"b": {Poison: "park", Overrun: "keep"},
	}
	var f wire.Fields
	header.EncodePolicies(&f, []string{"a", "b"}, []header.GroupPolicy{want["a"], want["b"]})
	if text := f.Value(header.ExtPolicies); text != "a=3/dead-letter/100,1000/60000/release;b=0/park//0/keep" {
		t.Errorf("written as %q", text)
	}
	if got, err := header.DecodePolicies(f); err != nil || !cmp.Equal(got, want) {
		t.Errorf("read back as %+v, %v", got, err)
	}
	for _, bad := range []string{"a", "=3/block//0/keep", "a=-1/block//0/keep", "a=1/block/x/0/keep", "a=1/block//-5/keep", "a=1/block//0", ";"} {
		if got, err := header.DecodePolicies(wire.Fields{{Key: header.ExtPolicies, Value: bad}}); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	var none wire.Fields
	header.EncodePolicies(&none, nil, nil)
	if got, err := header.DecodePolicies(none); len(none) != 0 || len(got) != 0 || err != nil {
		t.Errorf("none: %v, %+v, %v", none, got, err)
	}
}
