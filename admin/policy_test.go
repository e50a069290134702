// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPolicyIsChecked(t *testing.T) {
	for _, c := range []struct {
		policy GroupPolicy
		want   string // in the error; "": none
	}{
		{GroupPolicy{}, ""},
		{GroupPolicy{Grace: 250 * time.Millisecond, Lease: 500 * time.Millisecond}, ""},
		{GroupPolicy{Grace: time.Minute, Lease: 2 * time.Minute}, ""},
		{GroupPolicy{Grace: 249 * time.Millisecond}, "250ms to 1m0s"},
		{GroupPolicy{Grace: time.Minute + 1}, "250ms to 1m0s"},
		{GroupPolicy{Grace: -1}, "250ms to 1m0s"},
		{GroupPolicy{Lease: 1999 * time.Millisecond}, "less than twice the grace of 1s"},
		{GroupPolicy{Grace: 5 * time.Second, Lease: 9 * time.Second}, "less than twice the grace of 5s"},
		{GroupPolicy{Lease: 2 * time.Hour}, "at most 1h"},
		{GroupPolicy{MaxAttempts: -1}, "-1 attempts"},
		{GroupPolicy{Backoff: []time.Duration{time.Second, -1}}, "a pause of -1ns"},
		{GroupPolicy{Backoff: make([]time.Duration, 65)}, "65 pauses"},
		{GroupPolicy{Poison: "park", Overrun: "release"}, ""},
		{GroupPolicy{Poison: "skip"}, "block, dead-letter or park"},
		{GroupPolicy{Overrun: "skip"}, "keep or release"},
		{GroupPolicy{MaxHandlerTime: -1}, "a handler time of -1ns"},
	} {
		err := c.policy.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.policy, err, c.want)
		}
	}
}

func TestPolicyTravelsAsAttributes(t *testing.T) {
	full := GroupPolicy{
		Grace: 2 * time.Second, Lease: 20 * time.Second, StockFastRelease: true, MaxAttempts: 5,
		Backoff: []time.Duration{100 * time.Millisecond, time.Second}, Poison: "dead-letter", MaxHandlerTime: time.Minute, Overrun: "release",
	}
	told := map[string]string{"other": "kept"}
	for key, value := range full.attributes(told) {
		told[strings.TrimPrefix(key, "+")] = value
	}
	if got := policyFrom(told); !reflect.DeepEqual(got, full) {
		t.Errorf("read back as %+v", got)
	}
	cleared := GroupPolicy{}.attributes(told)
	if len(cleared) != 9 || cleared["other"] != "kept" {
		t.Errorf("taken back as %v", cleared)
	}
	for key := range cleared {
		if key != "other" && !strings.HasPrefix(key, "-") {
			t.Errorf("%s is not taken back", key)
		}
	}
	// A stock broker refuses attributes that it does not know.
	if got := (GroupPolicy{}).attributes(map[string]string{"other": "kept"}); !maps.Equal(got, map[string]string{"other": "kept"}) {
		t.Errorf("a group without a policy is sent as %v", got)
	}
	text, err := json.Marshal(GroupPolicy{Grace: 6 * time.Second})
	if want := `{"grace":"6s","lease":"12s","stock_fast_release":false,"max_attempts":0,"backoff":[],"poison":"block","max_handler_time":"0s","overrun":"keep"}`; err != nil || string(text) != want {
		t.Errorf("as JSON: %s, %v", text, err)
	}
}
