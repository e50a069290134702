// SPDX-License-Identifier: Apache-2.0

package body

// DelayOffsets is the answer to GET_ALL_DELAY_OFFSET 45. Java:
// DelayOffsetSerializeWrapper.
type DelayOffsets struct {
	DataVersion DataVersion
	OffsetTable map[int32]int64 // by delay level
}

// Encode returns the body.
func (d *DelayOffsets) Encode() []byte { return encode(d.write) }

// Decode reads the body.
func (d *DelayOffsets) Decode(data []byte) error { return decode("delay offsets", data, d.read) }

func (d *DelayOffsets) write(w *writer) {
	w.open('{')
	w.key("dataVersion")
	d.DataVersion.write(w)
	writeIntTable(w, "offsetTable", d.OffsetTable, writeOffset)
	w.close('}')
}

func (d *DelayOffsets) read(r *reader) {
	*d = DelayOffsets{}
	r.object(func(key string) {
		switch key {
		case "dataVersion":
			d.DataVersion.read(r)
		case "offsetTable":
			d.OffsetTable = readInt32Table(r)
		}
	})
}
