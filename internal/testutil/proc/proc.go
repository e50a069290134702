// SPDX-License-Identifier: Apache-2.0

// Package proc runs child processes: the demo's servers and consumers, and
// those of the cases with real processes.
//
// It promises that a child's end is never missed or waited for in vain: each
// wait is bounded and names the child, with the last part of its log.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a child. Its standard input is a pipe from here, so that it can
// notice if this process dies.
type Process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines lines
	wg    sync.WaitGroup
	exit  chan struct{}
	err   error // of Wait; read after exit is closed
	log   *tail
}

// Config says what to run.
type Config struct {
	Name string // in errors
	Path string
	Args []string
	Env  []string // added to this process's own
}

// Start runs a child. It is not bound to a context: it ends by Stop or Kill,
// one of which the caller owes it.
func Start(cfg Config) (*Process, error) {
	p := &Process{
		name: cfg.Name, cmd: exec.Command(cfg.Path, cfg.Args...), exit: make(chan struct{}),
		log: &tail{},
	}
	p.lines.init()
	p.cmd.Env = append(p.cmd.Environ(), cfg.Env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.lines, p.log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	p.wg.Go(func() {
		p.err = p.cmd.Wait()
		close(p.exit)
	})
	return p, nil
}

// Line returns the child's next line of output.
func (p *Process) Line(ctx context.Context) (string, error) {
	for {
		if line, ok := p.lines.next(); ok {
			return line, nil
		}
		select {
		case <-p.lines.more:
		case <-p.exit: // all output was taken before the end was told
			if line, ok := p.lines.next(); ok {
				return line, nil
			}
			return "", fmt.Errorf("%s ended: %v\n%s", p.name, p.err, p.log)
		case <-ctx.Done():
			return "", fmt.Errorf("%s says nothing: %w\n%s", p.name, context.Cause(ctx), p.log)
		}
	}
}

// Write writes to the child's standard input.
func (p *Process) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if err != nil {
		err = fmt.Errorf("tell %s: %w\n%s", p.name, err, p.log)
	}
	return n, err
}

// Kill ends the child as a crash would, frozen or not, and returns when it is
// gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	p.wg.Wait()
	p.stdin.Close()
}

// Stop asks the child to end, and kills it if it has not after d.
func (p *Process) Stop(d time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.Await(d)
}

// CloseInput ends the child's standard input.
func (p *Process) CloseInput() error {
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("end the input of %s: %w", p.name, err)
	}
	return nil
}

// Await returns when the child has ended by itself, with an error unless that
// was a clean end, and kills it if it has not after d.
func (p *Process) Await(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exit:
	case <-t.C:
		p.Kill()
		return fmt.Errorf("%s did not end within %v\n%s", p.name, d, p.log)
	}
	p.wg.Wait()
	p.stdin.Close()
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, p.err, p.log)
	}
	return nil
}

// Exited is nil while the child lives; then it says how it ended.
func (p *Process) Exited() error {
	select {
	case <-p.exit:
		return errors.Join(fmt.Errorf("%s has ended\n%s", p.name, p.log), p.err)
	default:
		return nil
	}
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the last part of the child's standard error.
func (p *Process) Log() string { return p.log.String() }
