// SPDX-License-Identifier: Apache-2.0

package body

// DataVersion says how new a set of configuration is. Two are equal only as a
// whole. Java: DataVersion. It is also the body of QUERY_DATA_VERSION 322.
type DataVersion struct {
	StateVersion int64
	Timestamp    int64 // ms
	Counter      int64
}

// Encode returns the body.
func (v *DataVersion) Encode() []byte { return encode(v.write) }

// Decode reads the body.
func (v *DataVersion) Decode(data []byte) error { return decode("data version", data, v.read) }

func (v *DataVersion) write(w *writer) {
	w.open('{')
	w.keyInt("counter", v.Counter)
	w.keyInt("stateVersion", v.StateVersion)
	w.keyInt("timestamp", v.Timestamp)
	w.close('}')
}

func (v *DataVersion) read(r *reader) {
	*v = DataVersion{}
	r.object(func(key string) {
		switch key {
		case "counter":
			v.Counter = r.int64()
		case "stateVersion":
			v.StateVersion = r.int64()
		case "timestamp":
			v.Timestamp = r.int64()
		}
	})
}
