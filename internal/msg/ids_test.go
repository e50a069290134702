// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"net/netip"
	"sync"
	"testing"
	"time"
)

func TestOffsetID(t *testing.T) {
	tests := []struct {
		host   string
		offset int64
		want   string
	}{
		{"10.0.0.1:10911", 0x1234, "0A00000100002A9F0000000000001234"},
		{"127.0.0.1:10931", 0xdd, "7F00000100002AB300000000000000DD"},
		{"[2001:db8::1]:80", 1 << 40, "20010DB80000000000000000000000010000005000000100" + "00000000"},
	}
	for _, tt := range tests {
		got := OffsetID(addr(tt.host), tt.offset)
		if got != tt.want {
			t.Errorf("%s %d: %s, want %s", tt.host, tt.offset, got, tt.want)
		}
		host, off, err := ParseOffsetID(got)
		if err != nil || host != addr(tt.host) || off != tt.offset {
			t.Errorf("%s: %v %d %v", got, host, off, err)
		}
	}
	if host, off, err := ParseOffsetID("0a00000100002a9f0000000000001234"); err != nil || off != 0x1234 || host != addr("10.0.0.1:10911") {
		t.Errorf("lower case: %v %d %v", host, off, err)
	}
	for _, bad := range []string{"", "xyz", "0A00", "0A000001FFFFFFFF0000000000001234", "0A00000100002A9F000000000000123"} {
		if _, _, err := ParseOffsetID(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

type fakeClock struct{ now time.Time }

func (c *fakeClock) Now() time.Time { return c.now }

func TestUniqueIDLayout(t *testing.T) {
	clock := &fakeClock{time.Date(2024, 2, 1, 0, 0, 1, 0, time.UTC)}
	g := NewIDGenerator(IDConfig{Addr: netip.MustParseAddr("192.0.2.2"), PID: 0x1_0217, Salt: 0xD330946E, Now: clock.Now})
	for _, want := range []string{"C00002020217D330946E000003E80000", "C00002020217D330946E000003E80001"} {
		if got := g.Next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	clock.now = clock.now.Add(time.Millisecond)
	if got := g.Next(); got != "C00002020217D330946E000003E90002" {
		t.Error(got)
	}
	v6 := NewIDGenerator(IDConfig{Addr: netip.MustParseAddr("2001:db8::1")})
	if got := v6.Next(); len(got) != 56 {
		t.Error(got)
	}
	if a, b := NewIDGenerator(IDConfig{}).Next(), NewIDGenerator(IDConfig{}).Next(); a == b {
		t.Errorf("two generators gave %s", a)
	}
}

// No id repeats, however fast they are asked for and however the clock steps,
// as long as the month stays.
func TestUniqueIDsDoNotRepeat(t *testing.T) {
	clock := &fakeClock{time.Date(2024, 2, 15, 12, 0, 0, 0, time.UTC)}
	g := NewIDGenerator(IDConfig{Salt: 1, Now: clock.Now})
	seen := make(map[string]bool)
	ask := func(n int) {
		for range n {
			id := g.Next()
			if seen[id] {
				t.Fatalf("%s came twice after %d ids", id, len(seen))
			}
			seen[id] = true
		}
	}
	ask(70000) // more than the counter holds, in one millisecond
	clock.now = clock.now.Add(time.Millisecond)
	ask(70000)
	clock.now = clock.now.Add(-24 * time.Hour)
	ask(70000)
	clock.now = clock.now.Add(48 * time.Hour)
	ask(10)
	clock.now = time.Date(2024, 1, 31, 23, 59, 59, 0, time.UTC) // back over the month's start
	ask(10)
}

func TestUniqueIDNewMonth(t *testing.T) {
	clock := &fakeClock{time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)}
	g := NewIDGenerator(IDConfig{Salt: 1, PID: 1, Now: clock.Now})
	g.Next()
	clock.now = clock.now.Add(time.Second)
	if got := g.Next(); got != "00000000000100000001000000000001" {
		t.Error(got)
	}
}

func TestUniqueIDsConcurrently(t *testing.T) {
	g := NewIDGenerator(IDConfig{})
	const workers, each = 8, 2000
	ids := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				ids[w] = append(ids[w], g.Next())
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool)
	for _, list := range ids {
		for _, id := range list {
			seen[id] = true
		}
	}
	if len(seen) != workers*each {
		t.Errorf("%d different ids of %d", len(seen), workers*each)
	}
}
