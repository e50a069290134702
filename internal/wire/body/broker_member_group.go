// SPDX-License-Identifier: Apache-2.0

package body

// BrokerMemberGroup is the answer to GET_BROKER_MEMBER_GROUP 901. Java:
// GetBrokerMemberGroupResponseBody.
type BrokerMemberGroup struct {
	Cluster     string
	BrokerName  string
	BrokerAddrs map[int64]string
}

// Encode returns the body.
func (g *BrokerMemberGroup) Encode() []byte { return encode(g.write) }

// Decode reads the body.
func (g *BrokerMemberGroup) Decode(data []byte) error { return decode("member group", data, g.read) }

func (g *BrokerMemberGroup) write(w *writer) {
	w.open('{')
	w.key("brokerMemberGroup")
	w.open('{')
	writeBrokerAddrs(w, g.BrokerAddrs)
	w.keyStr("brokerName", g.BrokerName)
	w.keyStr("cluster", g.Cluster)
	w.close('}')
	w.close('}')
}

func (g *BrokerMemberGroup) read(r *reader) {
	*g = BrokerMemberGroup{}
	r.object(func(key string) {
		if key == "brokerMemberGroup" {
			r.object(func(key string) { g.field(r, key) })
		}
	})
}

func (g *BrokerMemberGroup) field(r *reader, key string) {
	switch key {
	case "brokerAddrs":
		g.BrokerAddrs = readIntTable(r, readText)
	case "brokerName":
		g.BrokerName = r.str()
	case "cluster":
		g.Cluster = r.str()
	}
}
