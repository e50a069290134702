// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport

import (
	"net"
	"syscall"
)

// peek looks whether a socket has something to read.
func peek(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	found := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK) // Go's sockets do not block
		found = err == nil && n > 0
	})
	return err == nil && found
}
