// SPDX-License-Identifier: Apache-2.0

package body

// GroupForbidden is the answer to UPDATE_AND_GET_GROUP_FORBIDDEN 353. Java:
// GroupForbidden.
type GroupForbidden struct {
	Group    string
	Topic    string
	Readable bool
}

// Encode returns the body.
func (g *GroupForbidden) Encode() []byte { return encode(g.write) }

// Decode reads the body.
func (g *GroupForbidden) Decode(data []byte) error { return decode("group forbidden", data, g.read) }

func (g *GroupForbidden) write(w *writer) {
	w.open('{')
	w.keyStr("group", g.Group)
	w.keyBool("readable", g.Readable)
	w.keyStr("topic", g.Topic)
	w.close('}')
}

func (g *GroupForbidden) read(r *reader) {
	*g = GroupForbidden{}
	r.object(func(key string) {
		switch key {
		case "group":
			g.Group = r.str()
		case "topic":
			g.Topic = r.str()
		case "readable":
			g.Readable = r.bool()
		}
	})
}
