// SPDX-License-Identifier: Apache-2.0

package meta

import "maps"

func (c PutTopic) apply(v *View) {
	t := c.Topic
	v.topics = v.topics.put(t.Name, &t)
	v.topicVersion = v.topicVersion.next(c.At)
}

func (c DeleteTopic) apply(v *View) {
	if _, ok := v.topics.get(c.Name); ok {
		v.topicVersion = v.topicVersion.next(c.At)
	}
	v.topics = v.topics.remove(c.Name)
	DropQueues{Topic: c.Name, Queue: AllQueues}.apply(v)
	for g := range v.Groups() {
		if _, ok := g.Forbidden[c.Name]; ok {
			SetForbidden{Group: g.Name, Topic: c.Name, At: c.At}.apply(v)
		}
	}
	dropFrames(v, func(k ProducerKey) bool { return k.Topic == c.Name })
}

func (c PutGroup) apply(v *View) {
	g := c.Group
	v.groups = v.groups.put(g.Name, &g)
	v.groupVersion = v.groupVersion.next(c.At)
}

func (c DeleteGroup) apply(v *View) {
	if _, ok := v.groups.get(c.Name); ok {
		v.groupVersion = v.groupVersion.next(c.At)
	}
	v.groups = v.groups.remove(c.Name)
	if !c.KeepOffsets {
		DropQueues{Group: c.Name, Queue: AllQueues}.apply(v)
		return
	}
	for key, q := range v.QueuesOf(c.Name) { // of the tree as it was
		if q.Lease.Held() {
			DropLease{QueueKey: key}.apply(v)
		}
	}
}

func (c SetForbidden) apply(v *View) {
	g, ok := v.groups.get(c.Group)
	if !ok || g.Forbidden[c.Topic] == c.Bits {
		return
	}
	changed := *g
	changed.Forbidden = maps.Clone(g.Forbidden)
	if changed.Forbidden == nil {
		changed.Forbidden = map[string]int32{}
	}
	if c.Bits == 0 {
		delete(changed.Forbidden, c.Topic)
	} else {
		changed.Forbidden[c.Topic] = c.Bits
	}
	v.groups = v.groups.put(g.Name, &changed)
	v.groupVersion = v.groupVersion.next(c.At)
}

func (c PutKV) apply(v *View) { v.kv = v.kv.put(kvKey{c.Namespace, c.Key}, c.Value) }

func (c DeleteKV) apply(v *View) { v.kv = v.kv.remove(kvKey{c.Namespace, c.Key}) }

func (c SetMark) apply(v *View) { v.marks = v.marks.put(c.Name, c.Value) }

func (c DeleteMark) apply(v *View) { v.marks = v.marks.remove(c.Name) }

func (c ReserveEpochs) apply(v *View) { v.epochs = max(v.epochs, c.Limit) }

func (c StartBroker) apply(v *View) {
	v.boot = Boot{Starts: v.boot.Starts + 1, BootID: c.BootID, At: c.At}
}

func (c SetStateVersion) apply(v *View) {
	for _, d := range []*DataVersion{&v.topicVersion, &v.groupVersion, &v.offsetVersion} {
		*d = d.next(c.At)
		d.StateVersion = c.StateVersion
	}
}

func (c PutProducer) apply(v *View) {
	p := c.Producer
	v.producers = v.producers.put(p.ID, &p)
}

func (c DropProducer) apply(v *View) {
	v.producers = v.producers.remove(c.ID)
	dropFrames(v, func(k ProducerKey) bool { return k.Producer == c.ID })
}

func (c AddFrame) apply(v *View) {
	old, _ := v.frames.get(c.ProducerKey)
	if len(old) >= KeptFrames {
		old = old[len(old)-KeptFrames+1:]
	}
	frames := make([]Frame, 0, len(old)+1)
	frames = append(append(frames, old...), c.Frame)
	v.frames = v.frames.put(c.ProducerKey, frames)
}

func dropFrames(v *View, drop func(ProducerKey) bool) {
	v.frames.each(func(k ProducerKey, _ []Frame) bool { // of the tree as it was
		if drop(k) {
			v.frames = v.frames.remove(k)
		}
		return true
	})
}
