// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// PullMessage is PULL_MESSAGE 11 and LITE_PULL_MESSAGE 361, C to B. Java:
// PullMessageRequestHeader.
type PullMessage struct {
	ConsumerGroup        string
	Topic                string
	QueueID              int32
	QueueOffset          int64 // first wanted
	MaxMsgNums           int32
	SysFlag              int32 // PullCommitOffset, ...
	CommitOffset         int64 // stored if SysFlag says so
	SuspendTimeoutMillis int64
	Subscription         string // used if SysFlag says so
	SubVersion           int64
	ExpressionType       string // TAG or SQL92; empty means TAG
	MaxMsgBytes          Opt[int32]
	RequestSource        Opt[int32] // -1 a client, others a proxy
	ProxyForwardClientID string     // proxyFrowardClientId, spelled so
	LiteTopic            string
	BrokerName           string
}

// Encode appends the fields.
func (h *PullMessage) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 16)
	w.str("consumerGroup", h.ConsumerGroup)
	w.str("topic", h.Topic)
	w.int("queueId", int64(h.QueueID))
	w.int("queueOffset", h.QueueOffset)
	w.int("maxMsgNums", int64(h.MaxMsgNums))
	w.int("sysFlag", int64(h.SysFlag))
	w.int("commitOffset", h.CommitOffset)
	w.int("suspendTimeoutMillis", h.SuspendTimeoutMillis)
	w.optStr("subscription", h.Subscription)
	w.int("subVersion", h.SubVersion)
	w.optStr("expressionType", h.ExpressionType)
	w.optInt32("maxMsgBytes", h.MaxMsgBytes)
	w.optInt32("requestSource", h.RequestSource)
	w.optStr("proxyFrowardClientId", h.ProxyForwardClientID)
	w.optStr("liteTopic", h.LiteTopic)
	w.optStr("bname", h.BrokerName)
	w.done()
}

// Decode reads the fields.
func (h *PullMessage) Decode(f wire.Fields) error {
	*h = PullMessage{}
	d := pullDecoder{h: h}
	for _, e := range f {
		if !d.text(e) && e.Value != "" {
			d.number(e)
		}
	}
	return d.end()
}

// pullDecoder takes the fields in one pass; the last of two equal ones counts.
type pullDecoder struct {
	h    *PullMessage
	r    reader
	seen uint // bits of pullRequired
}

var pullRequired = [...]string{
	"consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset",
	"suspendTimeoutMillis", "subVersion",
}

func (d *pullDecoder) text(e wire.Field) bool {
	switch e.Key {
	case "consumerGroup":
		d.seen |= 1 << 0
		d.h.ConsumerGroup = e.Value
	case "topic":
		d.seen |= 1 << 1
		d.h.Topic = e.Value
	case "subscription":
		d.h.Subscription = e.Value
	case "expressionType":
		d.h.ExpressionType = e.Value
	case "proxyFrowardClientId":
		d.h.ProxyForwardClientID = e.Value
	case "liteTopic":
		d.h.LiteTopic = e.Value
	case "bname":
		d.h.BrokerName = e.Value
	default:
		return false
	}
	return true
}

func (d *pullDecoder) number(e wire.Field) {
	h := d.h
	switch e.Key {
	case "queueId":
		h.QueueID = d.int32(2, e)
	case "queueOffset":
		h.QueueOffset = d.int64(3, e)
	case "maxMsgNums":
		h.MaxMsgNums = d.int32(4, e)
	case "sysFlag":
		h.SysFlag = d.int32(5, e)
	case "commitOffset":
		h.CommitOffset = d.int64(6, e)
	case "suspendTimeoutMillis":
		h.SuspendTimeoutMillis = d.int64(7, e)
	case "subVersion":
		h.SubVersion = d.int64(8, e)
	case "maxMsgBytes":
		h.MaxMsgBytes = Some(d.int32(9, e))
	case "requestSource":
		h.RequestSource = Some(d.int32(9, e))
	}
}

func (d *pullDecoder) int64(bit uint, e wire.Field) int64 {
	d.seen |= 1 << bit
	return d.r.parse(e.Key, e.Value, 64)
}

func (d *pullDecoder) int32(bit uint, e wire.Field) int32 {
	d.seen |= 1 << bit
	return int32(d.r.parse(e.Key, e.Value, 32))
}

func (d *pullDecoder) end() error {
	if d.r.err != nil {
		return d.r.err
	}
	for i, name := range pullRequired {
		if d.seen&(1<<i) == 0 {
			return &FieldError{Field: name}
		}
	}
	return nil
}

// PullMessageResponse answers 11 and 361. Java: PullMessageResponseHeader. The
// first four fields are needed with the codes 0, 19, 20 and 21 alike. The body
// with code 0 is stored messages, one after the other.
type PullMessageResponse struct {
	SuggestWhichBrokerID int64 // 0 is the master
	NextBeginOffset      int64
	MinOffset            int64
	MaxOffset            int64 // exclusive
	OffsetDelta          Opt[int64]
	TopicSysFlag         Opt[int32]
	GroupSysFlag         Opt[int32]
	ForbiddenType        Opt[int32] // with code 16: see ForbiddenBroker
}

// Values of PullMessageResponse.ForbiddenType.
const (
	ForbiddenBroker       int32 = 1
	ForbiddenGroup        int32 = 2
	ForbiddenTopic        int32 = 3
	ForbiddenBroadcasting int32 = 4
	ForbiddenSubscription int32 = 5
)

// Encode appends the fields.
func (h *PullMessageResponse) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 8)
	w.int("suggestWhichBrokerId", h.SuggestWhichBrokerID)
	w.int("nextBeginOffset", h.NextBeginOffset)
	w.int("minOffset", h.MinOffset)
	w.int("maxOffset", h.MaxOffset)
	w.optInt64("offsetDelta", h.OffsetDelta)
	w.optInt32("topicSysFlag", h.TopicSysFlag)
	w.optInt32("groupSysFlag", h.GroupSysFlag)
	w.optInt32("forbiddenType", h.ForbiddenType)
	w.done()
}

// Decode reads the fields.
func (h *PullMessageResponse) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = PullMessageResponse{
		SuggestWhichBrokerID: r.int64("suggestWhichBrokerId"),
		NextBeginOffset:      r.int64("nextBeginOffset"),
		MinOffset:            r.int64("minOffset"),
		MaxOffset:            r.int64("maxOffset"),
		OffsetDelta:          r.optInt64("offsetDelta"),
		TopicSysFlag:         r.optInt32("topicSysFlag"),
		GroupSysFlag:         r.optInt32("groupSysFlag"),
		ForbiddenType:        r.optInt32("forbiddenType"),
	}
	return r.err
}
