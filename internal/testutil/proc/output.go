// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"strings"
	"sync"
)

// Bounds on what is kept of a child's output.
const (
	maxLines = 1024
	maxLine  = 64 << 10
	tailSize = 32 << 10
)

// lines cuts a child's output into lines and keeps those that nobody has
// taken yet. Beyond maxLines the oldest are dropped: a child must not block
// because its parent looks elsewhere.
type lines struct {
	more chan struct{} // signalled, with room for one, when a line is there

	mu   sync.Mutex
	part []byte
	kept []string
}

func (l *lines) init() { l.more = make(chan struct{}, 1) }

func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		l.kept = append(l.kept, strings.TrimSpace(string(l.part)+string(b[:i])))
		l.part, b = l.part[:0], b[i+1:]
	}
	if len(l.part) < maxLine {
		l.part = append(l.part, b...)
	}
	if over := len(l.kept) - maxLines; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	if len(l.kept) > 0 {
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
	return n, nil
}

func (l *lines) next() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return "", false
	}
	line := l.kept[0]
	l.kept = append(l.kept[:0], l.kept[1:]...)
	return line, true
}

// tail keeps the last part of a child's log, for error messages.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
