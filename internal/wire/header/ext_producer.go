// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"
	"strings"

	"github.com/orderlymq/orderly/internal/wire"
)

// Numbers ride on sends: which producer the frame comes from and the number of
// its first message in the queue. The messages of a batch are numbered on from
// it. The zero value is a sender without numbers. They ride on the answer to a
// send that was refused too: Next is the number that the broker expects.
type Numbers struct {
	Producer uint64 // given by the broker in the answer to 34; 0: none
	Epoch    uint32
	First    uint64
}

// optUint32 is 0 for an absent field.
func (r *reader) optUint32(key string) uint32 {
	v, ok := r.f.Get(key)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		r.fail(key, v, "a number below 2^32")
	}
	return uint32(n)
}

// Encode appends the fields, if there is a producer.
func (h Numbers) Encode(f *wire.Fields) {
	if h.Producer == 0 {
		return
	}
	f.Add(ExtProducer, strconv.FormatUint(h.Producer, 10))
	f.Add(ExtProducerEpoch, strconv.FormatUint(uint64(h.Epoch), 10))
	f.Add(ExtSequence, strconv.FormatUint(h.First, 10))
}

// Decode reads the fields; absent is the zero value.
func (h *Numbers) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = Numbers{
		Producer: r.optUint64(ExtProducer),
		Epoch:    r.optUint32(ExtProducerEpoch),
		First:    r.optUint64(ExtSequence),
	}
	return r.err
}

// SendNumbersAnswer rides on the answer to a numbered send.
type SendNumbersAnswer struct {
	// Repeat: the frame was stored already; the answer is that of the first time.
	Repeat bool
	// Next, with CodeSequenceGap: the number that the broker expects.
	Next Opt[uint64]
}

// Encode appends the fields that are set.
func (h SendNumbersAnswer) Encode(f *wire.Fields) {
	if h.Repeat {
		f.Add(ExtRepeat, "1")
	}
	if h.Next.Set {
		f.Add(ExtSequence, strconv.FormatUint(h.Next.Value, 10))
	}
}

// Decode reads the fields; absent ones are zero.
func (h *SendNumbersAnswer) Decode(f wire.Fields) error {
	*h = SendNumbersAnswer{Repeat: f.Value(ExtRepeat) == "1"}
	if text, ok := f.Get(ExtSequence); ok {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return &FieldError{Field: ExtSequence, Value: text, Want: "a sequence number"}
		}
		h.Next = Some(n)
	}
	return nil
}

// ProducerClaim rides on 34: a producer asks for an identity, or for the next
// epoch of the one it has. Its heartbeat's body is as always.
type ProducerClaim struct {
	// Name outlives the process: a claim of a name fences whoever had it. It is
	// of the application's choosing, or unique to one producer of one process.
	Name string
	// Producer and Epoch are what the producer has; 0 asks for an identity.
	Producer uint64
	Epoch    uint32
	// Queues are those of which the answer is to tell what is stored.
	Queues []ProducerQueue
}

// ProducerQueue names a queue of this broker.
type ProducerQueue struct {
	Topic string
	Queue int32
}

// Encode appends the fields.
func (h *ProducerClaim) Encode(f *wire.Fields) {
	f.Add(ExtProducerName, h.Name)
	if h.Producer != 0 {
		f.Add(ExtProducer, strconv.FormatUint(h.Producer, 10))
		f.Add(ExtProducerEpoch, strconv.FormatUint(uint64(h.Epoch), 10))
	}
	if len(h.Queues) > 0 {
		list := make([]string, len(h.Queues))
		for i, q := range h.Queues {
			list[i] = q.Topic + "/" + strconv.Itoa(int(q.Queue))
		}
		f.Add(ExtQueues, strings.Join(list, ";"))
	}
}

// MaxProducerQueues bounds the queues of one claim.
const MaxProducerQueues = 4096

// Decode reads the fields. Without a name there is no claim.
func (h *ProducerClaim) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ProducerClaim{Name: f.Value(ExtProducerName), Producer: r.optUint64(ExtProducer), Epoch: r.optUint32(ExtProducerEpoch)}
	if r.err != nil {
		return r.err
	}
	parts := list(f, ExtQueues, ";")
	if len(parts) > MaxProducerQueues {
		return &FieldError{Field: ExtQueues, Value: strconv.Itoa(len(parts)) + " queues", Want: "at most 4096"}
	}
	for _, part := range parts {
		topic, id, ok := strings.Cut(part, "/")
		n, err := strconv.ParseInt(id, 10, 32)
		if !ok || err != nil || n < 0 {
			return &FieldError{Field: ExtQueues, Value: part, Want: "topic/queue"}
		}
		h.Queues = append(h.Queues, ProducerQueue{Topic: topic, Queue: int32(n)})
	}
	return nil
}

// ProducerGrant rides on the answer to a ProducerClaim. It is synced before it
// is answered; no frame of an earlier epoch is stored after it.
type ProducerGrant struct {
	Producer uint64 // 0: the broker is a stock one
	Epoch    uint32
	// Stored has, of each queue asked for, what is stored of the epoch that the
	// claim named: Next is one above its last number, 0 if it has none.
	Stored []ProducerStored
}

// ProducerStored is what a broker remembers of a producer's queue.
type ProducerStored struct {
	ProducerQueue
	Next   uint64
	Frames []StoredFrame // the last ones, oldest first
}

// StoredFrame is one send as it is stored.
type StoredFrame struct {
	First  uint64
	Count  uint32
	Offset int64 // of the first message, in the queue
}

// Encode appends the fields: "topic/queue=next:first+count@offset,...;...".
func (h *ProducerGrant) Encode(f *wire.Fields) {
	f.Add(ExtProducer, strconv.FormatUint(h.Producer, 10))
	f.Add(ExtProducerEpoch, strconv.FormatUint(uint64(h.Epoch), 10))
	if len(h.Stored) == 0 {
		return
	}
	var b strings.Builder
	for i, s := range h.Stored {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(s.Topic + "/" + strconv.Itoa(int(s.Queue)) + "=" + strconv.FormatUint(s.Next, 10))
		sep := byte(':')
		for _, fr := range s.Frames {
			b.WriteByte(sep)
			sep = ','
			b.WriteString(strconv.FormatUint(fr.First, 10) + "+" + strconv.FormatUint(uint64(fr.Count), 10) + "@" + strconv.FormatInt(fr.Offset, 10))
		}
	}
	f.Add(ExtStored, b.String())
}

// Decode reads the fields; the answer of a stock broker has none.
func (h *ProducerGrant) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = ProducerGrant{Producer: r.optUint64(ExtProducer), Epoch: r.optUint32(ExtProducerEpoch)}
	if r.err != nil {
		return r.err
	}
	for _, part := range list(f, ExtStored, ";") {
		s, ok := parseStored(part)
		if !ok {
			return &FieldError{Field: ExtStored, Value: part, Want: "topic/queue=next:first+count@offset,..."}
		}
		h.Stored = append(h.Stored, s)
	}
	return nil
}

func parseStored(text string) (s ProducerStored, ok bool) {
	where, what, ok1 := strings.Cut(text, "=")
	topic, id, ok2 := strings.Cut(where, "/")
	next, frames, _ := strings.Cut(what, ":")
	queue, err1 := strconv.ParseInt(id, 10, 32)
	n, err2 := strconv.ParseUint(next, 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || queue < 0 {
		return s, false
	}
	s = ProducerStored{ProducerQueue: ProducerQueue{topic, int32(queue)}, Next: n}
	if frames == "" {
		return s, true
	}
	for part := range strings.SplitSeq(frames, ",") {
		first, rest, ok1 := strings.Cut(part, "+")
		count, offset, ok2 := strings.Cut(rest, "@")
		a, err1 := strconv.ParseUint(first, 10, 64)
		c, err2 := strconv.ParseUint(count, 10, 32)
		o, err3 := strconv.ParseInt(offset, 10, 64)
		if !ok1 || !ok2 || err1 != nil || err2 != nil || err3 != nil {
			return s, false
		}
		s.Frames = append(s.Frames, StoredFrame{a, uint32(c), o})
	}
	return s, true
}
