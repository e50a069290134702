// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"math/rand/v2"
	"testing"
)

func TestMkdirSyncSurvivesAPowerCut(t *testing.T) {
	for seed := range uint64(20) {
		mem := NewMem()
		if err := MkdirSync(mem, "a/b/c"); err != nil {
			t.Fatal(err)
		}
		left := mem.CrashClone(rand.New(rand.NewPCG(seed, 0)), PowerCut)
		if info, err := left.Stat("a/b/c"); err != nil || !info.Dir {
			t.Fatalf("seed %d: %+v, %v", seed, info, err)
		}
		if err := MkdirSync(left, "a/b/c"); err != nil {
			t.Errorf("a directory that exists: %v", err)
		}
	}
	dir := t.TempDir()
	if err := MkdirSync(OS(), dir+"/x/y"); err != nil {
		t.Fatal(err)
	}
	if info, err := OS().Stat(dir + "/x/y"); err != nil || !info.Dir {
		t.Errorf("%+v, %v", info, err)
	}
	f, err := OS().Create(dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := MkdirSync(OS(), dir+"/file/x"); err == nil {
		t.Error("a directory inside of a file")
	}
}
