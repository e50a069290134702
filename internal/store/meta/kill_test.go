// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/vfs"
)

// killDir is the environment variable that makes the test's process the victim.
const killDir = "ORDERLY_TEST_KILL_DIR"

// TestKill kills a process that commits to real files, and looks for what it
// was told was written.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		beVictim(t, dir)
		return
	}
	o := Options{FS: vfs.OS(), Dir: t.TempDir(), SegmentSize: 4096, SnapshotAfter: 16 << 10}
	for round := range 3 {
		last := killVictim(t, o.Dir, 300+round*77)
		s := openState(t, o)
		if seq := s.View().Seq(); seq < last {
			t.Errorf("round %d: %d requests are there, %d were answered", round, seq, last)
		}
		n, _ := s.View().Mark("n")
		for k, q := range s.View().AllQueues() {
			if q.Committed > n || q.Committed < n-int64(victimQueues) {
				t.Errorf("round %d: %v is at %d, the last request was %d", round, k, q.Committed, n)
			}
		}
		closeState(t, s)
	}
}

const victimQueues = 8

// killVictim lets a process commit and kills it after so many answers. It says
// up to which request there were answers.
func killVictim(t *testing.T, dir string, answers int) (last uint64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		seq, err := strconv.ParseUint(strings.TrimPrefix(lines.Text(), "answered "), 10, 64)
		if err != nil {
			break // cut by the kill
		}
		last = max(last, seq)
		if n == answers {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if last == 0 {
		t.Fatal("the victim did nothing")
	}
	return last
}

func beVictim(t *testing.T, dir string) {
	ctx := context.Background()
	s, err := Open(ctx, Options{FS: vfs.OS(), Dir: dir, SegmentSize: 4096, SnapshotAfter: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for {
		seq := uint64(0)
		err := s.Update(ctx, func(v *View) ([]Change, error) {
			n, _ := v.Mark("n")
			n++
			seq = v.Seq() + 1
			return []Change{
				SetMark{"n", n},
				Commit{QueueKey: QueueKey{"G", "T", int32(n % victimQueues)}, Offset: n, Settled: []Range{{n + 5, n + 7}}},
			}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("answered", seq)
	}
}
