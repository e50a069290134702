// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCheckNames(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	topics := map[string]bool{
		"OrderTopic": true, "a-b_c%d|e9": true, x(127): true, x(128): false,
		"%RETRY%" + x(248): true, "%RETRY%" + x(249): false, "%DLQ%" + x(250): true, "%DLQ%" + x(251): false,
		"": false, " ": false, "\t": false, "a b": false, "a.b": false, "a/b": false, "тема": false, "a\x00": false, "a\n": false, "../x": false,
	}
	for name, ok := range topics {
		if err := CheckTopic(name); (err == nil) != ok || err != nil && !errors.Is(err, ErrName) {
			t.Errorf("topic %q: %v", name, err)
		}
	}
	groups := map[string]bool{"CG": true, x(120): true, x(121): false, "": false, "a:b": false, "%RETRY%g": true, GroupDefaultConsumer: true}
	for name, ok := range groups {
		if err := CheckGroup(name); (err == nil) != ok {
			t.Errorf("group %q: %v", name, err)
		}
	}
	for name, ok := range map[string]bool{"CG": true, GroupDefaultConsumer: false, GroupDefaultProducer: false, "": false} {
		if err := CheckClientGroup(name); (err == nil) != ok {
			t.Errorf("client group %q: %v", name, err)
		}
	}
}

func TestSystemNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // system, sendable
		"TBW102": {true, true}, "SCHEDULE_TOPIC_XXXX": {true, false}, "BenchmarkTest": {true, true},
		"RMQ_SYS_TRANS_HALF_TOPIC": {true, false}, "RMQ_SYS_TRACE_TOPIC": {true, true}, "RMQ_SYS_TRANS_OP_HALF_TOPIC": {true, false},
		"TRANS_CHECK_MAX_TIME_TOPIC": {true, false}, "SELF_TEST_TOPIC": {true, false}, "OFFSET_MOVED_EVENT": {true, false},
		"CHECKPOINT_TOPIC": {true, true}, "rmq_sys_wheel_timer": {true, true}, "rmq_sys_anything": {true, true},
		"OrderTopic": {false, true}, "%RETRY%CG": {false, true}, "%DLQ%CG": {false, true}, "RMQ_SYS_OTHER": {false, true},
	} {
		if got := [2]bool{IsSystemTopic(name), Sendable(name)}; got != want {
			t.Errorf("topic %s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]bool{"TOOLS_CONSUMER": true, "CID_RMQ_SYS_X": true, "CID_ONSAPI_PULL": true, "CG_ORDERS": false, "CID_X": false} {
		if IsSystemGroup(name) != want {
			t.Errorf("group %s: %v", name, !want)
		}
	}
}

func TestDerivedTopics(t *testing.T) {
	if g, ok := RetryGroup(RetryTopic("CG")); !ok || g != "CG" {
		t.Error(g)
	}
	if g, ok := DLQGroup(DLQTopic("CG")); !ok || g != "CG" {
		t.Error(g)
	}
	if _, ok := RetryGroup("%DLQ%CG"); ok {
		t.Error("a dead-letter topic is no retry topic")
	}
}

func TestDelayLevels(t *testing.T) {
	d, err := ParseDelayLevels(DefaultDelayLevels)
	if err != nil || len(d) != 18 {
		t.Fatal(d, err)
	}
	for level, want := range map[int]time.Duration{-1: 0, 0: 0, 1: time.Second, 3: 10 * time.Second, 5: time.Minute, 18: 2 * time.Hour, 19: 2 * time.Hour, 1 << 40: 2 * time.Hour} {
		if got := d.Delay(level); got != want {
			t.Errorf("level %d: %v, want %v", level, got, want)
		}
	}
	if d, err := ParseDelayLevels(" 1d  90s "); err != nil || d[0] != 24*time.Hour || d[1] != 90*time.Second {
		t.Error(d, err)
	}
	for _, bad := range []string{"", " ", "1", "s", "1x", "-1s", "1s,5s", "99999999999999h", strings.Repeat("1s ", 257)} {
		if d, err := ParseDelayLevels(bad); err == nil {
			t.Errorf("%.20q passed: %v", bad, d)
		}
	}
	for raw, want := range map[string]int{"": 0, "DELAY\x013\x02": 3, "DELAY\x01-3\x02": 0, "DELAY\x01x\x02": 0, "DELAY\x0199\x02": 99} {
		if got := DelayLevel(raw); got != want {
			t.Errorf("%q: %d", raw, got)
		}
	}
}
