// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseProperties(t *testing.T) {
	tests := []struct {
		raw  string
		want map[string]string
	}{
		{"", nil},
		{"a\x01b\x02", map[string]string{"a": "b"}},
		{"a\x01b", map[string]string{"a": "b"}},
		{"a\x01b\x02c\x01d\x02", map[string]string{"a": "b", "c": "d"}},
		{"a\x01\x02c\x01d", map[string]string{"c": "d"}},            // no value
		{"\x01b\x02c\x01d", map[string]string{"c": "d"}},            // no name
		{"ab\x02c\x01d", map[string]string{"c": "d"}},               // no 0x01
		{"a\x01b\x01c\x02", map[string]string{"a": "b\x01c"}},       // the first 0x01 counts
		{"a\x01b\x02a\x01c\x02", map[string]string{"a": "c"}},       // the last one counts
		{"\x02\x02\x02a\x01b\x02\x02", map[string]string{"a": "b"}}, // empty pairs
		{"ключ\x01значение\x02", map[string]string{"ключ": "значение"}},
	}
	for _, tt := range tests {
		if got := ParseProperties(tt.raw); !maps.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.raw, got, tt.want)
		}
		for name, value := range tt.want {
			if got, ok := Property(tt.raw, name); !ok || got != value {
				t.Errorf("%q: %s is %q", tt.raw, name, got)
			}
		}
		if _, ok := Property(tt.raw, "missing"); ok {
			t.Errorf("%q: found what is not there", tt.raw)
		}
	}
}

func TestSetAndDeleteProperty(t *testing.T) {
	tests := []struct{ raw, name, value, want string }{
		{"", "a", "1", "a\x011\x02"},
		{"a\x011\x02", "b", "2", "a\x011\x02b\x012\x02"},
		{"a\x011", "b", "2", "a\x011\x02b\x012\x02"},
		{"a\x011\x02b\x012\x02", "a", "3", "b\x012\x02a\x013\x02"},
		{"a\x011\x02a\x012\x02", "a", "", ""},
		{"a\x011\x02", "a", "", ""},
		{"a\x011\x02", "", "x", "a\x011\x02"},
		{"", "k", "v\x02TAGS\x01forged", "k\x01vTAGSforged\x02"},
	}
	for _, tt := range tests {
		if got := SetProperty(tt.raw, tt.name, tt.value); got != tt.want {
			t.Errorf("%q with %q=%q: %q, want %q", tt.raw, tt.name, tt.value, got, tt.want)
		}
	}
	raw := "a\x011\x02b\x012"
	if got := DeleteProperty(raw, "c"); got != raw {
		t.Errorf("deleted nothing: %q", got)
	}
}

func TestSetPropertyAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-cä]{0,2}`)
		raw, model := "", map[string]string{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			name, value := word.Draw(t, "name"), word.Draw(t, "value")
			raw = SetProperty(raw, name, value)
			if delete(model, name); name != "" && value != "" {
				model[name] = value
			}
			if got := ParseProperties(raw); !maps.Equal(got, model) {
				t.Fatalf("%q, want %q", got, model)
			}
		}
	})
}

func TestCheckProperty(t *testing.T) {
	for _, bad := range [][2]string{{"", "v"}, {"n", ""}, {"n\x01", "v"}, {"n", "v\x02"}, {PropTags, "x"}, {PropCRC, "x"}, {PropTransaction, "true"}} {
		if CheckProperty(bad[0], bad[1]) == nil {
			t.Errorf("%q=%q passed", bad[0], bad[1])
		}
	}
	for _, good := range [][2]string{{"colour", "red"}, {PropShardingKeyGo, "k"}} {
		if err := CheckProperty(good[0], good[1]); err != nil {
			t.Error(err)
		}
	}
}

func TestWithoutCheck(t *testing.T) {
	check := PropCRC + "\x010123456789\x02"
	tests := map[string]string{
		"":                                      "",
		check:                                   "",
		"a\x01b\x02" + check:                    "a\x01b\x02",
		"a\x01b\x02":                            "a\x01b\x02",
		"a\x01b\x02" + check + "c\x01d\x02":     "a\x01b\x02c\x01d\x02",
		"a\x01" + PropCRC + "\x02":              "a\x01" + PropCRC + "\x02",
		"my" + check:                            "my" + check, // another property's name
		strings.Repeat("x", CheckSize) + "\x02": strings.Repeat("x", CheckSize) + "\x02",
	}
	for raw, want := range tests {
		if got := WithoutCheck(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

func TestMessageAccessors(t *testing.T) {
	var m Message
	if m.Tag() != "" || m.Keys() != "" || m.OrderingKey() != "" {
		t.Error("an empty message has a tag, keys or an ordering key")
	}
	m.SetProperty(PropTags, "TagA")
	m.SetProperty(PropKeys, "k1 k2")
	m.SetProperty(PropShardingKeyGo, "go")
	if m.Tag() != "TagA" || m.Keys() != "k1 k2" || m.OrderingKey() != "go" {
		t.Errorf("%q %q %q", m.Tag(), m.Keys(), m.OrderingKey())
	}
	m.SetProperty(PropShardingKey, "order-1")
	m.SetProperty(PropUniqueKey, "UNIQUE")
	if m.OrderingKey() != "order-1" || m.ID() != "UNIQUE" {
		t.Errorf("%q %q", m.OrderingKey(), m.ID())
	}
	m.Topic = "T"
	rec, err := AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	if v := View(rec); v.KeyHash() != KeyHash("order-1") || v.TagHash() != TagHash("TagA") {
		t.Error("hashes of a view differ")
	}
}
