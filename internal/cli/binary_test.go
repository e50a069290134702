// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the orderly binary, built once for all tests that need processes.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "orderly-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "orderly")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/orderlymq/orderly/cmd/orderly").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// run runs the binary to its end and returns what it printed.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return runWith(t, "", args...)
}

func runWith(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// server is `orderly server` as a process.
type server struct {
	t       *testing.T
	cmd     *exec.Cmd
	stderr  *syncBuffer
	namesrv string
	broker  string
}

// startServer starts a server on free ports, or on those of an earlier one.
func startServer(t *testing.T, data string, more ...string) *server {
	t.Helper()
	s, line := launch(t, append([]string{"server", "--namesrv-addr", "127.0.0.1:0", "--broker-addr", "127.0.0.1:0", "--data", data}, more...)...)
	if line == "" {
		t.Fatalf("the server did not get ready:\n%s", s.stderr)
	}
	for _, f := range strings.Fields(line) {
		if v, ok := strings.CutPrefix(f, "namesrv="); ok {
			s.namesrv = v
		}
		if v, ok := strings.CutPrefix(f, "broker="); ok {
			s.broker = v
		}
	}
	return s
}

// launch starts the binary and returns its first line of output, or "" if it
// ended without one. The process is killed when the test ends.
func launch(t *testing.T, args ...string) (*server, string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: exec.Command(path, args...), stderr: &syncBuffer{}}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return s, strings.TrimSpace(line)
}

func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// terminate asks the server to end and returns how long that took.
func (s *server) terminate() time.Duration {
	s.t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v:\n%s", err, s.stderr)
	}
	return time.Since(began)
}

// syncBuffer is a buffer that a process's output may fill while a test reads.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
