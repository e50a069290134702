// SPDX-License-Identifier: Apache-2.0

package body

// BrokerStatsData is the answer to VIEW_BROKER_STATS_DATA 315. Java:
// BrokerStatsData.
type BrokerStatsData struct {
	Minute, Hour, Day BrokerStatsItem // statsMinute, statsHour, statsDay
}

// BrokerStatsItem is a count over one span of time.
type BrokerStatsItem struct {
	Sum   int64
	TPS   float64
	AvgPT float64 // sum per time it was counted
}

// Encode returns the body.
func (b *BrokerStatsData) Encode() []byte { return encode(b.write) }

// Decode reads the body.
func (b *BrokerStatsData) Decode(data []byte) error { return decode("broker stats", data, b.read) }

func (b *BrokerStatsData) write(w *writer) {
	w.open('{')
	w.key("statsDay")
	b.Day.write(w)
	w.key("statsHour")
	b.Hour.write(w)
	w.key("statsMinute")
	b.Minute.write(w)
	w.close('}')
}

func (b *BrokerStatsData) read(r *reader) {
	*b = BrokerStatsData{}
	r.object(func(key string) {
		switch key {
		case "statsDay":
			b.Day.read(r)
		case "statsHour":
			b.Hour.read(r)
		case "statsMinute":
			b.Minute.read(r)
		}
	})
}

func (i *BrokerStatsItem) write(w *writer) {
	w.open('{')
	w.keyFloat("avgpt", i.AvgPT)
	w.keyInt("sum", i.Sum)
	w.keyFloat("tps", i.TPS)
	w.close('}')
}

func (i *BrokerStatsItem) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "avgpt":
			i.AvgPT = r.float()
		case "sum":
			i.Sum = r.int64()
		case "tps":
			i.TPS = r.float()
		}
	})
}
