// SPDX-License-Identifier: Apache-2.0

package body

// ProducerConnection is the answer to GET_PRODUCER_CONNECTION_LIST 204. Java:
// ProducerConnection.
type ProducerConnection struct {
	Connections []Connection // connectionSet
}

// Encode returns the body.
func (p *ProducerConnection) Encode() []byte { return encode(p.write) }

// Decode reads the body.
func (p *ProducerConnection) Decode(data []byte) error {
	return decode("producer connections", data, p.read)
}

func (p *ProducerConnection) write(w *writer) {
	w.open('{')
	writeList(w, "connectionSet", p.Connections, (*Connection).write)
	w.close('}')
}

func (p *ProducerConnection) read(r *reader) {
	*p = ProducerConnection{}
	r.object(func(key string) {
		if key == "connectionSet" {
			p.Connections = readList(r, (*Connection).read)
		}
	})
}
