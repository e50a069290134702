// SPDX-License-Identifier: Apache-2.0

package body

// CorrectionOffsets is the answer to QUERY_CORRECTION_OFFSET 308. Java:
// QueryCorrectionOffsetBody.
type CorrectionOffsets struct {
	Offsets map[int32]int64 // correctionOffsets, by queue
}

// Encode returns the body.
func (c *CorrectionOffsets) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *CorrectionOffsets) Decode(data []byte) error {
	return decode("correction offsets", data, c.read)
}

func (c *CorrectionOffsets) write(w *writer) {
	w.open('{')
	writeIntTable(w, "correctionOffsets", c.Offsets, writeOffset)
	w.close('}')
}

func (c *CorrectionOffsets) read(r *reader) {
	*c = CorrectionOffsets{}
	r.object(func(key string) {
		if key == "correctionOffsets" {
			c.Offsets = readInt32Table(r)
		}
	})
}
