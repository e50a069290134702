// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// Session names the client's session in a request, or the session given in the
// answer to 34. The zero value is no session: a stock client.
type Session struct {
	New   bool   // asks for a token
	Token uint64 // never 0 once given
}

// Encode appends the field, if there is a session.
func (h Session) Encode(f *wire.Fields) {
	switch {
	case h.New:
		f.Add(ExtSession, SessionNew)
	case h.Token != 0:
		f.Add(ExtSession, strconv.FormatUint(h.Token, 16))
	}
}

// Decode reads the field; absent is the zero value.
func (h *Session) Decode(f wire.Fields) error {
	*h = Session{}
	v, ok := f.Get(ExtSession)
	if !ok {
		return nil
	}
	if v == SessionNew {
		h.New = true
		return nil
	}
	n, err := strconv.ParseUint(v, 16, 64)
	if err != nil || n == 0 {
		return &FieldError{Field: ExtSession, Value: v, Want: "a session token in hex, or new"}
	}
	h.Token = n
	return nil
}

// GroupTimes are the grace and the lease time of a consumer group, in the
// answer to 34.
type GroupTimes struct {
	Group        string
	Grace, Lease time.Duration // whole milliseconds
}

// EncodeGroups appends "group=graceMs/leaseMs;...". A group name holds neither
// '=' nor ';'.
func EncodeGroups(f *wire.Fields, groups []GroupTimes) {
	if len(groups) == 0 {
		return
	}
	var b []byte
	for i, g := range groups {
		if i > 0 {
			b = append(b, ';')
		}
		b = append(append(b, g.Group...), '=')
		b = strconv.AppendInt(b, g.Grace.Milliseconds(), 10)
		b = append(b, '/')
		b = strconv.AppendInt(b, g.Lease.Milliseconds(), 10)
	}
	f.Add(ExtGroups, string(b))
}

// DecodeGroups reads what EncodeGroups wrote; absent is none.
func DecodeGroups(f wire.Fields) ([]GroupTimes, error) {
	text := f.Value(ExtGroups)
	var groups []GroupTimes
	for text != "" {
		var item string
		item, text, _ = strings.Cut(text, ";")
		group, times, _ := strings.Cut(item, "=")
		grace, lease, _ := strings.Cut(times, "/")
		g, err1 := parseMillis(grace)
		l, err2 := parseMillis(lease)
		if group == "" || err1 != nil || err2 != nil {
			return nil, &FieldError{Field: ExtGroups, Value: item, Want: "group=graceMs/leaseMs"}
		}
		groups = append(groups, GroupTimes{Group: group, Grace: g, Lease: l})
	}
	return groups, nil
}

// parseMillis reads milliseconds; 32 bits of them keep a Duration far from its
// limit.
func parseMillis(s string) (time.Duration, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return time.Duration(n) * time.Millisecond, err
}
