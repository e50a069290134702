// SPDX-License-Identifier: Apache-2.0

package body

// ClusterInfo is the answer to GET_BROKER_CLUSTER_INFO 106. Java: ClusterInfo.
type ClusterInfo struct {
	BrokerAddrTable  map[string]BrokerData // by broker name
	ClusterAddrTable map[string][]string   // cluster to broker names
}

// Encode returns the body.
func (c *ClusterInfo) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ClusterInfo) Decode(data []byte) error { return decode("cluster info", data, c.read) }

func (c *ClusterInfo) write(w *writer) {
	w.open('{')
	writeTable(w, "brokerAddrTable", c.BrokerAddrTable, (*BrokerData).write)
	writeTable(w, "clusterAddrTable", c.ClusterAddrTable, writeStrings)
	w.close('}')
}

func (c *ClusterInfo) read(r *reader) {
	*c = ClusterInfo{}
	r.object(func(key string) {
		switch key {
		case "brokerAddrTable":
			c.BrokerAddrTable = readTable(r, (*BrokerData).read)
		case "clusterAddrTable":
			c.ClusterAddrTable = readTable(r, readStrings)
		}
	})
}
