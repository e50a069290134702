// SPDX-License-Identifier: Apache-2.0

package wire

import "strings"

// decodeJSON reads a JSON header, as leniently as Java's and Go's readers
// together (the table of leniency in docs/protocol.md).
func decodeJSON(h []byte, c *Command) error {
	r := jsonReader{in: string(h)}
	err := r.object(func(key string) error { return r.headerKey(key, c) })
	if err != nil {
		return err
	}
	if r.peek(); r.pos != len(r.in) {
		return r.bad("text after the header object")
	}
	return nil
}

func (r *jsonReader) headerKey(key string, c *Command) (err error) {
	switch key {
	case "code":
		c.Code, err = r.int32()
	case "flag":
		c.Flag, err = r.int32()
	case "opaque":
		c.Opaque, err = r.int32()
	case "version":
		c.Version, err = r.int32()
	case "language":
		err = r.language(c)
	case "remark":
		var ok bool
		c.Remark, ok, err = r.scalar()
		c.EmptyRemark = ok && c.Remark == ""
	case "extFields":
		err = r.extFields(c)
	case "serializeTypeCurrentRPC":
		c.namesType = true
		err = r.skip()
	default:
		if known := foldKey(key); known != "" {
			return r.headerKey(known, c)
		}
		err = r.skip()
	}
	return err
}

// foldKey maps a key in other letter case or with underscores to a known one,
// and everything else, known spellings included, to "".
func foldKey(key string) string {
	if len(key) > 40 {
		return ""
	}
	key = strings.ReplaceAll(key, "_", "")
	for _, known := range [...]string{
		"code", "flag", "opaque", "version", "language", "remark", "extFields", "serializeTypeCurrentRPC",
	} {
		if strings.EqualFold(key, known) {
			return known
		}
	}
	return ""
}

func (r *jsonReader) language(c *Command) error {
	s, ok, err := r.scalar()
	if ok && err == nil {
		c.Language = ParseLanguage(s)
	}
	return err
}

func (r *jsonReader) extFields(c *Command) error {
	if r.peek() != '{' { // null
		return r.skip()
	}
	if c.Ext == nil {
		// Four quotes make an entry: never too small, and bounded by the header.
		n := strings.Count(r.in[r.pos:], `"`)/4 + 1
		c.Ext = make(Fields, 0, min(n, MaxFields))
	}
	return r.object(func(key string) error {
		value, ok, err := r.scalar()
		if err != nil || !ok {
			return err // null is absent
		}
		if len(c.Ext) == MaxFields {
			return r.bad("more than 1024 ext entries")
		}
		c.Ext = append(c.Ext, Field{key, value})
		return nil
	})
}
