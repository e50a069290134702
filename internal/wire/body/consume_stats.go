// SPDX-License-Identifier: Apache-2.0

package body

// ConsumeStats is the answer to GET_CONSUME_STATS 208. Java: ConsumeStats. The
// Java admin tool throws on an empty table.
type ConsumeStats struct {
	OffsetTable map[MessageQueue]OffsetWrapper
	ConsumeTPS  float64
	// Only from us, and only if asked for with header.ExtHolders.
	Holders []QueueHolder   // oHolders
	Refused []RefusedCommit // oRefused
	Lags    []QueueLag      // oLags
}

// OffsetWrapper says how far a group is in one queue.
type OffsetWrapper struct {
	BrokerOffset   int64 // the queue's end
	ConsumerOffset int64 // committed
	PullOffset     int64
	LastTimestamp  int64 // ms; store time of the last message consumed
}

// Encode returns the body.
func (c *ConsumeStats) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumeStats) Decode(data []byte) error { return decode("consume stats", data, c.read) }

func (c *ConsumeStats) write(w *writer) {
	w.open('{')
	w.keyFloat("consumeTps", c.ConsumeTPS)
	if len(c.Holders) > 0 {
		writeList(w, "oHolders", c.Holders, (*QueueHolder).write)
	}
	if len(c.Lags) > 0 {
		writeList(w, "oLags", c.Lags, (*QueueLag).write)
	}
	if len(c.Refused) > 0 {
		writeList(w, "oRefused", c.Refused, (*RefusedCommit).write)
	}
	writeQueueTable(w, "offsetTable", c.OffsetTable, (*OffsetWrapper).write)
	w.close('}')
}

func (c *ConsumeStats) read(r *reader) {
	*c = ConsumeStats{}
	r.object(func(key string) {
		switch key {
		case "consumeTps":
			c.ConsumeTPS = r.float()
		case "offsetTable":
			c.OffsetTable = readQueueTable(r, (*OffsetWrapper).read)
		case "oHolders":
			c.Holders = readList(r, (*QueueHolder).read)
		case "oLags":
			c.Lags = readList(r, (*QueueLag).read)
		case "oRefused":
			c.Refused = readList(r, (*RefusedCommit).read)
		}
	})
}

func (o *OffsetWrapper) write(w *writer) {
	w.open('{')
	w.keyInt("brokerOffset", o.BrokerOffset)
	w.keyInt("consumerOffset", o.ConsumerOffset)
	w.keyInt("lastTimestamp", o.LastTimestamp)
	w.keyInt("pullOffset", o.PullOffset)
	w.close('}')
}

func (o *OffsetWrapper) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "brokerOffset":
			o.BrokerOffset = r.int64()
		case "consumerOffset":
			o.ConsumerOffset = r.int64()
		case "lastTimestamp":
			o.LastTimestamp = r.int64()
		case "pullOffset":
			o.PullOffset = r.int64()
		}
	})
}
