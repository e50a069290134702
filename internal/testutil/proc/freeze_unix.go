// SPDX-License-Identifier: Apache-2.0

//go:build unix

package proc

import (
	"fmt"
	"syscall"
)

// Freeze stops the child from running, as a long pause of its machine would.
func (p *Process) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen child go on.
func (p *Process) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %v to %s: %w", s, p.name, err)
	}
	return nil
}
