// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recorder(t *testing.T, script func(Start) Act) *Recorder {
	t.Helper()
	r, err := New(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// reporter is one for the length of the test.
func reporter(t *testing.T, r *Recorder, who string) (*Reporter, context.Context) {
	t.Helper()
	rep := NewReporter()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	var wg sync.WaitGroup
	wg.Go(func() { _ = rep.Run(ctx, r.Addr(), who) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return rep, ctx
}

func TestCallsAreRecorded(t *testing.T) {
	r := recorder(t, func(s Start) Act {
		if s.Seq == 2 && s.Attempt == 1 {
			return Act{End: Fail}
		}
		return Act{Work: 5 * time.Millisecond}
	})
	rep, ctx := reporter(t, r, "c")
	for _, s := range []Start{{Key: "k", Seq: 1, Attempt: 1}, {Key: "k", Seq: 2, Attempt: 1}, {Key: "k", Seq: 2, Attempt: 2, Fence: 7, Queue: "q", Offset: 9}} {
		err := rep.Handle(ctx, s)
		if fails := s.Seq == 2 && s.Attempt == 1; fails != (err != nil) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	calls := r.Calls()
	if len(calls) != 3 {
		t.Fatalf("%d calls", len(calls))
	}
	for i, want := range []check.Outcome{check.Success, check.Failure, check.Success} {
		if c := calls[i]; c.Outcome != want || c.Consumer != "c" || c.End < c.Start {
			t.Errorf("call %d: %+v", i, c)
		}
	}
	if c := calls[2]; c.Fence != 7 || c.Queue != "q" || c.Offset != 9 || c.End-c.Start < 5*time.Millisecond {
		t.Errorf("call %+v", c)
	}
	if rep := check.Check(r.History()); !rep.OK() {
		t.Error(rep.Faults)
	}
}

func TestPanicAndGoexitAreFailures(t *testing.T) {
	for _, end := range []End{Panic, Goexit} {
		r := recorder(t, func(Start) Act { return Act{End: end} })
		rep, ctx := reporter(t, r, "c")
		var wg sync.WaitGroup
		panicked := false
		wg.Go(func() {
			defer func() { panicked = recover() != nil }()
			_ = rep.Handle(ctx, Start{Key: "k", Seq: 1})
			t.Errorf("%s: the handler returned", end)
		})
		wg.Wait()
		if panicked != (end == Panic) {
			t.Errorf("%s: panicked: %v", end, panicked)
		}
		if c := r.Calls(); len(c) != 1 || c[0].Outcome != check.Failure {
			t.Errorf("%s: %+v", end, c)
		}
	}
}

func TestCaughtConsumerStaysInsideItsHandler(t *testing.T) {
	r := recorder(t, nil)
	rep, ctx := reporter(t, r, "c")
	if err := rep.Queues(ctx, 2); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	inside, leave := context.WithCancel(ctx)
	defer wg.Wait()
	defer leave()
	returned := make(chan error, 1)
	wg.Go(func() {
		for seq := 1; ; seq++ {
			if err := rep.Handle(inside, Start{Key: "k", Seq: seq}); err != nil {
				returned <- err
				return
			}
		}
	})
	who, err := r.Catch(ctx, func(s Start, queues int) bool { return s.Seq >= 1 && queues == 2 })
	if who != "c" || err != nil {
		t.Fatal(who, err)
	}
	select {
	case err := <-returned:
		t.Fatalf("the handler returned: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	r.Killed("c")
	calls := r.Calls()
	if last := calls[len(calls)-1]; last.Outcome != check.Open {
		t.Errorf("the call of the caught consumer: %+v", last)
	}
}

func TestWordsOfTheDeadDoNotCount(t *testing.T) {
	r := recorder(t, nil)
	rep, ctx := reporter(t, r, "c")
	call, _, err := rep.Start(ctx, Start{Key: "k", Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	r.Killed("c")
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := rep.End(short, call, false); err == nil {
		t.Error("the dead got an answer")
	}
	if c := r.Calls(); len(c) != 1 || c[0].Outcome != check.Open {
		t.Errorf("calls %+v", c)
	}
}

func TestReporterOutlivesItsRecorder(t *testing.T) {
	r := recorder(t, nil)
	rep, ctx := reporter(t, r, "c")
	if err := rep.Handle(ctx, Start{Key: "k", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for seq := range 2 {
		if err := rep.Handle(ctx, Start{Key: "k", Seq: 2 + seq}); err == nil {
			t.Error("a call without a recorder succeeded")
		}
	}
	if ctx.Err() != nil {
		t.Error("the reporter waited for nothing")
	}
}

func TestAwait(t *testing.T) {
	r := recorder(t, nil)
	rep, ctx := reporter(t, r, "c")
	var wg sync.WaitGroup
	wg.Go(func() {
		for seq := 1; seq <= 5; seq++ {
			if err := rep.Handle(ctx, Start{Key: "k", Seq: seq}); err != nil {
				t.Error(err)
			}
		}
	})
	if err := r.Await(ctx, "five", func(s *State) bool { return len(s.Done) == 5 }); err != nil {
		t.Error(err)
	}
	wg.Wait()
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := r.Await(short, "a sixth", func(s *State) bool { return len(s.Done) == 6 }); err == nil || !strings.Contains(err.Error(), "a sixth") {
		t.Errorf("error %v", err)
	}
}
