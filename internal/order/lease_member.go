// SPDX-License-Identifier: Apache-2.0

package order

// member is a client session of the group, or a stock client id. It lives as
// long as it has a link, holds a lease or, if it is ours, its grace runs.
type member struct {
	client  string
	session Token // 0: stock
	name    string
	host    string
	links   []*link
	held    int // leases

	refreshed Time // ours: when the last answer it has echoed was sent
	closed    Time // when its last open link closed or it left
	floor     Time // ours: alive until then whatever happens
	left      bool // unregistered: none of its links counts
	lapsed    bool // ours: its time ran out; a refresh revives it
	restored  bool // has not come back since the broker started
}

// link is a connection of a member.
type link struct {
	id      LinkID
	member  *member
	port    int32
	since   Time
	pending bool   // ours: resumes the session; counts once it has echoed an answer
	rival   LinkID // stock: the older link of this port, open when this one came
	twin    bool   // stock: the rival was active after that: two processes
	former  bool   // its client has left the group; its late commits are no operator's
}

// open reports whether the member has a link that counts.
func (m *member) open() bool {
	if m.left {
		return false
	}
	for _, l := range m.links {
		if !l.pending {
			return true
		}
	}
	return false
}

// member returns the member of that identity, made if need be.
func (t *Leases) member(client string, session Token) *member {
	m := t.find(client, session)
	if m != nil {
		return m
	}
	m = &member{client: client, session: session}
	if session != 0 {
		t.ours[session] = m
	} else {
		t.stock[client] = m
	}
	return m
}

func (t *Leases) find(client string, session Token) *member {
	if session != 0 {
		return t.ours[session]
	}
	return t.stock[client]
}

// join adds the link of ev to its member.
func (t *Leases) join(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	if other := t.nameHolder(now, ev); other != nil {
		*buf = append(*buf, LeaseAction{Kind: LeaseJoinRefused, Why: WhyNameTaken, Tag: ev.Tag, Link: ev.Link, Client: other.client, Session: other.session})
		return
	}
	t.connect(now, ev)
	t.retryWaits(now, ev.Link, buf)
}

// nameHolder returns another live session that has the member name of ev.
func (t *Leases) nameHolder(now Time, ev *LeaseEvent) *member {
	if ev.Name == "" || ev.Session == 0 {
		return nil
	}
	for _, m := range t.ours {
		if m.name == ev.Name && m.session != ev.Session && m.open() && now < t.memberUntil(m) {
			return m
		}
	}
	return nil
}

// connect makes ev's link a link of ev's member and returns it.
func (t *Leases) connect(now Time, ev *LeaseEvent) *link {
	l := t.links[ev.Link]
	if l != nil && !l.former && l.member == t.find(ev.Client, ev.Session) {
		return l
	}
	if l != nil {
		t.detach(now, l)
	}
	fresh := t.find(ev.Client, ev.Session) == nil
	m := t.member(ev.Client, ev.Session)
	m.client, m.name, m.host = ev.Client, ev.Name, ev.Host
	l = &link{id: ev.Link, member: m, port: ev.Port, since: now}
	if m.session != 0 {
		t.connectOurs(now, m, l, fresh)
	} else {
		t.connectStock(m, l)
	}
	t.announce = t.announce || m.left
	m.left = false
	m.links = append(m.links, l)
	t.links[ev.Link] = l
	t.schedule()
	return l
}

// connectOurs decides whether a new link of a session counts at once. It does
// when there is nothing to protect; else only its echo proves that the session
// hears the broker on it.
func (t *Leases) connectOurs(now Time, m *member, l *link, fresh bool) {
	if !fresh && (m.held > 0 || m.open()) {
		l.pending = true
		return
	}
	t.announce = t.announce || fresh || m.lapsed
	m.refreshed, m.lapsed, m.restored = now, false, false
}

// connectStock notes an older open link of the same port: if that one is
// active later, two processes use one client id.
func (t *Leases) connectStock(m *member, l *link) {
	t.announce = t.announce || len(m.links) == 0
	for _, old := range m.links {
		if old.port == l.port && !old.twin {
			l.rival = old.id
		}
	}
}

// touch notes that a link is active: every newer link of its client id and
// port belongs to another process.
func (t *Leases) touch(id LinkID, buf *[]LeaseAction) {
	l := t.links[id]
	if l == nil || l.member.session != 0 {
		return
	}
	for _, newer := range l.member.links {
		if newer.rival == id && !newer.twin {
			newer.twin = true
			t.stats.Twins++
			*buf = append(*buf, LeaseAction{Kind: LeaseTwin, Why: WhyTwin, Link: newer.id, Client: l.member.client})
		}
	}
}

// refresh moves a session's last refresh to when the echoed answer was sent,
// and completes a resume.
func (t *Leases) refresh(now Time, ev *LeaseEvent, buf *[]LeaseAction) {
	l := t.links[ev.Link]
	if l == nil || l.former || l.member.session == 0 {
		return
	}
	m := l.member
	if l.pending && ev.Sent >= l.since {
		t.resume(l, buf)
	}
	if l.pending {
		return
	}
	m.refreshed = max(m.refreshed, ev.Sent)
	if m.lapsed && now < t.memberUntil(m) {
		m.lapsed, t.announce = false, true
		t.schedule()
	}
}

// resume makes a proven link count and ends the older link of its port.
func (t *Leases) resume(l *link, buf *[]LeaseAction) {
	m := l.member
	l.pending, m.restored = false, false
	kept := m.links[:0]
	for _, old := range m.links {
		if old != l && old.port == l.port && old.since <= l.since {
			delete(t.links, old.id)
			*buf = append(*buf, LeaseAction{Kind: LeaseCloseLink, Link: old.id, Client: m.client, Session: m.session})
			continue
		}
		kept = append(kept, old)
	}
	m.links = kept
	for _, le := range t.sorted {
		if le.holder == m {
			le.restored = false
		}
	}
	t.schedule()
}

// linkClosed handles the end of a link. The grace of ours runs from here.
func (t *Leases) linkClosed(now Time, id LinkID, buf *[]LeaseAction) {
	t.dropWaits(id, buf)
	l := t.links[id]
	if l == nil {
		return
	}
	m := l.member
	t.detach(now, l)
	if l.former && t.linked(m) {
		return
	}
	t.settleLeaving(now, m, buf)
	t.reap(m)
	t.schedule()
}

// detach takes a link away from its member.
func (t *Leases) detach(now Time, l *link) {
	m := l.member
	wasOpen := m.open()
	delete(t.links, l.id)
	if l.former {
		return
	}
	kept := m.links[:0]
	for _, other := range m.links {
		if other.rival == l.id {
			other.rival, other.twin = 0, false
		}
		if other != l {
			kept = append(kept, other)
		}
	}
	m.links = kept
	if wasOpen && !m.open() {
		m.closed = now
	}
	t.announce = t.announce || (m.session == 0 && len(m.links) == 0)
}

// leave ends a membership by the client's own word. What it still holds ends
// like after the loss of its links.
func (t *Leases) leave(now Time, id LinkID, buf *[]LeaseAction) {
	l := t.links[id]
	if l == nil || l.former {
		return
	}
	m := l.member
	if m.open() {
		m.closed = now
	}
	m.left, t.announce = true, true
	for _, other := range m.links {
		other.former = true
	}
	m.links = nil
	for _, le := range t.sorted {
		if le.holder == m && le.leaving != 0 && m.session == 0 {
			le.leaving = min(le.leaving, now.Add(stockParting))
		}
	}
	t.reap(m)
	t.schedule()
}

// linked reports whether a link is left of a member, former ones included.
func (t *Leases) linked(m *member) bool {
	for _, l := range t.links {
		if l.member == m {
			return true
		}
	}
	return false
}

// settleLeaving frees what a stock client unlocked, once it can no longer
// commit.
func (t *Leases) settleLeaving(now Time, m *member, buf *[]LeaseAction) {
	if m.session != 0 || m.open() {
		return
	}
	for _, le := range t.sorted {
		if le.holder == m && le.leaving != 0 {
			t.free(now, le, WhyUnlocked, buf)
		}
	}
}

// reap forgets a member that has nothing left.
func (t *Leases) reap(m *member) {
	if m.held > 0 || len(m.links) > 0 {
		return
	}
	if m.session == 0 {
		delete(t.stock, m.client)
	} else if m.left || m.lapsed {
		delete(t.ours, m.session)
	} else {
		return
	}
	for _, le := range t.sorted {
		le.dropWaiting(m)
	}
}

func (le *lease) dropWaiting(m *member) {
	kept := le.waiting[:0]
	for _, w := range le.waiting {
		if w != m {
			kept = append(kept, w)
		}
	}
	le.waiting = kept
}
