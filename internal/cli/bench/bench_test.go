// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestUsageOfThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Log("no /proc: sizes are zero here, as documented")
		return
	}
	if u := usageOf(os.Getpid()); u.rss < 1<<20 || u.peak < u.rss || u.files < 3 {
		t.Errorf("%+v", u)
	}
}

func TestProcessTimes(t *testing.T) {
	stat := []byte("1 (a name) (x) S 1 1 1 0 -1 4194560 10 20 30 40 250 150 7 8 20 0")
	if got := cpuTime(stat); got != 4*time.Second {
		t.Error(got)
	}
	if got := cpuTime([]byte("nothing")); got != 0 {
		t.Error(got)
	}
	if got := statusBytes([]byte("VmPeak:\t 9 kB\nVmRSS:\t   12 kB\n"), "VmRSS:"); got != 12<<10 {
		t.Error(got)
	}
}

func TestMedians(t *testing.T) {
	for want, v := range map[float64][]float64{0: nil, 3: {3}, 2: {1, 3}, 5: {9, 5, 1}} {
		if got := median(v); got != want {
			t.Errorf("median of %v is %v", v, got)
		}
	}
	if got := middle([]int{5, 1, 9}, func(n int) float64 { return float64(n) }); got != 5 {
		t.Error(got)
	}
}

// TestRatiosAreOfTheSameRound: a round that was slow for both changes nothing.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	s := func(n int64) slice { return slice{n: n, bytes: 10 * n, took: time.Second} }
	a := &storeCase{slices: []slice{s(200), s(20), s(2000)}}
	b := &storeCase{slices: []slice{s(100), s(10), s(1000)}}
	if got := ratio(a, b, slice.perSecond); got != 2 {
		t.Error(got)
	}
	if got := a.sum(); got.PerSecond != 200 || got.Least != 20 || got.Most != 2000 || got.MicrosEach != 5000 {
		t.Errorf("%+v", got)
	}
}

// TestStoreShort runs the engine's benchmark for a moment.
func TestStoreShort(t *testing.T) {
	dir := t.TempDir()
	r, err := Store(t.Context(), StoreOptions{Dir: dir, Rounds: 1, Slice: 5 * time.Millisecond, Old: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if r.Record != recordSize || len(r.Cases) != 10 || len(r.Ratios) != 8 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Cases {
		if c.Messages == 0 || c.PerSecond <= 0 {
			t.Errorf("%+v", c)
		}
	}
	for _, x := range r.Ratios {
		if x.Value < 0 || x.Aim == "" {
			t.Errorf("%+v", x)
		}
	}
	var out bytes.Buffer
	r.Print(&out)
	if !strings.Contains(out.String(), rawWrite) {
		t.Error(out.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
