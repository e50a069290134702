// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// OffsetID is the id that a broker gives a message: its own address and the
// record's place, in upper-case hex, 32 or 56 letters.
func OffsetID(host netip.AddrPort, physicalOffset int64) string {
	b := make([]byte, 0, hostV6Size+8)
	b = appendHost(b, host, host.Addr().Is6())
	b = binary.BigEndian.AppendUint64(b, uint64(physicalOffset))
	return upperHex(b)
}

// ParseOffsetID reads an OffsetID in either case.
func ParseOffsetID(id string) (host netip.AddrPort, physicalOffset int64, err error) {
	b, err := hex.DecodeString(id)
	if err != nil {
		return host, 0, fmt.Errorf("message id %.64q: not hex: %w", id, err)
	}
	var addr netip.Addr
	switch len(b) {
	case hostV4Size + 8:
		addr = netip.AddrFrom4([4]byte(b))
	case hostV6Size + 8:
		addr = netip.AddrFrom16([16]byte(b))
	default:
		return host, 0, fmt.Errorf("message id %.64q: %d letters, an offset id has 32 or 56", id, len(id))
	}
	rest := b[len(b)-12:]
	port := binary.BigEndian.Uint32(rest)
	if port > math.MaxUint16 {
		return host, 0, fmt.Errorf("message id %q: port %d", id, port)
	}
	return netip.AddrPortFrom(addr, uint16(port)), int64(binary.BigEndian.Uint64(rest[4:])), nil
}

// IDConfig says what a generator's ids are made of.
type IDConfig struct {
	Addr netip.Addr       // of this host; none: 0.0.0.0
	PID  int              // 0: this process
	Salt uint32           // tells generators of one process, and processes of one number, apart; 0: random
	Now  func() time.Time // nil: time.Now; months begin in the zone of what it returns
}

// IDGenerator makes client message ids (UNIQ_KEY) in the layout of RocketMQ's
// Java client: address, process id, salt, milliseconds since the month began,
// counter. Ids of one generator never repeat within a month: when the counter
// has gone round within one millisecond, or the clock goes back, the generator's
// own time runs ahead. It is safe for concurrent use.
type IDGenerator struct {
	now    func() time.Time
	prefix []byte

	mu         sync.Mutex
	month, end time.Time // the month that millis counts from, and its end
	millis     uint32
	counter    uint16
	first      uint16 // counter at which millis began
}

// NewIDGenerator starts a generator.
func NewIDGenerator(cfg IDConfig) *IDGenerator {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.PID == 0 {
		cfg.PID = os.Getpid()
	}
	if cfg.Salt == 0 {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		cfg.Salt = binary.BigEndian.Uint32(b[:])
	}
	addr := cfg.Addr.Unmap()
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	prefix := addr.AsSlice()
	prefix = binary.BigEndian.AppendUint16(prefix, uint16(cfg.PID))
	prefix = binary.BigEndian.AppendUint32(prefix, cfg.Salt)
	return &IDGenerator{now: cfg.Now, prefix: prefix}
}

// Next returns a new id: 32 letters, 56 with an IPv6 address.
func (g *IDGenerator) Next() string {
	millis, counter := g.next(g.now())
	b := make([]byte, 0, 28)
	b = append(b, g.prefix...)
	b = binary.BigEndian.AppendUint32(b, millis)
	b = binary.BigEndian.AppendUint16(b, counter)
	return upperHex(b)
}

func (g *IDGenerator) next(now time.Time) (millis uint32, counter uint16) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !now.Before(g.end) { // a clock that goes back does not go back a month
		g.month = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
		g.end = g.month.AddDate(0, 1, 0)
		g.millis = 0
		g.first = g.counter
	}
	if ms := now.Sub(g.month).Milliseconds(); ms > int64(g.millis) {
		g.millis = uint32(ms)
		g.first = g.counter
	}
	millis, counter = g.millis, g.counter
	if g.counter++; g.counter == g.first {
		g.millis++
	}
	return millis, counter
}

func upperHex(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }
