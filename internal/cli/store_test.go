// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/store"
)

// here runs a command inside this process.
func here(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Main(t.Context(), args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// decode runs a command and reads its JSON.
func decode(t *testing.T, v any, args ...string) int {
	t.Helper()
	status, stdout, stderr := here(t, args...)
	if err := json.Unmarshal([]byte(stdout), v); err != nil {
		t.Fatalf("orderly %v: %v\n%s%s", args, err, stdout, stderr)
	}
	return status
}

// TestStoreToolsBesideARunningServer looks into a store while messages are sent
// to it, and after it was stopped.
func TestStoreToolsBesideARunningServer(t *testing.T) {
	data := t.TempDir()
	s := startServer(t, data)
	command := func(args ...string) {
		t.Helper()
		if out, stderr, err := run(t, append(args, "-n", s.namesrv)...); err != nil {
			t.Fatalf("orderly %v: %v\n%s%s", args, err, out, stderr)
		}
	}
	command("topic", "create", "orders", "--queues", "2")
	command("send", "orders", "--key", "k1", "--tag", "first", "--keys", "word", "created", "paid")

	var wg sync.WaitGroup
	wg.Go(func() {
		for range 5 {
			command("send", "orders", "--key", "k2", strings.Repeat("x", 1000))
		}
	})
	for range 5 {
		var v verification
		if status := decode(t, &v, "store", "verify", "--data", data, "--json"); status != 0 || !v.OK || v.Messages < 2 {
			t.Errorf("running: status %d, %+v", status, v)
		}
	}
	wg.Wait()
	s.terminate()

	aside := filepath.Join(data, "meta", "0000000000000001.log.32.damaged")
	if err := os.WriteFile(aside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var in inspection
	if status := decode(t, &in, "store", "inspect", "--data", data, "--json"); status != 0 {
		t.Error("status", status)
	}
	if in.Messages != 7 || !in.Checkpoint.Clean || in.Durable != in.End || len(in.Segments) != 1 || in.State.Topics == 0 || len(in.Aside) != 0 ||
		len(in.State.Aside) != 1 || in.State.Aside[0] != aside {
		t.Errorf("inspect: %+v", in)
	}
	status, out, _ := here(t, "store", "dump", "--data", data, "--json", "--body", "--max", "2")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var r dumpedRecord
	if err := json.Unmarshal([]byte(lines[0]), &r); err != nil || status != 0 || len(lines) != 2 {
		t.Fatalf("dump: %d, %v\n%s", status, err, out)
	}
	if r.Topic != "orders" || r.Key != "k1" || r.Tag != "first" || r.Keys != "word" || r.Offset != 0 || string(r.Body) != "created" || r.Size == 0 || r.ID == "" {
		t.Errorf("dump: %+v", r)
	}
	status, out, _ = here(t, "store", "dump", "--data", data, "--state")
	if status != 0 || !strings.Contains(out, `"kind":"PutTopic","change":{"Topic":{"Name":"orders"`) {
		t.Errorf("dump of the state: %d\n%.2000s", status, out)
	}
	for _, args := range [][]string{{"inspect"}, {"verify"}, {"dump", "--body"}} {
		status, out, stderr := here(t, append(append([]string{"store"}, args...), "--data", data)...)
		if status != 0 || out == "" || args[0] == "inspect" && !strings.Contains(out, "set aside: "+aside) {
			t.Errorf("store %v: %d\n%s%s", args, status, out, stderr)
		}
	}
}

// TestStoreToolsNeedAStore names what is wrong.
func TestStoreToolsNeedAStore(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		for _, tool := range []string{"inspect", "verify", "dump"} {
			if status, _, stderr := here(t, "store", tool, "--data", dir); status != 1 || !strings.Contains(stderr, dir) {
				t.Errorf("%s: status %d: %s", tool, status, stderr)
			}
		}
	}
}

// TestDumpOfStateNeedsAServersDirectory: a message store has none.
func TestDumpOfStateNeedsAServersDirectory(t *testing.T) {
	status, _, stderr := here(t, "store", "dump", "--state", "--data", sampleStore(t))
	if status != 1 || !strings.Contains(stderr, "--data") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// sampleStore is a stopped store of several small files.
func sampleStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := store.Open(t.Context(), store.Options{Dir: dir, SegmentSize: 16 << 10, FillAhead: 4 << 10, Retention: -1, DiskHigh: 2, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	for i := range 100 {
		a := store.Append{
			Msgs: []msg.Message{{
				Topic: "orders", QueueID: int32(i % 3), Body: []byte(strings.Repeat("x", i)),
				Properties: msg.SetProperty("", msg.PropShardingKey, fmt.Sprint("k", i%7)),
			}},
			Done: func(_ *store.Append, err error) { done <- err },
		}
		if err := s.Append(t.Context(), &a); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestVerifyFindsEveryFlippedBit flips single bits of the log and its frames,
// wherever something was written.
func TestVerifyFindsEveryFlippedBit(t *testing.T) {
	dir := sampleStore(t)
	var in inspection
	decode(t, &in, "store", "inspect", "--data", dir, "--json")
	if len(in.Segments) < 2 || in.Messages != 100 {
		t.Fatalf("%+v", in)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, seg := range in.Segments {
		if seg.Frames == 0 {
			continue // made ahead
		}
		file := filepath.Join(dir, "commitlog", seg.Name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 150 {
			at := flippable(rng, seg, in.SegmentSize)
			mask := byte(1) << rng.IntN(8)
			flip(t, file, at, whole[at]^mask)
			var v verification
			status := decode(t, &v, "store", "verify", "--data", dir, "--json")
			if status != 1 || v.OK || !names(v, file, seg, at) {
				t.Fatalf("%s byte %d bit %#x: status %d, findings %+v", seg.Name, at, mask, status, v.Findings)
			}
			flip(t, file, at, whole[at])
		}
	}
	if status, out, _ := here(t, "store", "verify", "--data", dir); status != 0 || !strings.Contains(out, "sound") {
		t.Errorf("status %d with all bits back:\n%s", status, out)
	}
}

// flippable chooses a byte that means something: of the log, or in one case of
// three of the frames behind it. The filler at the end of a full file is only
// read as far as its head.
func flippable(rng *rand.Rand, seg store.SegmentInfo, size int64) int64 {
	if rng.IntN(3) == 0 {
		return size + rng.Int64N(int64(seg.Frames)*64)
	}
	return rng.Int64N(min(seg.Used, size-2<<10))
}

// names reports whether a finding of damage names the file, and for a byte of
// the log the range around it.
func names(v verification, file string, seg store.SegmentInfo, at int64) bool {
	for _, f := range v.Findings {
		inLog := at < seg.Used
		if f.Kind == "damage" && f.File == file && (!inLog || f.From <= seg.Base+at && seg.Base+at < f.To) {
			return true
		}
	}
	return false
}

func flip(t *testing.T, file string, at int64, to byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{to}, at); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyNamesDamageOfTheState flips bits of the change log of a server that
// was killed, in a part that other changes follow.
func TestVerifyNamesDamageOfTheState(t *testing.T) {
	data := t.TempDir()
	s := startServer(t, data)
	for i := range 3 {
		if _, stderr, err := run(t, "topic", "create", fmt.Sprint("topic", i), "-n", s.namesrv); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
	}
	s.kill()
	var v verification
	if status := decode(t, &v, "store", "verify", "--data", data, "--json"); status != 0 || v.State == nil {
		t.Fatalf("status %d: %+v", status, v)
	}
	file := stateFileWith(t, filepath.Join(data, "meta"), "topic0")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(bytes.Index(whole, []byte("topic0")))
	flip(t, file, at, whole[at]^1)
	if status := decode(t, &v, "store", "verify", "--data", data, "--json"); status != 1 || v.OK {
		t.Fatalf("status %d: %+v", status, v)
	}
	if f := v.Findings[len(v.Findings)-1]; f.Part != "state" || f.File != file || f.From > at || f.To <= at {
		t.Errorf("byte %d of %s: %+v", at, file, f)
	}
}

func stateFileWith(t *testing.T, dir, text string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(text)) {
			return path
		}
	}
	t.Fatalf("no file of %s holds %q", dir, text)
	return ""
}
