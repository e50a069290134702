// SPDX-License-Identifier: Apache-2.0

package meta

// The fields of each change, in their order on disk (docs/format/meta.md). A
// new field goes to the end, and its change gets a new version in the table
// of kinds: `if x.version >= 2 { ... }`.

func (c *PutTopic) fields(x *coder) {
	t := &c.Topic
	signed(x, &c.At)
	x.name(&t.Name)
	signed(x, &t.ReadQueues)
	signed(x, &t.WriteQueues)
	signed(x, &t.Perm)
	unsigned(x, &t.FilterType)
	signed(x, &t.SysFlag)
	x.flag(&t.Order)
	table(x, &t.Attributes, x.text)
	unsigned(x, &t.LaneFunc)
	unsigned(x, &t.Check)
	lanes := t.Lanes != nil
	x.flag(&lanes)
	if !lanes {
		return
	}
	if x.reading {
		t.Lanes = &LaneMap{}
	}
	unsigned(x, &t.Lanes.Epoch)
	list(x, &t.Lanes.Queue, 1, func(q *int32) { signed(x, q) })
	list(x, &t.Lanes.Since, 1, func(o *int64) { signed(x, o) })
}

func (c *DeleteTopic) fields(x *coder) {
	signed(x, &c.At)
	x.name(&c.Name)
}

func (c *PutGroup) fields(x *coder) {
	g := &c.Group
	signed(x, &c.At)
	x.name(&g.Name)
	for _, p := range []*bool{
		&g.ConsumeEnable, &g.ConsumeFromMinEnable, &g.ConsumeBroadcastEnable, &g.ConsumeMessageOrderly,
		&g.NotifyConsumerIDsChangedEnable, &g.StockFastRelease, &g.Ordered, &g.RetryPolicy.Exponential,
	} {
		x.flag(p)
	}
	for _, p := range []*int32{
		&g.RetryQueueNums, &g.RetryMaxTimes, &g.GroupSysFlag, &g.ConsumeTimeoutMinute,
		&g.GraceMs, &g.LeaseMs, &g.MaxAttempts,
	} {
		signed(x, p)
	}
	for _, p := range []*int64{
		&g.BrokerID, &g.WhichBrokerWhenConsumeSlowly, &g.MaxHandlerMs,
		&g.RetryPolicy.InitialMs, &g.RetryPolicy.MaxMs, &g.RetryPolicy.Multiplier,
	} {
		signed(x, p)
	}
	unsigned(x, &g.Poison)
	unsigned(x, &g.Overrun)
	list(x, &g.RetryPolicy.NextMs, 1, func(n *int64) { signed(x, n) })
	list(x, &g.BackoffMs, 1, func(n *int32) { signed(x, n) })
	list(x, &g.Subscriptions, 4, func(s *Subscription) {
		x.name(&s.Topic)
		x.name(&s.ExpressionType)
		x.text(&s.Expression)
		signed(x, &s.Version)
	})
	table(x, &g.Attributes, x.text)
	table(x, &g.Forbidden, func(bits *int32) { signed(x, bits) })
}

func (c *DeleteGroup) fields(x *coder) {
	signed(x, &c.At)
	x.name(&c.Name)
	x.flag(&c.KeepOffsets)
}

func (c *SetForbidden) fields(x *coder) {
	signed(x, &c.At)
	x.name(&c.Group)
	x.name(&c.Topic)
	signed(x, &c.Bits)
}

func (k *QueueKey) fields(x *coder) {
	x.name(&k.Group)
	x.name(&k.Topic)
	signed(x, &k.Queue)
}

func (c *Commit) fields(x *coder) {
	c.QueueKey.fields(x)
	signed(x, &c.At)
	signed(x, &c.Offset)
	unsigned(x, &c.Epoch)
	x.flag(&c.Replace)
	x.ranges(&c.Settled)
	x.attempts(&c.Attempts)
}

func (x *coder) ranges(p *[]Range) {
	last := int64(0)
	list(x, p, 2, func(r *Range) { x.rangeAfter(&last, r) })
}

// rangeAfter shows a range by its distance from the one before and its length.
func (x *coder) rangeAfter(last *int64, r *Range) {
	gap, length := r.From-*last, r.To-r.From
	signed(x, &gap)
	signed(x, &length)
	if x.reading {
		r.From = *last + gap
		r.To = r.From + length
	}
	*last = r.To
}

func (x *coder) attempts(p *[]Attempt) {
	last := int64(0)
	list(x, p, 2, func(a *Attempt) {
		gap := a.Offset - last
		signed(x, &gap)
		signed(x, &a.Count)
		if x.reading {
			a.Offset = last + gap
		}
		last = a.Offset
	})
}

func (c *FixStart) fields(x *coder) {
	c.QueueKey.fields(x)
	signed(x, &c.Offset)
}

func (c *ResetOffset) fields(x *coder) {
	c.QueueKey.fields(x)
	signed(x, &c.At)
	signed(x, &c.Offset)
	unsigned(x, &c.Epoch)
	x.flag(&c.Sticky)
}

func (c *ClearReset) fields(x *coder) { c.QueueKey.fields(x) }

func (c *DropQueues) fields(x *coder) {
	x.name(&c.Group)
	x.name(&c.Topic)
	signed(x, &c.Queue)
}

func (c *GrantLease) fields(x *coder) {
	c.QueueKey.fields(x)
	c.Lease.fields(x)
}

func (l *Lease) fields(x *coder) {
	x.name(&l.Holder)
	unsigned(x, &l.Session)
	x.name(&l.Member)
	unsigned(x, &l.Kind)
	unsigned(x, &l.Epoch)
	signed(x, &l.GrantedAt)
	x.name(&l.Host)
}

func (c *DropLease) fields(x *coder) {
	c.QueueKey.fields(x)
	unsigned(x, &c.Epoch)
}

func (c *PutKV) fields(x *coder) {
	x.name(&c.Namespace)
	x.text(&c.Key)
	x.text(&c.Value)
}

func (c *DeleteKV) fields(x *coder) {
	x.name(&c.Namespace)
	x.text(&c.Key)
}

func (c *SetMark) fields(x *coder) {
	x.text(&c.Name)
	signed(x, &c.Value)
}

func (c *DeleteMark) fields(x *coder) { x.text(&c.Name) }

func (c *ReserveEpochs) fields(x *coder) { unsigned(x, &c.Limit) }

func (c *StartBroker) fields(x *coder) {
	signed(x, &c.At)
	x.text(&c.BootID)
}

func (c *PutProducer) fields(x *coder) {
	p := &c.Producer
	unsigned(x, &p.ID)
	unsigned(x, &p.Epoch)
	x.name(&p.Group)
	x.text(&p.ClientID)
	signed(x, &p.SeenAt)
}

func (c *DropProducer) fields(x *coder) { unsigned(x, &c.ID) }

func (k *ProducerKey) fields(x *coder) {
	unsigned(x, &k.Producer)
	x.name(&k.Topic)
	signed(x, &k.Queue)
}

func (f *Frame) fields(x *coder) {
	unsigned(x, &f.Epoch)
	unsigned(x, &f.First)
	unsigned(x, &f.Count)
	signed(x, &f.Offset)
}

func (c *AddFrame) fields(x *coder) {
	c.ProducerKey.fields(x)
	c.Frame.fields(x)
}

func (c *SetStateVersion) fields(x *coder) {
	signed(x, &c.At)
	signed(x, &c.StateVersion)
}

func (c *loadQueue) fields(x *coder) {
	q := &c.Queue
	c.QueueKey.fields(x)
	signed(x, &q.Committed)
	signed(x, &q.CommittedAt)
	unsigned(x, &q.Epoch)
	x.ranges(&q.Ranges)
	x.attempts(&q.Attempts)
	signed(x, &q.Start)
	x.flag(&q.Reset.Pending)
	signed(x, &q.Reset.From)
	signed(x, &q.Reset.To)
	unsigned(x, &q.Reset.Epoch)
	signed(x, &q.Reset.At)
	q.Lease.fields(x)
}

func (d *DataVersion) fields(x *coder) {
	signed(x, &d.StateVersion)
	signed(x, &d.Timestamp)
	signed(x, &d.Counter)
}

func (c *loadTables) fields(x *coder) {
	unsigned(x, &c.seq)
	c.topics.fields(x)
	c.groups.fields(x)
	c.offsets.fields(x)
	unsigned(x, &c.epochs)
	unsigned(x, &c.boot.Starts)
	x.text(&c.boot.BootID)
	signed(x, &c.boot.At)
}
