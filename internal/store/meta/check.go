// SPDX-License-Identifier: Apache-2.0

package meta

import "fmt"

// InvalidError refuses a change that must not be stored.
type InvalidError struct {
	Change Change
	Why    string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%T refused: %s", e.Change, e.Why) }

// Bounds of a single change.
const (
	maxName    = 1 << 10 // names, client ids
	maxText    = 1 << 20 // values, expressions
	maxEntries = 4096    // attributes, lists
	maxQueues  = 1 << 16
	maxLanes   = 1024
)

// verdict collects what is wrong with a change; the first finding stays.
type verdict struct{ why string }

func (v *verdict) require(ok bool, why string) {
	if !ok && v.why == "" {
		v.why = why
	}
}

func (v *verdict) name(what, name string) {
	v.require(name != "", what+" is empty")
	v.require(len(name) <= maxName, what+" is too long")
}

func (v *verdict) key(k QueueKey) {
	v.name("group", k.Group)
	v.name("topic", k.Topic)
	v.require(k.Queue >= 0, "queue is negative")
}

func (v *verdict) text(what, text string) { v.require(len(text) <= maxText, what+" is too long") }

func (v *verdict) entries(what string, n int) { v.require(n <= maxEntries, what+" are too many") }

func (v *verdict) table(what string, m map[string]string) {
	v.entries(what, len(m))
	for k, value := range m {
		v.name("key in "+what, k)
		v.text("value in "+what, value)
	}
}

func (v *verdict) of(c Change) error {
	if v.why == "" {
		return nil
	}
	return &InvalidError{c, v.why}
}

func (c PutTopic) check() error {
	v := verdict{}
	t := &c.Topic
	v.name("topic", t.Name)
	v.require(t.ReadQueues >= 0 && t.ReadQueues <= maxQueues, "read queues out of range")
	v.require(t.WriteQueues >= 0 && t.WriteQueues <= maxQueues, "write queues out of range")
	v.require(t.FilterType <= MultiTag, "filter type unknown")
	v.require(t.LaneFunc <= LaneGoFNV, "lane function unknown")
	v.require(t.Check <= CheckRefuse, "check mode unknown")
	v.table("attributes", t.Attributes)
	if t.Lanes != nil {
		v.require(len(t.Lanes.Queue) <= maxLanes, "lanes are too many")
		v.require(len(t.Lanes.Since) <= maxQueues, "queues of the lane map are too many")
		for _, q := range t.Lanes.Queue {
			v.require(q >= 0 && q < t.WriteQueues, "lane on a queue that does not exist")
		}
	}
	return v.of(c)
}

func (c DeleteTopic) check() error {
	v := verdict{}
	v.name("topic", c.Name)
	return v.of(c)
}

func (c PutGroup) check() error {
	v := verdict{}
	g := &c.Group
	v.name("group", g.Name)
	v.require(g.GraceMs == 0 || g.Grace().Milliseconds() == int64(g.GraceMs), "grace is not 250 to 60000 ms")
	v.require(g.LeaseMs >= 0, "lease time is negative")
	v.require(g.MaxAttempts >= 0, "maximal attempts are negative")
	v.require(g.MaxHandlerMs >= 0, "maximal handler time is negative")
	v.require(g.Poison <= PoisonPark, "poison policy unknown")
	v.require(g.Overrun <= OverrunRelease, "overrun policy unknown")
	for _, ms := range g.BackoffMs {
		v.require(ms >= 0, "back-off is negative")
	}
	v.entries("retry steps", len(g.RetryPolicy.NextMs))
	v.entries("back-offs", len(g.BackoffMs))
	v.entries("subscriptions", len(g.Subscriptions))
	for _, s := range g.Subscriptions {
		v.text("topic of a subscription", s.Topic)
		v.text("expression type", s.ExpressionType)
		v.text("expression", s.Expression)
	}
	v.table("attributes", g.Attributes)
	v.entries("forbidden topics", len(g.Forbidden))
	for topic := range g.Forbidden {
		v.name("forbidden topic", topic)
	}
	return v.of(c)
}

func (c DeleteGroup) check() error {
	v := verdict{}
	v.name("group", c.Name)
	return v.of(c)
}

func (c SetForbidden) check() error {
	v := verdict{}
	v.key(QueueKey{Group: c.Group, Topic: c.Topic})
	return v.of(c)
}

func (c Commit) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	v.require(c.Offset >= None, "offset is negative")
	v.require(len(c.Settled) <= MaxRanges, "settled ranges are too many")
	v.require(len(c.Attempts) <= MaxAttempts, "attempts are too many")
	for _, r := range c.Settled {
		v.require(r.From >= 0 && r.To > r.From, "settled range is empty or negative")
	}
	for _, a := range c.Attempts {
		v.require(a.Offset >= 0 && a.Count >= 0, "attempt is negative")
	}
	return v.of(c)
}

func (c FixStart) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	v.require(c.Offset >= 0, "offset is negative")
	return v.of(c)
}

func (c ResetOffset) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	v.require(c.Offset >= 0, "offset is negative")
	return v.of(c)
}

func (c ClearReset) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	return v.of(c)
}

func (c DropQueues) check() error {
	v := verdict{}
	v.require(len(c.Group) <= maxName && len(c.Topic) <= maxName, "name is too long")
	return v.of(c)
}

func (c GrantLease) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	v.name("holder", c.Lease.Holder)
	v.require(len(c.Lease.Member) <= maxName && len(c.Lease.Host) <= maxName, "member name or host is too long")
	v.require(c.Lease.Kind <= LeaseOurs, "kind of lease unknown")
	return v.of(c)
}

func (c DropLease) check() error {
	v := verdict{}
	v.key(c.QueueKey)
	return v.of(c)
}

func (c PutKV) check() error {
	v := verdict{}
	v.name("namespace", c.Namespace)
	v.name("key", c.Key)
	v.text("value", c.Value)
	return v.of(c)
}

func (c DeleteKV) check() error {
	v := verdict{}
	v.require(len(c.Namespace) <= maxName && len(c.Key) <= maxName, "name is too long")
	return v.of(c)
}

func (c SetMark) check() error {
	v := verdict{}
	v.name("mark", c.Name)
	return v.of(c)
}

func (c DeleteMark) check() error {
	v := verdict{}
	v.name("mark", c.Name)
	return v.of(c)
}

func (c ReserveEpochs) check() error { return nil }

func (c StartBroker) check() error {
	v := verdict{}
	v.require(len(c.BootID) <= maxName, "boot id is too long")
	return v.of(c)
}

func (c PutProducer) check() error {
	v := verdict{}
	v.require(len(c.Producer.Group) <= maxName && len(c.Producer.ClientID) <= maxName, "name is too long")
	return v.of(c)
}

func (c DropProducer) check() error { return nil }

func (c AddFrame) check() error {
	v := verdict{}
	v.name("topic", c.Topic)
	return v.of(c)
}

func (c SetStateVersion) check() error { return nil }

func (c loadQueue) check() error  { return nil }
func (c loadTables) check() error { return nil }
