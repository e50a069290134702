// SPDX-License-Identifier: Apache-2.0

package body

// HeartbeatData is the body of HEART_BEAT 34, C to B. Java: HeartbeatData. The
// Go client leaves out Fingerprint and WithoutSub.
type HeartbeatData struct {
	ClientID    string // clientID, spelled so here
	Producers   []string
	Consumers   []ConsumerData
	Fingerprint int32 // 0: heartbeat v1
	WithoutSub  bool  // v2: subscriptions left out, as in the last full one
}

// ConsumerData is the membership of a client in one consumer group.
type ConsumerData struct {
	GroupName        string
	ConsumeType      string // ConsumePassively, ...
	MessageModel     string // Clustering, ...
	ConsumeFromWhere string // ConsumeFromLast, ...
	Subscriptions    []SubscriptionData
	UnitMode         bool
}

// Encode returns the body.
func (h *HeartbeatData) Encode() []byte { return encode(h.write) }

// Decode reads the body.
func (h *HeartbeatData) Decode(data []byte) error { return decode("heartbeat", data, h.read) }

func (h *HeartbeatData) write(w *writer) {
	w.open('{')
	w.keyStr("clientID", h.ClientID)
	writeList(w, "consumerDataSet", h.Consumers, (*ConsumerData).write)
	w.keyInt("heartbeatFingerprint", int64(h.Fingerprint))
	w.key("producerDataSet")
	w.open('[')
	for _, group := range h.Producers {
		w.open('{')
		w.keyStr("groupName", group)
		w.close('}')
	}
	w.close(']')
	w.keyBool("withoutSub", h.WithoutSub)
	w.close('}')
}

func (h *HeartbeatData) read(r *reader) {
	*h = HeartbeatData{}
	r.object(func(key string) {
		switch key {
		case "clientID":
			h.ClientID = r.str()
		case "producerDataSet":
			h.Producers = readList(r, readGroupName)
		case "consumerDataSet":
			h.Consumers = readList(r, (*ConsumerData).read)
		case "heartbeatFingerprint":
			h.Fingerprint = r.int32()
		case "withoutSub":
			h.WithoutSub = r.bool()
		}
	})
}

func readGroupName(group *string, r *reader) {
	r.object(func(key string) {
		if key == "groupName" {
			*group = r.str()
		}
	})
}

func (c *ConsumerData) write(w *writer) {
	w.open('{')
	w.keyOpt("consumeFromWhere", c.ConsumeFromWhere)
	w.keyOpt("consumeType", c.ConsumeType)
	w.keyStr("groupName", c.GroupName)
	w.keyOpt("messageModel", c.MessageModel)
	writeList(w, "subscriptionDataSet", c.Subscriptions, (*SubscriptionData).write)
	w.keyBool("unitMode", c.UnitMode)
	w.close('}')
}

func (c *ConsumerData) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "groupName":
			c.GroupName = r.str()
		case "consumeType":
			c.ConsumeType = r.enum(consumeTypes())
		case "messageModel":
			c.MessageModel = r.enum(messageModels())
		case "consumeFromWhere":
			c.ConsumeFromWhere = r.enum(consumeFromWheres())
		case "subscriptionDataSet":
			c.Subscriptions = readList(r, (*SubscriptionData).read)
		case "unitMode":
			c.UnitMode = r.bool()
		}
	})
}
