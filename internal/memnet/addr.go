// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Addr is the address of one end of a connection or of a listener.
type Addr struct {
	host string
	port uint16
	ip   netip.Addr
}

// Network returns "mem".
func (a Addr) Network() string { return "mem" }

// String returns host:port, with the host name as the test gave it.
func (a Addr) String() string { return net.JoinHostPort(a.host, strconv.Itoa(int(a.port))) }

// Host returns the host's name.
func (a Addr) Host() string { return a.host }

// AddrPort returns the address as numbers. A host whose name is no IP address
// has one of 10.77.0.0/16, the same one as long as its Network lives, so that
// record formats that need numbers work.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPortFrom(a.ip, a.port) }

func splitAddr(addr string) (string, uint16, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("memnet: address %q: want host:port: %w", addr, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("memnet: address %q: port must be a number up to 65535", addr)
	}
	return host, uint16(port), nil
}

// addrOf makes an address; n.mu is held.
func (n *Network) addrOf(host string, port uint16) Addr {
	ip, err := netip.ParseAddr(host)
	if err == nil {
		return Addr{host, port, ip}
	}
	ip, ok := n.ips[host]
	if !ok {
		i := len(n.ips) + 1
		ip = netip.AddrFrom4([4]byte{10, 77, byte(i >> 8), byte(i)})
		n.ips[host] = ip
	}
	return Addr{host, port, ip}
}
