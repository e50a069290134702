// SPDX-License-Identifier: Apache-2.0

package body

// KVTable is a table of texts: the answer to REGISTER_BROKER 103,
// GET_KVLIST_BY_NAMESPACE 219 and GET_BROKER_RUNTIME_INFO 28. Java: KVTable.
type KVTable struct {
	Table map[string]string
}

// Encode returns the body.
func (t *KVTable) Encode() []byte { return encode(t.write) }

// Decode reads the body.
func (t *KVTable) Decode(data []byte) error { return decode("key-value table", data, t.read) }

func (t *KVTable) write(w *writer) {
	w.open('{')
	w.keyStringMap("table", t.Table)
	w.close('}')
}

func (t *KVTable) read(r *reader) {
	*t = KVTable{}
	r.object(func(key string) {
		if key == "table" {
			t.Table = r.stringMap()
		}
	})
}
