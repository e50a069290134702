// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the child: it echoes its input and ends with it.
func TestMain(m *testing.M) {
	switch os.Getenv("PROC_TEST_CHILD") {
	case "":
		goleak.VerifyTestMain(m)
	case "fail":
		fmt.Fprintln(os.Stderr, "no reason at all")
		os.Exit(3)
	default:
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println("heard " + in.Text())
		}
	}
}

func child(t *testing.T, kind string) *Process {
	t.Helper()
	p, err := Start(Config{Name: "child", Path: os.Args[0], Env: []string{"PROC_TEST_CHILD=" + kind}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func tell(t *testing.T, p *Process, text string) {
	t.Helper()
	if _, err := fmt.Fprintln(p, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, p *Process, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if line, err := p.Line(ctx); err != nil || line != want {
		t.Errorf("line %q, error %v, want %q", line, err, want)
	}
}

func TestTalk(t *testing.T) {
	p := child(t, "echo")
	tell(t, p, "one\ntwo")
	hear(t, p, "heard one")
	hear(t, p, "heard two")
	if err := p.Exited(); err != nil {
		t.Error(err)
	}
}

func TestFrozenChildIsSilentUntilThawed(t *testing.T) {
	p := child(t, "echo")
	tell(t, p, "one")
	hear(t, p, "heard one")
	if err := p.Freeze(); err != nil {
		t.Fatal(err)
	}
	tell(t, p, "two")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if line, err := p.Line(ctx); err == nil {
		t.Errorf("a frozen child said %q", line)
	}
	if err := p.Thaw(); err != nil {
		t.Fatal(err)
	}
	hear(t, p, "heard two")
}

func TestKillEndsAFrozenChild(t *testing.T) {
	p := child(t, "echo")
	if err := p.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if p.Exited() == nil {
		t.Error("the child is said to live")
	}
}

func TestCleanEnd(t *testing.T) {
	p := child(t, "echo")
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if err := p.Await(10 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestAwaitKillsWhoDoesNotEnd(t *testing.T) {
	p := child(t, "echo")
	if err := p.Await(10 * time.Millisecond); err == nil || p.Exited() == nil {
		t.Errorf("error %v, exited: %v", err, p.Exited())
	}
}

func TestEndOfAChildIsTold(t *testing.T) {
	p := child(t, "fail")
	if line, err := p.Line(t.Context()); err == nil || !strings.Contains(err.Error(), "no reason at all") {
		t.Errorf("line %q, error %v", line, err)
	}
	if err := p.Stop(time.Second); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("stop: %v", err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	var l lines
	l.init()
	for i := range maxLines + 10 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	if first, _ := l.next(); first != "line 10" {
		t.Errorf("first line kept is %q", first)
	}
	var log tail
	for range 100 {
		fmt.Fprint(&log, strings.Repeat("x", 1000))
	}
	if n := len(log.String()); n != tailSize {
		t.Errorf("%d bytes of log kept", n)
	}
}

func TestReadyLine(t *testing.T) {
	n, b, err := parseReady("orderly ready namesrv=127.0.0.1:1 broker=127.0.0.1:2 data=d")
	if n != "127.0.0.1:1" || b != "127.0.0.1:2" || err != nil {
		t.Error(n, b, err)
	}
	if _, _, err := parseReady("listen: address in use"); err == nil {
		t.Error("no error")
	}
}
