// SPDX-License-Identifier: Apache-2.0

package body

// HAStatus is the answer to GET_BROKER_HA_STATUS 907 of a master without
// replicas. Java: HARuntimeInfo. Connections of replicas are not kept.
type HAStatus struct {
	Master                   bool
	MasterCommitLogMaxOffset int64
	InSyncSlaveNums          int32
}

// Encode returns the body.
func (h *HAStatus) Encode() []byte { return encode(h.write) }

// Decode reads the body.
func (h *HAStatus) Decode(data []byte) error { return decode("ha status", data, h.read) }

func (h *HAStatus) write(w *writer) {
	w.open('{')
	w.key("haClientRuntimeInfo")
	w.open('{')
	for _, name := range []string{
		"lastReadTimestamp", "lastWriteTimestamp", "masterFlushOffset", "maxOffset", "transferredByteInSecond",
	} {
		w.keyInt(name, 0)
	}
	w.close('}')
	w.key("haConnectionInfo")
	w.open('[')
	w.close(']')
	w.keyInt("inSyncSlaveNums", int64(h.InSyncSlaveNums))
	w.keyBool("master", h.Master)
	w.keyInt("masterCommitLogMaxOffset", h.MasterCommitLogMaxOffset)
	w.close('}')
}

func (h *HAStatus) read(r *reader) {
	*h = HAStatus{}
	r.object(func(key string) {
		switch key {
		case "master":
			h.Master = r.bool()
		case "masterCommitLogMaxOffset":
			h.MasterCommitLogMaxOffset = r.int64()
		case "inSyncSlaveNums":
			h.InSyncSlaveNums = r.int32()
		}
	})
}
