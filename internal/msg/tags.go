// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"fmt"
	"slices"
	"strings"
)

// AllTags is the expression that lets every message pass.
const AllTags = "*"

// Types of filter expressions.
const (
	ExprTag   = "TAG"
	ExprSQL92 = "SQL92"
)

// MaxTags bounds the tags of one expression.
const MaxTags = 4096

// TagHash is the tag code of a tag: Java's String.hashCode, sign-extended; 0 for
// no tag. Bytes that are not UTF-8 count as U+FFFD.
func TagHash(tag string) int64 { return tagHash(tag) }

func tagHash[T string | []byte](tag T) int64 {
	var h int32
	for i := range len(tag) {
		if tag[i] >= 0x80 {
			return int64(javaHash(string(tag)))
		}
		h = 31*h + int32(tag[i])
	}
	return int64(h)
}

// javaHash hashes the UTF-16 code units of s.
func javaHash(s string) (h int32) {
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xd800 + r>>10
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}

// TagFilter decides by tag which messages a subscription gets. The broker knows
// only hashes (MatchHash, some messages too many pass), the client compares the
// tags themselves (Match). The zero value lets every message pass.
type TagFilter struct {
	only  bool // false: every message passes
	tags  []string
	codes []int64 // sorted
}

// ParseTags parses an expression `TagA || TagB`. "*" and blank (Java's null) mean
// every message.
func ParseTags(expr string) (TagFilter, error) {
	if expr = strings.TrimSpace(expr); expr == "" || expr == AllTags {
		return TagFilter{}, nil
	}
	f := TagFilter{only: true}
	for part := range strings.SplitSeq(expr, "||") {
		if part = strings.TrimSpace(part); part == "" || slices.Contains(f.tags, part) {
			continue
		}
		if len(f.tags) == MaxTags {
			return TagFilter{}, fmt.Errorf("tag expression: more than %d tags", MaxTags)
		}
		f.tags = append(f.tags, part)
		f.codes = append(f.codes, TagHash(part))
	}
	if len(f.tags) == 0 {
		return TagFilter{}, fmt.Errorf("tag expression %q names no tag: write %q for all messages", expr, AllTags)
	}
	slices.Sort(f.codes)
	return f, nil
}

// FilterFromCodes makes the broker's filter of a subscription that came over the
// wire: its text and the hashes that the client worked out. A message passes if
// either lets it, because some clients hash tags that are not ASCII in their own
// way; the client filters once more.
func FilterFromCodes(expr string, codes []int32) TagFilter {
	f, err := ParseTags(expr)
	if err != nil {
		f = TagFilter{only: true} // names no tag: the codes alone decide
	}
	if f.All() {
		return f
	}
	for _, c := range codes[:min(len(codes), MaxTags)] {
		f.codes = append(f.codes, int64(c))
	}
	slices.Sort(f.codes)
	f.codes = slices.Compact(f.codes)
	return f
}

// All reports whether every message passes.
func (f TagFilter) All() bool { return !f.only }

// Tags returns the tags in the order of the expression, nil for all messages.
func (f TagFilter) Tags() []string { return slices.Clone(f.tags) }

// Codes returns the hashes as clients send them, in the order of the tags.
func (f TagFilter) Codes() []int32 {
	out := make([]int32, len(f.tags))
	for i, t := range f.tags {
		out[i] = javaHash(t)
	}
	return out
}

// MatchHash is the broker's test, on the tag code of the queue index. Two tags
// with one hash both pass.
func (f TagFilter) MatchHash(code int64) bool {
	if !f.only {
		return true
	}
	if len(f.codes) <= 8 {
		return slices.Contains(f.codes, code)
	}
	_, found := slices.BinarySearch(f.codes, code)
	return found
}

// Match is the client's test, on the tag itself; "" is a message without a tag.
func (f TagFilter) Match(tag string) bool {
	return !f.only || slices.Contains(f.tags, tag)
}

// Subscription is one topic that a consumer group reads, and which of its
// messages.
type Subscription struct {
	Topic       string
	Expr        string // as given; AllTags for all
	Type        string // ExprTag or ExprSQL92
	Tags        []string
	Codes       []int32
	Version     int64 // newer wins; milliseconds in Java, nanoseconds in Go
	ClassFilter bool
}

// NewSubscription parses expr as tags.
func NewSubscription(topic, expr string, version int64) (Subscription, error) {
	f, err := ParseTags(expr)
	if err != nil {
		return Subscription{}, fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	if f.All() {
		expr = AllTags
	}
	return Subscription{Topic: topic, Expr: expr, Type: ExprTag, Tags: f.Tags(), Codes: f.Codes(), Version: version}, nil
}

// Filter is the broker's filter for this subscription, whose type must be ExprTag.
func (s *Subscription) Filter() TagFilter { return FilterFromCodes(s.Expr, s.Codes) }
