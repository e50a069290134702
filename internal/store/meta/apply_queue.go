// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"cmp"
	"slices"
	"unique"
)

// edit puts an altered copy of a queue's state in its place.
func (v *View) edit(key QueueKey, alter func(q *Queue)) {
	q, known := v.Queue(key)
	if !known { // the key stays: keep no caller's buffer alive, share names
		key.Group, key.Topic = shared(key.Group), shared(key.Topic)
	}
	altered := *q
	alter(&altered)
	v.queues = v.queues.put(key, &altered)
}

// shared answers the one copy of a string.
func shared(s string) string { return unique.Make(s).Value() }

func (c Commit) apply(v *View) {
	v.edit(c.QueueKey, func(q *Queue) {
		if c.Offset != None {
			q.Committed = c.Offset
		}
		q.CommittedAt = c.At
		q.Epoch = max(q.Epoch, c.Epoch)
		if c.Replace {
			q.Ranges, q.Attempts = nil, nil
		}
		q.Ranges = trimRanges(addRanges(q.Ranges, c.Settled), q.Committed)
		q.Attempts = trimAttempts(setAttempts(q.Attempts, c.Attempts), q.Committed)
	})
	v.offsetVersion = v.offsetVersion.next(c.At)
}

func (c FixStart) apply(v *View) {
	if q, _ := v.Queue(c.QueueKey); q.Start == None {
		v.edit(c.QueueKey, func(q *Queue) { q.Start = c.Offset })
	}
}

func (c ResetOffset) apply(v *View) {
	v.edit(c.QueueKey, func(q *Queue) {
		q.Reset = Reset{Pending: c.Sticky, From: q.Committed, To: c.Offset, Epoch: c.Epoch, At: c.At}
		q.Committed = c.Offset
		q.CommittedAt = c.At
		q.Epoch = max(q.Epoch, c.Epoch)
		q.Ranges, q.Attempts = nil, nil
	})
	v.offsetVersion = v.offsetVersion.next(c.At)
}

func (c ClearReset) apply(v *View) {
	if q, _ := v.Queue(c.QueueKey); q.Reset.Pending {
		v.edit(c.QueueKey, func(q *Queue) { q.Reset.Pending = false })
	}
}

func (c GrantLease) apply(v *View) {
	v.edit(c.QueueKey, func(q *Queue) {
		q.Lease = c.Lease
		q.Lease.Holder, q.Lease.Member = shared(c.Lease.Holder), shared(c.Lease.Member)
		q.Epoch = max(q.Epoch, c.Lease.Epoch)
	})
}

func (c DropLease) apply(v *View) {
	q, _ := v.Queue(c.QueueKey)
	if q.Lease.Held() && (c.Epoch == 0 || c.Epoch == q.Lease.Epoch) {
		v.edit(c.QueueKey, func(q *Queue) { q.Lease = Lease{} })
	}
}

func (c DropQueues) apply(v *View) {
	for key := range c.matches(v) { // of the tree as it was
		v.queues = v.queues.remove(key)
	}
}

// matches yields the keys to drop, without a look at other groups' or topics'
// queues.
func (c DropQueues) matches(v *View) func(yield func(QueueKey) bool) {
	queues := v.queues
	return func(yield func(QueueKey) bool) {
		from := QueueKey{Group: c.Group, Topic: c.Topic, Queue: minQueue}
		for {
			key, ok := queues.first(from)
			switch {
			case !ok || c.Group != "" && key.Group != c.Group:
				return
			case c.Topic != "" && key.Topic < c.Topic:
				from = QueueKey{Group: key.Group, Topic: c.Topic, Queue: minQueue}
				continue
			case c.Topic != "" && key.Topic > c.Topic:
				from = QueueKey{Group: key.Group + "\x00", Topic: c.Topic, Queue: minQueue}
				continue
			}
			if (c.Queue == AllQueues || c.Queue == key.Queue) && !yield(key) {
				return
			}
			from = after(key)
		}
	}
}

// after is the lowest key above another.
func after(key QueueKey) QueueKey {
	if key.Queue == 1<<31-1 {
		return QueueKey{Group: key.Group, Topic: key.Topic + "\x00", Queue: minQueue}
	}
	key.Queue++
	return key
}

// addRanges answers the union of sorted ranges with others in any order. The
// ranges given stay as they are.
func addRanges(have, more []Range) []Range {
	if len(more) == 0 {
		return have
	}
	all := make([]Range, 0, len(have)+len(more))
	all = append(append(all, have...), more...)
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	kept := all[:1]
	for _, r := range all[1:] {
		if last := &kept[len(kept)-1]; r.From <= last.To {
			last.To = max(last.To, r.To)
		} else {
			kept = append(kept, r)
		}
	}
	return slices.Clip(kept)
}

// trimRanges cuts off what lies below an offset.
func trimRanges(ranges []Range, below int64) []Range {
	i, _ := slices.BinarySearchFunc(ranges, below, func(r Range, off int64) int {
		if r.To <= off {
			return -1
		}
		return 1
	})
	ranges = ranges[i:]
	switch {
	case len(ranges) == 0:
		return nil
	case i == 0 && ranges[0].From >= below:
		return ranges
	}
	ranges = slices.Clone(ranges)
	ranges[0].From = max(ranges[0].From, below)
	return ranges
}

// setAttempts answers sorted attempts with others set over them; a count of 0
// forgets. The attempts given stay as they are.
func setAttempts(have, more []Attempt) []Attempt {
	if len(more) == 0 {
		return have
	}
	all := slices.Clone(have)
	for _, a := range more {
		i, found := slices.BinarySearchFunc(all, a.Offset, func(b Attempt, off int64) int { return cmp.Compare(b.Offset, off) })
		switch {
		case found && a.Count == 0:
			all = slices.Delete(all, i, i+1)
		case found:
			all[i] = a
		case a.Count != 0:
			all = slices.Insert(all, i, a)
		}
	}
	return slices.Clip(all)
}

// trimAttempts forgets messages below an offset.
func trimAttempts(attempts []Attempt, below int64) []Attempt {
	i, _ := slices.BinarySearchFunc(attempts, below, func(a Attempt, off int64) int { return cmp.Compare(a.Offset, off) })
	switch {
	case i == len(attempts):
		return nil
	case i == 0:
		return attempts
	}
	return slices.Clone(attempts[i:])
}
