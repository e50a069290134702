// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/embed"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// Bounds on what no test measures.
const (
	startLimit = 60 * time.Second // a Java process on a busy machine
	stopLimit  = 30 * time.Second
)

// built compiles the Java side once. Without Java the tests fail: a green run
// has to mean that they ran.
var built = sync.OnceValue(func() error {
	if out, err := exec.Command("./build.sh").CombinedOutput(); err != nil {
		return fmt.Errorf("build.sh: %w\n%s", err, out)
	}
	return nil
})

// peer starts the Java side.
func peer(t *testing.T, name string, args ...string) *proc.Process {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(here, "target")
	p, err := proc.Start(proc.Config{Name: "java " + name, Path: "java", Args: append([]string{
		"-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", // small and quick to start
		"-Duser.home=" + t.TempDir(), // where the client writes its logs
		"-cp", filepath.Join(target, "classes") + ":" + filepath.Join(target, "lib", "*"),
		"peer.Peer",
	}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s ends with\n%s", name, p.Log())
		}
	})
	return p
}

// finish waits for a Java process to end by itself.
func finish(t *testing.T, p *proc.Process, within time.Duration) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for {
		line, err := p.Line(ctx)
		if err == nil {
			lines = append(lines, line)
			continue
		}
		if ctx.Err() != nil {
			t.Fatalf("not ended after %v: %v", within, err)
		}
		if err := p.Await(time.Second); err != nil {
			t.Fatal(err)
		}
		return lines
	}
}

// hear waits for a line of a Java process.
func hear(t *testing.T, p *proc.Process, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if line, err := p.Line(ctx); err != nil || line != want {
		t.Fatalf("line %q, error %v, want %q", line, err, want)
	}
}

// bed is a server on free ports and a recorder.
type bed struct {
	*testing.T
	srv *embed.Server
	dir string
	rec *record.Recorder
}

func newBed(t *testing.T, script func(record.Start) record.Act) *bed {
	t.Helper()
	b := &bed{T: t, dir: t.TempDir()}
	srv, err := embed.Start(t.Context(), embed.Config{
		NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: b.dir, SegmentSize: 16 << 20,
	})
	b.must(err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Close(ctx); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	b.srv = srv
	b.rec, err = record.New(t.Context(), script)
	b.must(err)
	t.Cleanup(b.rec.Close)
	return b
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bed) createTopic(topic admin.Topic) {
	b.Helper()
	a, err := admin.Open(b.Context(), admin.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	defer a.Close()
	b.must(a.CreateTopic(b.Context(), topic))
}

// javaConsumer starts a Java member of a group.
func (b *bed) javaConsumer(kind, topic, group, name string) *proc.Process {
	b.Helper()
	p := peer(b.T, name, "consume", b.srv.NamesrvAddr(), kind, topic, group, name, b.rec.Addr())
	hear(b.T, p, "ready")
	return p
}

// end ends a Java consumer cleanly.
func (b *bed) end(p *proc.Process) {
	b.Helper()
	b.must(p.CloseInput())
	hear(b.T, p, "ended")
	if err := p.Await(stopLimit); err != nil {
		b.Error(err)
	}
}

// ours runs Orderly's consumer in this process until it is stopped.
func (b *bed) ours(topic, group, name string) (stop func()) {
	b.Helper()
	return b.oursBy(orderly.ByQueue, topic, group, name)
}

// oursBy is ours with an order of its own.
func (b *bed) oursBy(order orderly.Order, topic, group, name string) (stop func()) {
	b.Helper()
	c, err := orderly.Open(b.Context(), orderly.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	rep := record.NewReporter()
	repCtx, hush := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = rep.Run(repCtx, b.rec.Addr(), name) })
	consumed := make(chan error, 1)
	wg.Go(func() {
		consumed <- c.Consume(ctx, orderly.ConsumerConfig{Group: group, Topic: topic, Order: order}, func(_ context.Context, m *orderly.Message) error {
			return rep.Handle(repCtx, start(m.Properties["key"], m.Properties["seq"], m.Attempt, m.Queue.ID, m.Offset))
		})
	})
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-consumed; err != nil {
			b.Errorf("consume: %v", err)
		}
		if err := c.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
		hush()
		wg.Wait()
	})
	b.Cleanup(stop)
	return stop
}

func start(key, seq string, attempt, queue int, offset int64) record.Start {
	n, err := strconv.Atoi(seq)
	if err != nil {
		n = -1
	}
	return record.Start{Key: key, Seq: n, Attempt: attempt, Queue: strconv.Itoa(queue), Offset: offset}
}

// produced records what a Java producer has sent.
func (b *bed) produced(keys, messages int) {
	for i := range messages {
		b.rec.Sent(check.Send{Key: "k" + strconv.Itoa(i%keys), Seq: i/keys + 1, Acked: true})
	}
}

// await waits until ok is true of the record.
func (b *bed) await(within time.Duration, what string, ok func(*record.State) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), within)
	defer cancel()
	if err := b.rec.Await(ctx, what, ok); err != nil {
		b.Fatalf("not within %v: %v\n%s", within, err, strings.Join(b.last(), "\n"))
	}
}

func (b *bed) last() (lines []string) {
	calls := b.rec.Calls()
	for _, c := range calls[max(0, len(calls)-20):] {
		lines = append(lines, fmt.Sprintf("%s %s:%d queue %s offset %d, %v to %v", c.Consumer, c.Key, c.Seq, c.Queue, c.Offset, c.Start, c.End))
	}
	return lines
}

// handled is a condition: so many messages were handled.
func handled(n int) func(*record.State) bool {
	return func(st *record.State) bool { return len(st.Done) >= n }
}

// allHandled is a condition: whatever was acknowledged was handled.
func allHandled(st *record.State) bool {
	for _, m := range st.Sends {
		if m.Acked && !st.Done[check.Message{Key: m.Key, Seq: m.Seq}] {
			return false
		}
	}
	return true
}

// contract checks O1 to O4.
func (b *bed) contract() check.Report {
	b.Helper()
	rep := check.Check(b.rec.History())
	if rep.Lost+rep.OutOfOrder+rep.Overlapping > 0 {
		b.Errorf("%d lost, %d out of order, %d overlapping:\n%s", rep.Lost, rep.OutOfOrder, rep.Overlapping, strings.Join(rep.Faults, "\n"))
	}
	return rep
}

// inOrder is the contract without any repeat.
func (b *bed) inOrder() {
	b.Helper()
	if rep := b.contract(); rep.Repeated > 0 {
		b.Errorf("%d repeats:\n%s", rep.Repeated, strings.Join(rep.Faults, "\n"))
	}
}
