// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly/embed"
)

// The classic pair of programs: of 100 messages with the tags A to E in turn,
// the consumer gets the 60 with A, C and D, each order's in sending order. With
// 10 orders an order has one tag only; with 7 the tags are mixed inside orders.
func TestOrderedPair(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./ordered-producer", "./ordered-consumer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	server, err := embed.Start(t.Context(), embed.Config{
		NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: t.TempDir(), SegmentSize: 16 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	for _, orders := range []int{10, 7} {
		t.Run(fmt.Sprint(orders, " orders"), func(t *testing.T) {
			topic := fmt.Sprint("TopicTest", orders)
			run(t, filepath.Join(dir, "ordered-producer"), "-namesrv", server.NamesrvAddr(), "-topic", topic, "-orders", fmt.Sprint(orders))
			out := run(t, filepath.Join(dir, "ordered-consumer"), "-namesrv", server.NamesrvAddr(), "-topic", topic,
				"-group", fmt.Sprint("pair", orders), "-n", "60")
			checkReceived(t, out, orders)
		})
	}
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out)
	}
	return string(out)
}

func checkReceived(t *testing.T, out string, orders int) {
	t.Helper()
	got := make([][]int, orders)
	n := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "received ") {
			continue
		}
		var queue, offset, order, message int
		var tag string
		if _, err := fmt.Sscanf(line, "received queue=%d offset=%d tag=%s body=\"order %d message %d\"", &queue, &offset, &tag, &order, &message); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[order] = append(got[order], message)
		n++
	}
	if n != 60 {
		t.Errorf("%d messages, want 60", n)
	}
	want := make([][]int, orders)
	for i := range 100 {
		if tag := i % 5; tag == 0 || tag == 2 || tag == 3 {
			want[i%orders] = append(want[i%orders], i)
		}
	}
	for order := range orders {
		if fmt.Sprint(got[order]) != fmt.Sprint(want[order]) {
			t.Errorf("order %d: %v, want %v", order, got[order], want[order])
		}
	}
}
