// SPDX-License-Identifier: Apache-2.0

package body

import "github.com/orderlymq/orderly/internal/wire"

// ProducerTable is the answer to GET_ALL_PRODUCER_INFO 328. Java:
// ProducerTableInfo.
type ProducerTable struct {
	Data map[string][]ProducerInfo // by producer group
}

// ProducerInfo is one producer.
type ProducerInfo struct {
	ClientID            string
	RemoteIP            string
	Language            wire.Language
	Version             int32
	LastUpdateTimestamp int64 // ms
}

// Encode returns the body.
func (p *ProducerTable) Encode() []byte { return encode(p.write) }

// Decode reads the body.
func (p *ProducerTable) Decode(data []byte) error { return decode("producer table", data, p.read) }

func (p *ProducerTable) write(w *writer) {
	w.open('{')
	w.key("data")
	w.open('{')
	for _, group := range sortedKeys(p.Data) {
		writeList(w, group, p.Data[group], (*ProducerInfo).write)
	}
	w.close('}')
	w.close('}')
}

func (p *ProducerTable) read(r *reader) {
	*p = ProducerTable{}
	r.object(func(key string) {
		if key == "data" {
			p.Data = readTable(r, func(l *[]ProducerInfo, r *reader) { *l = readList(r, (*ProducerInfo).read) })
		}
	})
}

func (p *ProducerInfo) write(w *writer) {
	w.open('{')
	w.keyStr("clientId", p.ClientID)
	w.keyStr("language", p.Language.String())
	w.keyInt("lastUpdateTimestamp", p.LastUpdateTimestamp)
	w.keyStr("remoteIP", p.RemoteIP)
	w.keyInt("version", int64(p.Version))
	w.close('}')
}

func (p *ProducerInfo) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "clientId":
			p.ClientID = r.str()
		case "language":
			p.Language = wire.ParseLanguage(r.str())
		case "lastUpdateTimestamp":
			p.LastUpdateTimestamp = r.int64()
		case "remoteIP":
			p.RemoteIP = r.str()
		case "version":
			p.Version = r.int32()
		}
	})
}
