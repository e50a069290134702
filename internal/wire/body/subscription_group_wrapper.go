// SPDX-License-Identifier: Apache-2.0

package body

// SubscriptionGroupWrapper is the answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG 201.
// Java: SubscriptionGroupWrapper. The Go admin reads it with a strict reader.
type SubscriptionGroupWrapper struct {
	DataVersion DataVersion
	Groups      map[string]SubscriptionGroupConfig // subscriptionGroupTable
	Forbidden   map[string]map[string]int32        // forbiddenTable: group, topic, bits
}

// Encode returns the body.
func (s *SubscriptionGroupWrapper) Encode() []byte { return encode(s.write) }

// Decode reads the body.
func (s *SubscriptionGroupWrapper) Decode(data []byte) error {
	return decode("group table", data, s.read)
}

func (s *SubscriptionGroupWrapper) write(w *writer) {
	w.open('{')
	w.key("dataVersion")
	s.DataVersion.write(w)
	writeTable(w, "forbiddenTable", s.Forbidden, writeForbidden)
	writeTable(w, "subscriptionGroupTable", s.Groups, (*SubscriptionGroupConfig).write)
	w.close('}')
}

func writeForbidden(m *map[string]int32, w *writer) {
	w.open('{')
	for _, topic := range sortedKeys(*m) {
		w.keyInt(topic, int64((*m)[topic]))
	}
	w.close('}')
}

func readForbidden(m *map[string]int32, r *reader) {
	*m = map[string]int32{}
	r.object(func(topic string) { (*m)[topic] = r.int32() })
}

func (s *SubscriptionGroupWrapper) read(r *reader) {
	*s = SubscriptionGroupWrapper{}
	r.object(func(key string) {
		switch key {
		case "dataVersion":
			s.DataVersion.read(r)
		case "subscriptionGroupTable":
			s.Groups = readTable(r, (*SubscriptionGroupConfig).read)
		case "forbiddenTable":
			s.Forbidden = readTable(r, readForbidden)
		}
	})
}

// SubscriptionGroupList is the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
// 225, A to B. Java: SubscriptionGroupList.
type SubscriptionGroupList struct {
	Groups []SubscriptionGroupConfig // groupConfigList
}

// Encode returns the body.
func (l *SubscriptionGroupList) Encode() []byte { return encode(l.write) }

// Decode reads the body.
func (l *SubscriptionGroupList) Decode(data []byte) error { return decode("group list", data, l.read) }

func (l *SubscriptionGroupList) write(w *writer) {
	w.open('{')
	writeList(w, "groupConfigList", l.Groups, (*SubscriptionGroupConfig).write)
	w.close('}')
}

func (l *SubscriptionGroupList) read(r *reader) {
	*l = SubscriptionGroupList{}
	r.object(func(key string) {
		if key == "groupConfigList" {
			l.Groups = readList(r, (*SubscriptionGroupConfig).read)
		}
	})
}
