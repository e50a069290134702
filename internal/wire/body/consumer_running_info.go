// SPDX-License-Identifier: Apache-2.0

package body

// ConsumerRunningInfo is the answer to GET_CONSUMER_RUNNING_INFO 307. Java:
// ConsumerRunningInfo. The table of POP queues is not kept.
type ConsumerRunningInfo struct {
	Properties       map[string]string // PropConsumeType, ...
	Subscriptions    []SubscriptionData
	Queues           map[MessageQueue]ProcessQueueInfo // mqTable
	Status           map[string]ConsumeStatus          // by topic
	UserConsumerInfo map[string]string
	Jstack           string // "" is absent
}

// Properties that admin tools read.
const (
	PropConsumeType     = "PROP_CONSUME_TYPE"
	PropClientVersion   = "PROP_CLIENT_VERSION"
	PropNameserverAddr  = "PROP_NAMESERVER_ADDR"
	PropConsumeOrderly  = "PROP_CONSUMEORDERLY"
	PropThreadPoolCore  = "PROP_THREADPOOL_CORE_SIZE"
	PropConsumerStartAt = "PROP_CONSUMER_START_TIMESTAMP"
)

// ProcessQueueInfo is a consumer's state of one queue.
type ProcessQueueInfo struct {
	CommitOffset            int64
	CachedMsgMinOffset      int64
	CachedMsgMaxOffset      int64
	CachedMsgCount          int32
	CachedMsgSizeInMiB      int32
	TransactionMsgMinOffset int64
	TransactionMsgMaxOffset int64
	TransactionMsgCount     int32
	Locked                  bool
	TryUnlockTimes          int64
	LastLockTimestamp       int64 // ms, as all times here
	Dropped                 bool  // "droped" from Java, "dropped" from Go
	LastPullTimestamp       int64
	LastConsumeTimestamp    int64
}

// ConsumeStatus has the rates of one topic.
type ConsumeStatus struct {
	PullRT, PullTPS, ConsumeRT, ConsumeOKTPS, ConsumeFailedTPS float64
	ConsumeFailedMsgs                                          int64
}

// Encode returns the body.
func (c *ConsumerRunningInfo) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumerRunningInfo) Decode(data []byte) error {
	return decode("consumer running info", data, c.read)
}

func (c *ConsumerRunningInfo) write(w *writer) {
	w.open('{')
	w.keyOpt("jstack", c.Jstack)
	w.key("mqPopTable")
	w.open('{')
	w.close('}')
	writeQueueTable(w, "mqTable", c.Queues, (*ProcessQueueInfo).write)
	w.keyStringMap("properties", c.Properties)
	writeTable(w, "statusTable", c.Status, (*ConsumeStatus).write)
	writeList(w, "subscriptionSet", c.Subscriptions, (*SubscriptionData).write)
	w.keyStringMap("userConsumerInfo", c.UserConsumerInfo)
	w.close('}')
}

func (c *ConsumerRunningInfo) read(r *reader) {
	*c = ConsumerRunningInfo{}
	r.object(func(key string) {
		switch key {
		case "properties":
			c.Properties = r.stringMap()
		case "subscriptionSet":
			c.Subscriptions = readList(r, (*SubscriptionData).read)
		case "mqTable":
			c.Queues = readQueueTable(r, (*ProcessQueueInfo).read)
		case "statusTable":
			c.Status = readTable(r, (*ConsumeStatus).read)
		case "userConsumerInfo":
			c.UserConsumerInfo = r.stringMap()
		case "jstack":
			c.Jstack = r.str()
		}
	})
}

func (p *ProcessQueueInfo) write(w *writer) {
	w.open('{')
	w.keyInt("cachedMsgCount", int64(p.CachedMsgCount))
	w.keyInt("cachedMsgMaxOffset", p.CachedMsgMaxOffset)
	w.keyInt("cachedMsgMinOffset", p.CachedMsgMinOffset)
	w.keyInt("cachedMsgSizeInMiB", int64(p.CachedMsgSizeInMiB))
	w.keyInt("commitOffset", p.CommitOffset)
	w.keyBool("droped", p.Dropped)
	w.keyInt("lastConsumeTimestamp", p.LastConsumeTimestamp)
	w.keyInt("lastLockTimestamp", p.LastLockTimestamp)
	w.keyInt("lastPullTimestamp", p.LastPullTimestamp)
	w.keyBool("locked", p.Locked)
	w.keyInt("transactionMsgCount", int64(p.TransactionMsgCount))
	w.keyInt("transactionMsgMaxOffset", p.TransactionMsgMaxOffset)
	w.keyInt("transactionMsgMinOffset", p.TransactionMsgMinOffset)
	w.keyInt("tryUnlockTimes", p.TryUnlockTimes)
	w.close('}')
}

func (p *ProcessQueueInfo) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "commitOffset":
			p.CommitOffset = r.int64()
		case "cachedMsgMinOffset":
			p.CachedMsgMinOffset = r.int64()
		case "cachedMsgMaxOffset":
			p.CachedMsgMaxOffset = r.int64()
		case "cachedMsgCount":
			p.CachedMsgCount = r.int32()
		case "cachedMsgSizeInMiB":
			p.CachedMsgSizeInMiB = r.int32()
		case "transactionMsgMinOffset":
			p.TransactionMsgMinOffset = r.int64()
		case "transactionMsgMaxOffset":
			p.TransactionMsgMaxOffset = r.int64()
		case "transactionMsgCount":
			p.TransactionMsgCount = r.int32()
		case "locked":
			p.Locked = r.bool()
		case "tryUnlockTimes":
			p.TryUnlockTimes = r.int64()
		case "lastLockTimestamp":
			p.LastLockTimestamp = r.int64()
		case "droped", "dropped":
			p.Dropped = r.bool()
		case "lastPullTimestamp":
			p.LastPullTimestamp = r.int64()
		case "lastConsumeTimestamp":
			p.LastConsumeTimestamp = r.int64()
		}
	})
}

func (s *ConsumeStatus) write(w *writer) {
	w.open('{')
	w.keyInt("consumeFailedMsgs", s.ConsumeFailedMsgs)
	w.keyFloat("consumeFailedTPS", s.ConsumeFailedTPS)
	w.keyFloat("consumeOKTPS", s.ConsumeOKTPS)
	w.keyFloat("consumeRT", s.ConsumeRT)
	w.keyFloat("pullRT", s.PullRT)
	w.keyFloat("pullTPS", s.PullTPS)
	w.close('}')
}

func (s *ConsumeStatus) read(r *reader) {
	r.object(func(key string) {
		switch key {
		case "consumeFailedMsgs":
			s.ConsumeFailedMsgs = r.int64()
		case "consumeFailedTPS":
			s.ConsumeFailedTPS = r.float()
		case "consumeOKTPS":
			s.ConsumeOKTPS = r.float()
		case "consumeRT":
			s.ConsumeRT = r.float()
		case "pullRT":
			s.PullRT = r.float()
		case "pullTPS":
			s.PullTPS = r.float()
		}
	})
}
