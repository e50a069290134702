// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"net/netip"
)

// AddrPort returns a network address as numbers, for record formats that need
// them. An address that has none gives 0.0.0.0 and port 0.
func AddrPort(a net.Addr) netip.AddrPort {
	if n, ok := a.(interface{ AddrPort() netip.AddrPort }); ok { // TCP and memnet
		ap := n.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	if a != nil {
		if ap, err := netip.ParseAddrPort(a.String()); err == nil {
			return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		}
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
}
