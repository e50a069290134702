// SPDX-License-Identifier: Apache-2.0

package order

import (
	"errors"
	"strconv"
	"strings"
)

// errProgressText is returned for text that no AppendRanges or AppendAttempts
// wrote.
var errProgressText = errors.New("order: malformed settled ranges or attempts")

// MaxAttempt bounds the number of an attempt that is told to others.
const MaxAttempt = 1 << 30

// AppendRanges appends rs as text: "3-5,9-12", half open.
func AppendRanges(dst []byte, rs []Range) []byte {
	for i, r := range rs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, r.From, 10)
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, r.To, 10)
	}
	return dst
}

// ParseRanges appends the ranges that text, of at most 64 KiB, holds to dst.
// They must ascend and may touch but not overlap.
func ParseRanges(dst []Range, text string) ([]Range, error) {
	if len(text) > maxSettledText {
		return dst, errProgressText
	}
	last := int64(-1)
	for text != "" {
		item, rest, more := strings.Cut(text, ",")
		if more && rest == "" {
			return dst, errProgressText
		}
		text = rest
		a, b, _ := strings.Cut(item, "-")
		from, err1 := strconv.ParseInt(a, 10, 64)
		to, err2 := strconv.ParseInt(b, 10, 64)
		if err1 != nil || err2 != nil || from < last || from < 0 || from >= to {
			return dst, errProgressText
		}
		dst, last = append(dst, Range{From: from, To: to}), to
	}
	return dst, nil
}

// AppendAttempts appends as as text: "7:2,9:1+", where + says that one more
// attempt is running.
func AppendAttempts(dst []byte, as []Attempt) []byte {
	for i, a := range as {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, a.Offset, 10)
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(a.Ended), 10)
		if a.Running {
			dst = append(dst, '+')
		}
	}
	return dst
}

// ParseAttempts appends the attempts that text holds to dst. Offsets must
// ascend.
func ParseAttempts(dst []Attempt, text string) ([]Attempt, error) {
	if len(text) > maxSettledText {
		return dst, errProgressText
	}
	last := int64(-1)
	for text != "" {
		item, rest, more := strings.Cut(text, ",")
		if more && rest == "" {
			return dst, errProgressText
		}
		text = rest
		a, b, _ := strings.Cut(item, ":")
		b, running := strings.CutSuffix(b, "+")
		off, err1 := strconv.ParseInt(a, 10, 64)
		ended, err2 := strconv.ParseInt(b, 10, 32)
		if err1 != nil || err2 != nil || off <= last || ended < 0 || ended > MaxAttempt {
			return dst, errProgressText
		}
		dst, last = append(dst, Attempt{Offset: off, Ended: int32(ended), Running: running}), off
	}
	return dst, nil
}

// AfterCrash returns the attempts to count when a lease ended uncleanly: one
// more for each message that was reported as started and not as ended, and one
// for the message at head, the position, if it was delivered and no report
// says that it was in back-off.
func AfterCrash(as []Attempt, head int64, delivered bool) []Attempt {
	for i := range as {
		if as[i].Offset == head {
			delivered = false
		}
		if as[i].Running {
			as[i].Ended, as[i].Running = as[i].Ended+1, false
		}
	}
	if !delivered {
		return as
	}
	i := 0
	for i < len(as) && as[i].Offset < head {
		i++
	}
	as = append(as, Attempt{})
	copy(as[i+1:], as[i:])
	as[i] = Attempt{Offset: head, Ended: 1}
	return as
}
