// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child. Its standard input is a pipe from here, so that it can
// notice if this process dies.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan string // the first line on standard output
	wg    sync.WaitGroup
	exit  chan struct{}
	err   error // of Wait; read after exit is closed
	tail  *tail
}

// start runs self with args. The process is not bound to a context: it ends by
// stop or kill.
func start(self string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(self, args...), ready: make(chan string, 1), exit: make(chan struct{}), tail: &tail{}}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("demo: start %s: %w", args[0], err)
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("demo: start %s: %w", args[0], err)
	}
	p.cmd.Stderr = p.tail
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("demo: start %s: %w", args[0], err)
	}
	p.wg.Go(func() {
		defer close(p.exit)
		in := bufio.NewReader(stdout)
		if line, err := in.ReadString('\n'); err == nil {
			p.ready <- strings.TrimSpace(line)
		}
		_, _ = io.Copy(io.Discard, in)
		p.err = p.cmd.Wait()
	})
	return p, nil
}

// awaitReady returns the child's first line of output.
func (p *process) awaitReady(ctx context.Context) (string, error) {
	select {
	case line := <-p.ready:
		return line, nil
	case <-p.exit:
		return "", fmt.Errorf("demo: %s ended before it was ready: %v\n%s", p.cmd.Args[1], p.err, p.tail)
	case <-ctx.Done():
		return "", fmt.Errorf("demo: %s is not ready: %w\n%s", p.cmd.Args[1], context.Cause(ctx), p.tail)
	}
}

// kill ends the process as a crash would, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wg.Wait()
	p.stdin.Close()
}

// stop asks the process to end, and kills it if it has not after d.
func (p *process) stop(d time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exit:
	case <-t.C:
		p.kill()
		return fmt.Errorf("demo: %s did not end within %v", p.cmd.Args[1], d)
	}
	p.wg.Wait()
	p.stdin.Close()
	if p.err != nil {
		return fmt.Errorf("demo: %s: %w\n%s", p.cmd.Args[1], p.err, p.tail)
	}
	return nil
}

// exited reports whether the process has ended by itself, and how.
func (p *process) exited() error {
	select {
	case <-p.exit:
		return errors.Join(fmt.Errorf("demo: %s ended early\n%s", p.cmd.Args[1], p.tail), p.err)
	default:
		return nil
	}
}

// tail keeps the last few KiB of a child's log, for error messages.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > tailSize {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
