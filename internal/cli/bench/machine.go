// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine is what figures depend on.
type Machine struct {
	Date string  `json:"date"`
	OS   string  `json:"os"`
	CPU  string  `json:"cpu"`
	CPUs int     `json:"cpus"`
	Go   string  `json:"go"`
	Load float64 `json:"load"` // of the minute before the run: who else works there
}

// ThisMachine describes the machine, as far as the system tells.
func ThisMachine() Machine {
	m := Machine{
		Date: time.Now().Format(time.DateOnly), OS: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), Go: runtime.Version(),
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(b), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %s, %d CPUs (%s), %s, load %.1f before the run", m.Date, m.OS, m.CPUs, m.CPU, m.Go, m.Load)
}
