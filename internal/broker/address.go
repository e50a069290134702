// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/orderlymq/orderly/internal/transport"
)

// advertised works out the address that clients are told, and the same in
// numbers for message ids.
func advertised(cfg Config, listening net.Addr) (string, netip.AddrPort, error) {
	addr := listening.String()
	numbers := transport.AddrPort(listening)
	if cfg.AdvertiseAddr != "" {
		host, port, err := net.SplitHostPort(cfg.AdvertiseAddr)
		if err != nil {
			return "", netip.AddrPort{}, fmt.Errorf("broker: advertise address %q: %w: give host:port", cfg.AdvertiseAddr, err)
		}
		if port == "0" {
			port = strconv.Itoa(int(numbers.Port()))
		}
		addr = net.JoinHostPort(host, port)
		return addr, resolve(host, port, numbers), nil
	}
	if ip := numbers.Addr(); ip.IsValid() && ip.IsUnspecified() {
		ap := netip.AddrPortFrom(ownAddr(), numbers.Port())
		return ap.String(), ap, nil
	}
	return addr, numbers, nil
}

// resolve returns host and port in numbers, or fallback's address if the host
// has no IPv4 address: then ids lead to this machine only by way of the topic.
func resolve(host, port string, fallback netip.AddrPort) netip.AddrPort {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fallback
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(ip.Unmap(), uint16(n))
	}
	if a, err := net.ResolveTCPAddr("tcp4", net.JoinHostPort(host, port)); err == nil {
		return a.AddrPort()
	}
	return netip.AddrPortFrom(fallback.Addr(), uint16(n))
}

// ownAddr is the first address of this machine that others can reach, else the
// loopback one.
func ownAddr() netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		addrs = nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().Is4() && ip.Unmap().IsGlobalUnicast() {
				return ip.Unmap()
			}
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
