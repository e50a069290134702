// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// SendMessage is SEND_MESSAGE 10, SEND_BATCH_MESSAGE 320, SEND_MESSAGE_V2 310,
// SEND_REPLY_MESSAGE 324 and SEND_REPLY_MESSAGE_V2 325, C to B. Java:
// SendMessageRequestHeader, and SendMessageRequestHeaderV2 in its letter form.
//
// Codes 10 and 324 use the long field names, 310, 320 and 325 the letters: see
// DecodeSend, and SendMessageV2 to write letters.
type SendMessage struct {
	ProducerGroup         string // a
	Topic                 string // b
	DefaultTopic          string // c; template for auto-creation
	DefaultTopicQueueNums int32  // d; queues wanted at auto-creation
	QueueID               int32  // e; below 0 the broker picks one
	SysFlag               int32  // f
	BornTimestamp         int64  // g; ms
	Flag                  int32  // h
	Properties            string // i
	ReconsumeTimes        int32  // j; for sends to %RETRY%
	UnitMode              bool   // k
	// MaxReconsumeTimes (l; consumeRetryTimes in the Java class) wins over the
	// group's limit in sends to %RETRY%, from VersionMaxReconsume on.
	MaxReconsumeTimes Opt[int32]
	Batch             bool   // m; the body is a batch. The code 320 alone says nothing.
	BrokerName        string // n, bname
}

// SendMessageV2 is SendMessage in its letter form.
type SendMessageV2 struct{ SendMessage }

// UsesLetters says whether a send code carries the letter form.
func UsesLetters(code int32) bool {
	return code == wire.ReqSendMessageV2 || code == wire.ReqSendBatchMessage || code == wire.ReqSendReplyMessageV2
}

// DecodeSend reads the header of any of the send codes.
func DecodeSend(code int32, f wire.Fields) (SendMessage, error) {
	if UsesLetters(code) {
		var h SendMessageV2
		err := h.Decode(f)
		return h.SendMessage, err
	}
	var h SendMessage
	err := h.Decode(f)
	return h, err
}

// sendNames are the long names in the order of the letters a to n.
var sendNames = [...]string{
	"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp",
	"flag", "properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch", "bname",
}

var sendLetters = [len(sendNames)]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"}

// Encode appends the fields under their long names.
func (h *SendMessage) Encode(f *wire.Fields) { h.encode(f, &sendNames) }

// Encode appends the fields under their letters.
func (h *SendMessageV2) Encode(f *wire.Fields) { h.encode(f, &sendLetters) }

func (h *SendMessage) encode(f *wire.Fields, names *[len(sendNames)]string) {
	var w writer
	w.begin(f, len(names))
	w.str(names[0], h.ProducerGroup)
	w.str(names[1], h.Topic)
	w.str(names[2], h.DefaultTopic)
	w.int(names[3], int64(h.DefaultTopicQueueNums))
	w.int(names[4], int64(h.QueueID))
	w.int(names[5], int64(h.SysFlag))
	w.int(names[6], h.BornTimestamp)
	w.int(names[7], int64(h.Flag))
	w.str(names[8], h.Properties)
	w.int(names[9], int64(h.ReconsumeTimes))
	w.bool(names[10], h.UnitMode)
	w.optInt32(names[11], h.MaxReconsumeTimes)
	w.bool(names[12], h.Batch)
	w.optStr(names[13], h.BrokerName)
	w.done()
}

// Decode reads the fields under their long names.
func (h *SendMessage) Decode(f wire.Fields) error {
	*h = SendMessage{}
	d := sendDecoder{h: h}
	for _, e := range f {
		for i, name := range sendNames {
			if name == e.Key {
				d.field(i, e)
				break
			}
		}
	}
	return d.end(&sendNames)
}

// Decode reads the fields under their letters.
func (h *SendMessageV2) Decode(f wire.Fields) error {
	h.SendMessage = SendMessage{}
	d := sendDecoder{h: &h.SendMessage}
	for _, e := range f {
		if len(e.Key) == 1 && 'a' <= e.Key[0] && e.Key[0] <= 'n' {
			d.field(int(e.Key[0]-'a'), e)
		}
	}
	return d.end(&sendLetters)
}

// sendDecoder takes the fields in one pass, in whatever order they come; the
// last of two equal ones counts.
type sendDecoder struct {
	h    *SendMessage
	r    reader
	seen uint
}

func (d *sendDecoder) field(i int, e wire.Field) {
	h := d.h
	switch i {
	case 0:
		h.ProducerGroup = e.Value
	case 1:
		h.Topic = e.Value
	case 2:
		h.DefaultTopic = e.Value
	case 8:
		h.Properties = e.Value
	case 10:
		h.UnitMode = isTrue(e.Value)
	case 12:
		h.Batch = isTrue(e.Value)
	case 13:
		h.BrokerName = e.Value
	default:
		if e.Value == "" {
			return // as if absent
		}
		d.number(i, e)
	}
	d.seen |= 1 << i
}

func (d *sendDecoder) number(i int, e wire.Field) {
	h := d.h
	if i == 6 {
		h.BornTimestamp = d.r.parse(e.Key, e.Value, 64)
		return
	}
	n := int32(d.r.parse(e.Key, e.Value, 32))
	switch i {
	case 3:
		h.DefaultTopicQueueNums = n
	case 4:
		h.QueueID = n
	case 5:
		h.SysFlag = n
	case 7:
		h.Flag = n
	case 9:
		h.ReconsumeTimes = n
	case 11:
		h.MaxReconsumeTimes = Some(n)
	}
}

func (d *sendDecoder) end(names *[len(sendNames)]string) error {
	if d.r.err != nil {
		return d.r.err
	}
	for i := range 8 {
		if d.seen&(1<<i) == 0 {
			return &FieldError{Field: names[i]}
		}
	}
	return nil
}

// SendMessageResponse answers the send codes. Java: SendMessageResponseHeader.
// Region and TraceOn belong into every answer, errors included.
type SendMessageResponse struct {
	MsgID         string // offset message id; of a batch a list, separated by commas
	QueueID       int32
	QueueOffset   int64  // the first one's for a batch
	TransactionID string // UNIQ_KEY
	BatchUniqID   string
	RecallHandle  string
	Region        string    // MSG_REGION
	TraceOn       Opt[bool] // TRACE_ON; the Go client traces only if it is there
}

// Encode appends the fields.
func (h *SendMessageResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 8)
	w.str("msgId", h.MsgID)
	w.int("queueId", int64(h.QueueID))
	w.int("queueOffset", h.QueueOffset)
	w.optStr("transactionId", h.TransactionID)
	w.optStr("batchUniqId", h.BatchUniqID)
	w.optStr("recallHandle", h.RecallHandle)
	w.done()
	h.EncodeTrace(f)
}

// EncodeTrace appends Region and TraceOn only: for answers that stored nothing.
func (h *SendMessageResponse) EncodeTrace(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.optStr("MSG_REGION", h.Region)
	w.optBool("TRACE_ON", h.TraceOn)
	w.done()
}

// Decode reads the fields.
func (h *SendMessageResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = SendMessageResponse{
		MsgID:         r.str("msgId"),
		QueueID:       r.int32("queueId"),
		QueueOffset:   r.int64("queueOffset"),
		TransactionID: r.optStr("transactionId"),
		BatchUniqID:   r.optStr("batchUniqId"),
		RecallHandle:  r.optStr("recallHandle"),
		Region:        r.optStr("MSG_REGION"),
		TraceOn:       r.optBool("TRACE_ON"),
	}
	return r.err
}
