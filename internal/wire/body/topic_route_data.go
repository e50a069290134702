// SPDX-License-Identifier: Apache-2.0

package body

// TopicRouteData is the answer to GET_ROUTEINFO_BY_TOPIC 105, and the body of
// REGISTER_TOPIC_IN_NAMESRV 217. Java: TopicRouteData.
type TopicRouteData struct {
	OrderTopicConf string // "broker-a:4;broker-b:4"; "" is absent
	Queues         []QueueData
	Brokers        []BrokerData
	FilterServers  map[string][]string
}

// QueueData says how many queues of the topic a broker has.
type QueueData struct {
	BrokerName     string
	ReadQueueNums  int32
	WriteQueueNums int32
	Perm           int32
	TopicSysFlag   int32
}

// BrokerData has the addresses of one broker name.
type BrokerData struct {
	Cluster            string
	BrokerName         string
	BrokerAddrs        map[int64]string // broker id to ip:port; 0 is the master
	EnableActingMaster bool
	ZoneName           string // "" is absent
}

// Encode returns the strict form: quoted keys, ASCII only. A client asks for it
// by version >= VersionStrictJSON or by ext acceptStandardJsonOnly.
func (t *TopicRouteData) Encode() []byte {
	w := writer{ascii: true}
	t.write(&w)
	return w.b
}

// EncodeLegacy returns fastjson's form for older clients: broker ids without
// quotes.
func (t *TopicRouteData) EncodeLegacy() []byte {
	w := writer{legacy: true}
	t.write(&w)
	return w.b
}

// Decode reads either form.
func (t *TopicRouteData) Decode(data []byte) error { return decode("route", data, t.read) }

func (t *TopicRouteData) write(w *writer) {
	w.open('{')
	writeList(w, "brokerDatas", t.Brokers, (*BrokerData).write)
	writeTable(w, "filterServerTable", t.FilterServers, writeStrings)
	w.keyOpt("orderTopicConf", t.OrderTopicConf)
	writeList(w, "queueDatas", t.Queues, (*QueueData).write)
	w.close('}')
}

func writeStrings(list *[]string, w *writer) { w.strings(*list) }
func readStrings(list *[]string, r *reader)  { *list = r.strings() }

func (t *TopicRouteData) read(r *reader) {
	*t = TopicRouteData{}
	r.object(func(key string) {
		switch key {
		case "brokerDatas":
			t.Brokers = readList(r, (*BrokerData).read)
		case "queueDatas":
			t.Queues = readList(r, (*QueueData).read)
		case "orderTopicConf":
			t.OrderTopicConf = r.str()
		case "filterServerTable":
			t.FilterServers = readTable(r, readStrings)
		}
	})
}

func (b *BrokerData) write(w *writer) {
	w.open('{')
	writeBrokerAddrs(w, b.BrokerAddrs)
	w.keyStr("brokerName", b.BrokerName)
	w.keyStr("cluster", b.Cluster)
	w.keyBool("enableActingMaster", b.EnableActingMaster)
	w.keyOpt("zoneName", b.ZoneName)
	w.close('}')
}

func (b *BrokerData) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "brokerAddrs":
			b.BrokerAddrs = readIntTable(r, readText)
		case "brokerName":
			b.BrokerName = r.str()
		case "cluster":
			b.Cluster = r.str()
		case "enableActingMaster":
			b.EnableActingMaster = r.bool()
		case "zoneName":
			b.ZoneName = r.str()
		}
	})
}

// writeBrokerAddrs writes no white space: the Go client mends the keys by text
// replacement.
func writeBrokerAddrs(w *writer, addrs map[int64]string) {
	writeIntTable(w, "brokerAddrs", addrs, writeText)
}

func (q *QueueData) write(w *writer) {
	w.open('{')
	w.keyStr("brokerName", q.BrokerName)
	w.keyInt("perm", int64(q.Perm))
	w.keyInt("readQueueNums", int64(q.ReadQueueNums))
	w.keyInt("topicSysFlag", int64(q.TopicSysFlag))
	w.keyInt("writeQueueNums", int64(q.WriteQueueNums))
	w.close('}')
}

func (q *QueueData) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "brokerName":
			q.BrokerName = r.str()
		case "readQueueNums":
			q.ReadQueueNums = r.int32()
		case "writeQueueNums":
			q.WriteQueueNums = r.int32()
		case "perm":
			q.Perm = r.int32()
		case "topicSysFlag", "topicSynFlag": // the second is the Go client's
			q.TopicSysFlag = r.int32()
		}
	})
}
