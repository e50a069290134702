// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"fmt"
	"testing"

	"github.com/orderlymq/orderly/internal/testutil"
	"github.com/orderlymq/orderly/internal/vfs"
)

// TestKVSurvivesACrashAtEveryStep cuts the power, and kills the process,
// before each change of the disk: what a save has returned for must be there,
// and a save under way is there as a whole or not at all.
func TestKVSurvivesACrashAtEveryStep(t *testing.T) {
	rng := testutil.Rand(t)
	disk := vfs.NewMem()
	file := func(fs vfs.FS) kvFile { return kvFile{fs, "data/namesrv"} }
	saved, steps := 0, 0
	check := func(how vfs.Crash) {
		items, err := file(disk.CrashClone(rng, how)).load()
		if err != nil {
			t.Fatalf("crash %v at step %d: %v", how, steps, err)
		}
		if n := len(items["N"]); n != saved && n != saved+1 {
			t.Fatalf("crash %v at step %d: %d items, %d were saved", how, steps, n, saved)
		}
	}
	if err := disk.MkdirAll("data/namesrv"); err != nil { // somebody else has made it
		t.Fatal(err)
	}
	if _, err := file(disk).load(); err != nil {
		t.Fatal(err)
	}
	disk.SetHook(func(vfs.MemOp) {
		steps++
		for range 10 {
			check(vfs.PowerCut)
		}
		check(vfs.ProcessCrash)
	})
	items := map[string]map[string]string{"N": {}}
	for i := range 20 {
		items["N"][fmt.Sprint(i)] = "value"
		if err := file(disk).save(items); err != nil {
			t.Fatal(err)
		}
		saved++
	}
	if steps < 60 {
		t.Errorf("only %d steps seen", steps)
	}
}
