// SPDX-License-Identifier: Apache-2.0

package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/orderlymq/orderly/internal/vfs"
)

// each runs a test on every file system that promises the same.
func each(t *testing.T, fn func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { fn(t, vfs.OS(), t.TempDir()) })
	t.Run("mem", func(t *testing.T) { fn(t, vfs.NewMem(), "/") })
	t.Run("faulty", func(t *testing.T) { fn(t, vfs.NewFaulty(vfs.NewMem()), "/") })
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, fsys vfs.FS, name, content string) vfs.File {
	t.Helper()
	f := must[vfs.File](t)(fsys.Create(name))
	must[int](t)(f.WriteAt([]byte(content), 0))
	return f
}

func get(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f := must[vfs.File](t)(fsys.Open(name))
	defer f.Close()
	b := make([]byte, must[int64](t)(f.Size()))
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatalf("read %s: %d of %d bytes, %v", name, n, len(b), err)
	}
	return string(b)
}

func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := dir + "/f"
		f := put(t, fsys, name, "hello")
		must[int](t)(f.WriteAt([]byte("!"), 9000))
		ok(t, f.SyncData())
		if got := get(t, fsys, name); len(got) != 9001 || got[:5] != "hello" || got[9000] != '!' || got[8999] != 0 {
			t.Fatalf("content is wrong: %d bytes", len(got))
		}
		b := make([]byte, 10)
		if n, err := f.ReadAt(b, 8996); n != 5 || !errors.Is(err, io.EOF) {
			t.Fatalf("read over the end: %d, %v", n, err)
		}
		ok(t, f.Truncate(3))
		ok(t, f.Truncate(6))
		if got := get(t, fsys, name); got != "hel\x00\x00\x00" {
			t.Fatalf("after truncation: %q", got)
		}
		if err := f.Allocate(0, 20000); err != nil && !errors.Is(err, vfs.ErrUnsupported) {
			t.Fatal(err)
		} else if n := must[int64](t)(f.Size()); err == nil && n != 20000 {
			t.Fatalf("size after allocation: %d", n)
		}
		if got := get(t, fsys, name); got[:3] != "hel" {
			t.Fatalf("after allocation: %q", got[:3])
		}
		ok(t, f.Sync())
		ok(t, f.Close())
		if err := f.Close(); err == nil {
			t.Fatal("second close succeeded")
		}
		r := must[vfs.File](t)(fsys.Open(name))
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("wrote to a file opened for reading")
		}
		ok(t, r.Close())
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		if _, err := fsys.Open(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("open of a missing file: %v", err)
		}
		ok(t, fsys.MkdirAll(dir+"/a/b"))
		ok(t, fsys.MkdirAll(dir+"/a/b"))
		old := put(t, fsys, dir+"/a/x", "x")
		ok(t, put(t, fsys, dir+"/a/y", "y").Close())
		before := must[vfs.Info](t)(fsys.Stat(dir + "/a/x"))
		if got := must[[]string](t)(fsys.List(dir + "/a")); !slices.Equal(got, []string{"b", "x", "y"}) {
			t.Fatalf("list: %v", got)
		}
		ok(t, fsys.Rename(dir+"/a/y", dir+"/a/x"))
		if got := get(t, fsys, dir+"/a/x"); got != "y" {
			t.Fatalf("after rename: %q", got)
		}
		after := must[vfs.Info](t)(fsys.Stat(dir + "/a/x"))
		if open := must[vfs.Info](t)(old.Stat()); open.ID != before.ID || after.ID == before.ID {
			t.Fatal("file identity does not follow the file")
		}
		ok(t, old.Close())
		ok(t, fsys.Remove(dir+"/a/x"))
		if err := fsys.Remove(dir + "/a/x"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("second removal: %v", err)
		}
		if err := fsys.Remove(dir + "/a"); err == nil {
			t.Fatal("removed a directory with something in it")
		}
		ok(t, fsys.SyncDir(dir+"/a"))
		ok(t, fsys.Remove(dir+"/a/b"))
		u := must[vfs.Usage](t)(fsys.Usage(dir))
		if u.Total <= 0 || u.Free < 0 || u.Used() < 0 || u.Used() > 1 {
			t.Fatalf("usage: %+v", u)
		}
	})
}

func TestLock(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		l := must[io.Closer](t)(fsys.Lock(dir + "/lock"))
		_, err := fsys.Lock(dir + "/lock")
		var locked *vfs.LockedError
		if !errors.As(err, &locked) || locked.PID == 0 {
			t.Fatalf("second lock: %v", err)
		}
		ok(t, l.Close())
		l = must[io.Closer](t)(fsys.Lock(dir + "/lock"))
		ok(t, l.Close())
	})
}

func TestCapacity(t *testing.T) {
	m := vfs.NewMem()
	m.SetCapacity(4 * 4096)
	f := put(t, m, "/f", "")
	if n, err := f.WriteAt(make([]byte, 5*4096), 0); n != 4*4096 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write beyond the capacity: %d, %v", n, err)
	}
	if u := must[vfs.Usage](t)(m.Usage("/")); u.Free != 0 {
		t.Fatalf("free: %d", u.Free)
	}
	ok(t, f.Truncate(4096))
	if u := must[vfs.Usage](t)(m.Usage("/")); u.Free != 3*4096 {
		t.Fatalf("free after truncation: %d", u.Free)
	}
	ok(t, f.Close())
	ok(t, m.Remove("/f"))
	if u := must[vfs.Usage](t)(m.Usage("/")); u.Free != 4*4096 {
		t.Fatalf("free after removal: %d", u.Free)
	}
}

func TestProcessCrashKeepsAll(t *testing.T) {
	m := vfs.NewMem()
	put(t, m, "/f", "unsynced")
	c := m.CrashClone(rand.New(rand.NewPCG(1, 1)), vfs.ProcessCrash)
	if got := get(t, c, "/f"); got != "unsynced" || c.BootID() != m.BootID() {
		t.Fatalf("got %q, boot %s of %s", got, c.BootID(), m.BootID())
	}
	put(t, m, "/f", "changed")
	if got := get(t, c, "/f"); got != "unsynced" {
		t.Fatalf("the clone changes with its source: %q", got)
	}
}

// TestPowerCut checks what must survive and that everything else does both.
func TestPowerCut(t *testing.T) {
	m := vfs.NewMem()
	ok(t, m.MkdirAll("/d"))
	ok(t, m.SyncDir("/"))
	f := put(t, m, "/d/kept", string(bytes.Repeat([]byte("a"), 3*4096)))
	ok(t, f.SyncData())
	ok(t, m.SyncDir("/d"))
	must[int](t)(f.WriteAt(bytes.Repeat([]byte("b"), 2*4096), 4096))
	must[int](t)(f.WriteAt(bytes.Repeat([]byte("c"), 4096), 4096))
	put(t, m, "/d/new", "n")
	ok(t, m.Rename("/d/kept", "/d/moved"))

	seen := map[string]int{}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		c := m.CrashClone(rng, vfs.PowerCut)
		if c.BootID() == m.BootID() {
			t.Fatal("a power cut keeps the boot id")
		}
		names := must[[]string](t)(c.List("/d"))
		seen[fmt.Sprint(names)]++
		name := "/d/kept"
		if slices.Contains(names, "moved") {
			name = "/d/moved"
		}
		got := get(t, c, name)
		if got[:4096] != string(bytes.Repeat([]byte("a"), 4096)) || len(got) != 3*4096 {
			t.Fatalf("synced bytes are gone")
		}
		seen[fmt.Sprintf("%c%c%c", got[4096], got[4096+512], got[2*4096])]++
	}
	for _, want := range []string{"[kept]", "[moved]", "[kept new]", "[moved new]", "aaa", "bba", "bbb", "ccb", "cca", "aab", "abb", "bab"} {
		if seen[want] == 0 {
			t.Errorf("never seen: %s (seen %v)", want, seen)
		}
	}
	if len(seen) < 12 {
		t.Errorf("few outcomes: %v", seen)
	}
}

func TestHookSeesHalfWrites(t *testing.T) {
	m := vfs.NewMem()
	var ops []string
	m.SetHook(func(op vfs.MemOp) {
		ops = append(ops, op.Op.String())
		if op.Half {
			if got := get(t, m, "/f"); got != "ab" {
				t.Errorf("half of the write is %q", got)
			}
		}
	})
	f := put(t, m, "/f", "abcd")
	ok(t, f.SyncData())
	ok(t, m.SyncDir("/"))
	if want := []string{"create", "write", "write", "sync", "syncdir"}; !slices.Equal(ops, want) {
		t.Fatalf("ops %v, want %v", ops, want)
	}
}

func TestFaults(t *testing.T) {
	boom := errors.New("boom")
	f := vfs.NewFaulty(vfs.NewMem())
	calls := 0
	f.Add(vfs.Rule{Op: vfs.OpWrite, Path: "/x", After: 1, Times: 1, Err: boom, Short: 2, Do: func(vfs.Op, string) { calls++ }})
	x := put(t, f, "/x", "12345")
	y := put(t, f, "/y", "12345")
	if n, err := x.WriteAt([]byte("abcde"), 0); n != 2 || !errors.Is(err, boom) {
		t.Fatalf("short write: %d, %v", n, err)
	}
	must[int](t)(y.WriteAt([]byte("abcde"), 0))
	must[int](t)(x.WriteAt([]byte("z"), 4))
	if got := get(t, f, "/x"); got != "ab34z" || calls != 1 {
		t.Fatalf("content %q after %d faults", got, calls)
	}
	stop := f.Add(vfs.Rule{Op: vfs.OpSync | vfs.OpRead, Err: boom})
	if err := y.SyncData(); !errors.Is(err, boom) {
		t.Fatalf("sync: %v", err)
	}
	stop()
	ok(t, y.SyncData())
	f.Add(vfs.Rule{Op: vfs.OpAny, Err: boom})
	for name, err := range map[string]error{
		"remove": f.Remove("/x"), "rename": f.Rename("/x", "/z"), "mkdir": f.MkdirAll("/d"), "syncdir": f.SyncDir("/"),
		"truncate": x.Truncate(0), "allocate": x.Allocate(0, 1), "close": x.Close(),
	} {
		if !errors.Is(err, boom) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.Reset()
	ok(t, f.Remove("/x"))
}

// TestNextDataSkipsZerosOnly: whatever the file system tells of holes, nothing
// that was written lies in what is skipped.
func TestNextDataSkipsZerosOnly(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"os": vfs.OS(), "mem": vfs.NewMem()} {
		dir := "/d"
		if name == "os" {
			dir = t.TempDir()
		}
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(dir + "/sparse")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const size, data = 8 << 20, 5<<20 + 17
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("x"), data); err != nil {
			t.Fatal(err)
		}
		for off, most := range map[int64]int64{0: data, data: data, data + 1: size, size: size} {
			if got, err := vfs.NextData(f, off); err != nil || got < off || got > most {
				t.Errorf("%s: from %d to %d, %v; want at most %d", name, off, got, err, most)
			}
		}
	}
}
