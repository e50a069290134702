// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func sampleSend() header.SendMessage {
	return header.SendMessage{
		ProducerGroup: "PG_BENCH", Topic: "OrderEvents", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, QueueID: 3,
		BornTimestamp: 1796078340762,
		Properties:    "KEYS\x01order-1234\x02UNIQ_KEY\x01C000020245C630946E099A34A29A0000\x02WAIT\x01true\x02TAGS\x01TagA\x02__SHARDINGKEY\x01order-1234\x02",
		BrokerName:    "broker-a",
	}
}

func samplePull() header.PullMessage {
	return header.PullMessage{
		ConsumerGroup: "CG_BENCH", Topic: "OrderEvents", QueueID: 3, QueueOffset: 123456, MaxMsgNums: 32, SysFlag: 3,
		CommitOffset: 123400, SuspendTimeoutMillis: 15000, SubVersion: 1796078340762, ExpressionType: "TAG", BrokerName: "broker-a",
	}
}

func BenchmarkSend(b *testing.B) {
	h := header.SendMessageV2{SendMessage: sampleSend()}
	benchmark(b, wire.ReqSendMessageV2, &h, func(f wire.Fields) error {
		var h header.SendMessageV2
		return h.Decode(f)
	})
}

func BenchmarkSendLongNames(b *testing.B) {
	h := sampleSend()
	benchmark(b, wire.ReqSendMessage, &h, func(f wire.Fields) error {
		var h header.SendMessage
		return h.Decode(f)
	})
}

func BenchmarkPull(b *testing.B) {
	h := samplePull()
	benchmark(b, wire.ReqPullMessage, &h, func(f wire.Fields) error {
		var h header.PullMessage
		return h.Decode(f)
	})
}

func BenchmarkPullResponse(b *testing.B) {
	h := header.PullMessageResponse{NextBeginOffset: 123488, MaxOffset: 200000}
	benchmark(b, wire.Success, &h, func(f wire.Fields) error {
		var h header.PullMessageResponse
		return h.Decode(f)
	})
}

// benchmark measures the way of a header from the struct to the frame's bytes,
// and back.
func benchmark(b *testing.B, code int32, h wire.Encoder, decode func(wire.Fields) error) {
	for _, form := range []wire.SerializeType{wire.SerializeJSON, wire.SerializeRocketMQ} {
		name := [...]string{"JSON", "Binary"}[form]
		c := wire.NewRequest(code, h, nil)
		c.Opaque, c.Serialize = 12345, form
		frame, err := wire.AppendFrame(nil, c)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			var buf []byte
			for b.Loop() {
				c := wire.NewRequest(code, h, nil)
				c.Serialize = form
				if buf, err = wire.AppendFrame(buf[:0], c); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				c, err := wire.Decode(frame[4:])
				if err != nil {
					b.Fatal(err)
				}
				if err := decode(c.Ext); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
