// SPDX-License-Identifier: Apache-2.0

package body

// ConsumeStatsList is the answer to GET_BROKER_CONSUME_STATS 317. Java:
// ConsumeStatsList.
type ConsumeStatsList struct {
	BrokerAddr        string
	ConsumeStatsList  []map[string][]ConsumeStats // each: group to its stats
	TotalDiff         int64
	TotalInflightDiff int64
}

// Encode returns the body.
func (c *ConsumeStatsList) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumeStatsList) Decode(data []byte) error {
	return decode("consume stats list", data, c.read)
}

func (c *ConsumeStatsList) write(w *writer) {
	w.open('{')
	w.keyOpt("brokerAddr", c.BrokerAddr)
	w.key("consumeStatsList")
	w.open('[')
	for _, groups := range c.ConsumeStatsList {
		w.open('{')
		for _, group := range sortedKeys(groups) {
			writeList(w, group, groups[group], (*ConsumeStats).write)
		}
		w.close('}')
	}
	w.close(']')
	w.keyInt("totalDiff", c.TotalDiff)
	w.keyInt("totalInflightDiff", c.TotalInflightDiff)
	w.close('}')
}

func (c *ConsumeStatsList) read(r *reader) {
	*c = ConsumeStatsList{}
	r.object(func(key string) {
		switch key {
		case "brokerAddr":
			c.BrokerAddr = r.str()
		case "consumeStatsList":
			c.ConsumeStatsList = readList(r, func(m *map[string][]ConsumeStats, r *reader) {
				*m = readTable(r, func(l *[]ConsumeStats, r *reader) { *l = readList(r, (*ConsumeStats).read) })
			})
		case "totalDiff":
			c.TotalDiff = r.int64()
		case "totalInflightDiff":
			c.TotalInflightDiff = r.int64()
		}
	})
}
