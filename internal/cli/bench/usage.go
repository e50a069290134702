// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process uses. Fields are zero where the system has no /proc.
type usage struct {
	rss, peak int64
	cpu       time.Duration
	files     int
}

// clockTick is Linux's unit of process times.
const clockTick = 10 * time.Millisecond

func usageOf(pid int) usage {
	dir := fmt.Sprintf("/proc/%d", pid)
	var u usage
	if b, err := os.ReadFile(dir + "/status"); err == nil {
		u.rss, u.peak = statusBytes(b, "VmRSS:"), statusBytes(b, "VmHWM:")
	}
	if b, err := os.ReadFile(dir + "/stat"); err == nil {
		u.cpu = cpuTime(b)
	}
	if names, err := os.ReadDir(dir + "/fd"); err == nil {
		u.files = len(names)
	}
	return u
}

// since is the microseconds of CPU that this process has used since u, for each
// of n messages.
func (u usage) since(n int64) float64 {
	if n == 0 {
		return 0
	}
	return round2(float64((usageOf(os.Getpid()).cpu - u.cpu).Microseconds()) / float64(n))
}

// statusBytes reads a line such as "VmRSS:     1234 kB".
func statusBytes(b []byte, name string) int64 {
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n << 10
			}
		}
	}
	return 0
}

// cpuTime adds user and system time, the 14th and 15th field. The second is the
// name in parentheses and may hold anything.
func cpuTime(b []byte) time.Duration {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(f[11]), 10, 64)
	system, _ := strconv.ParseInt(string(f[12]), 10, 64)
	return time.Duration(user+system) * clockTick
}
