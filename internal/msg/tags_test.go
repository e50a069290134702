// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func TestTagHash(t *testing.T) {
	for tag, want := range map[string]int64{
		"": 0, "a": 97, "TagA": 2598919, "TagC": 2598921, "Aa": 2112, "BB": 2112,
		"polygenelubricants": -2147483648, "ä": 228, "订单": 1129459, "😀": 1772899,
	} {
		if got := TagHash(tag); got != want {
			t.Errorf("%q: %d, want %d", tag, got, want)
		}
	}
}

func TestTagHashAgainstUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "tag")
		var want int32
		for _, u := range utf16.Encode([]rune(s)) {
			want = 31*want + int32(u)
		}
		if got := TagHash(s); got != int64(want) {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	})
}

func TestParseTags(t *testing.T) {
	tests := []struct {
		expr string
		tags []string // nil: all
	}{
		{"", nil},
		{"  ", nil},
		{"*", nil},
		{" * ", nil},
		{"null", []string{"null"}},
		{"TagA", []string{"TagA"}},
		{"TagA || TagC", []string{"TagA", "TagC"}},
		{"TagA||TagC||TagA", []string{"TagA", "TagC"}},
		{"|| TagA ||  || TagC ||", []string{"TagA", "TagC"}},
		{"Tag|A || B", []string{"Tag|A", "B"}},
		{"* || A", []string{"*", "A"}},
	}
	for _, tt := range tests {
		f, err := ParseTags(tt.expr)
		if err != nil || !slices.Equal(f.Tags(), tt.tags) || f.All() != (tt.tags == nil) {
			t.Errorf("%q: %q all=%v, %v", tt.expr, f.Tags(), f.All(), err)
		}
	}
	for _, bad := range []string{"||", " || || ", strings.Repeat("x||", 3) + manyTags(MaxTags)} {
		if _, err := ParseTags(bad); err == nil {
			t.Errorf("%.20q passed", bad)
		}
	}
}

func manyTags(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("ab", i%7))
		b.WriteString(string(rune(0x4e00 + i)))
		b.WriteString("||")
	}
	return b.String()
}

func TestTagFilter(t *testing.T) {
	f, err := ParseTags("TagA || Aa")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		tag              string
		byHash, byTagToo bool
	}{
		{"TagA", true, true},
		{"Aa", true, true},
		{"BB", true, false}, // the same hash as Aa
		{"TagB", false, false},
		{"", false, false},
	}
	for _, tt := range tests {
		if f.MatchHash(TagHash(tt.tag)) != tt.byHash || f.Match(tt.tag) != tt.byTagToo {
			t.Errorf("%q: by hash %v, by tag %v", tt.tag, f.MatchHash(TagHash(tt.tag)), f.Match(tt.tag))
		}
	}
	var all TagFilter
	if !all.Match("") || !all.Match("x") || !all.MatchHash(0) {
		t.Error("the zero filter holds messages back")
	}
	if codes := f.Codes(); !slices.Equal(codes, []int32{2598919, 2112}) {
		t.Errorf("codes %v", codes)
	}
}

func TestFilterFromCodes(t *testing.T) {
	if f := FilterFromCodes("*", []int32{1}); !f.All() {
		t.Error("* with codes holds messages back")
	}
	f := FilterFromCodes("标签", []int32{-5}) // a Go client's own hash
	if !f.MatchHash(TagHash("标签")) || !f.MatchHash(-5) || f.MatchHash(0) {
		t.Error("either hash must pass, and nothing else")
	}
	if f := FilterFromCodes("||", nil); f.All() || f.MatchHash(0) || f.Match("") {
		t.Error("an expression that names nothing lets messages pass")
	}
	if f := FilterFromCodes("||", []int32{7}); !f.MatchHash(7) || f.MatchHash(8) {
		t.Error("the codes alone decide")
	}
	many, err := ParseTags(manyTags(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range many.Tags() {
		if !many.MatchHash(TagHash(tag)) {
			t.Errorf("%q does not pass", tag)
		}
	}
}

func TestNewSubscription(t *testing.T) {
	s, err := NewSubscription("T", "TagA || TagC", 7)
	if err != nil || s.Expr != "TagA || TagC" || s.Type != ExprTag || s.Version != 7 ||
		!slices.Equal(s.Tags, []string{"TagA", "TagC"}) || !slices.Equal(s.Codes, []int32{2598919, 2598921}) {
		t.Errorf("%+v, %v", s, err)
	}
	if f := s.Filter(); !f.MatchHash(2598921) || f.MatchHash(2598920) {
		t.Error("filter of the subscription")
	}
	if s, err := NewSubscription("T", "", 7); err != nil || s.Expr != AllTags || len(s.Tags) != 0 || len(s.Codes) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := NewSubscription("T", "||", 7); err == nil {
		t.Error("|| passed")
	}
}
