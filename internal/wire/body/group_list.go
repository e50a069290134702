// SPDX-License-Identifier: Apache-2.0

package body

// GroupList is the answer to QUERY_TOPIC_CONSUME_BY_WHO 300. Java: GroupList.
type GroupList struct {
	Groups []string
}

// Encode returns the body.
func (l *GroupList) Encode() []byte { return encode(l.write) }

// Decode reads the body.
func (l *GroupList) Decode(data []byte) error { return decode("group list", data, l.read) }

func (l *GroupList) write(w *writer) {
	w.open('{')
	w.keyStrings("groupList", l.Groups)
	w.close('}')
}

func (l *GroupList) read(r *reader) {
	*l = GroupList{}
	r.object(func(key string) {
		if key == "groupList" {
			l.Groups = r.strings()
		}
	})
}
