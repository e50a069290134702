// SPDX-License-Identifier: Apache-2.0

package header

import (
	"net/url"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
)

// Named is one name of a group: of a member, or of the client that has it.
type Named struct {
	Group, Name string
}

// EncodeNames appends field with "group=name;...", names escaped as in a URL.
// A group name holds neither '=' nor ';'.
func EncodeNames(f *wire.Fields, field string, names []Named) {
	if len(names) == 0 {
		return
	}
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(n.Group + "=" + url.QueryEscape(n.Name))
	}
	f.Add(field, b.String())
}

// DecodeNames reads what EncodeNames wrote; absent is none.
func DecodeNames(f wire.Fields, field string) ([]Named, error) {
	text := f.Value(field)
	var names []Named
	for text != "" {
		var item string
		item, text, _ = strings.Cut(text, ";")
		group, escaped, _ := strings.Cut(item, "=")
		name, err := url.QueryUnescape(escaped)
		if group == "" || name == "" || err != nil {
			return nil, &FieldError{Field: field, Value: item, Want: "group=name"}
		}
		names = append(names, Named{Group: group, Name: name})
	}
	return names, nil
}
