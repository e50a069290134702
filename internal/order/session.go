// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// SessionConfig holds the times of a client session with one broker: the
// smallest grace and lease time of its groups there. Zero means 1 s and 10 s.
type SessionConfig struct {
	Grace time.Duration
	Lease time.Duration
}

// SessionEventKind says what happened; see the constants.
type SessionEventKind uint8

// The events of a client session.
const (
	SessionTick      SessionEventKind = iota // time has passed; feed when Next is reached
	SessionConnected                         // a link is up and the heartbeat that names the session was answered
	SessionProved                            // every Claims of the session was fed ClaimResumed after SessionResumed
	SessionClosed                            // the link is lost
	SessionPong                              // the answer to ping N was read
	SessionRead                              // everything that had arrived at SessionReadFirst was read and fed
	SessionHolding                           // Holding: whether any lane is leased; Config: the times that now hold
)

// SessionEvent is one event.
type SessionEvent struct {
	Kind    SessionEventKind
	N       uint64
	Holding bool
	Config  SessionConfig
}

// SessionActionKind says what the driver must do; see the constants.
type SessionActionKind uint8

// The actions of a client session.
const (
	SessionPing       SessionActionKind = iota // send ping N, naming Ack as the last answer read (0: none)
	SessionSilent                              // hand out nothing, end the handlers' contexts with a cause: tick every lane
	SessionAlive                               // hand-outs may go on: tick every lane
	SessionResumed                             // the broker counts on the new link: feed ClaimResumed to all claims, then SessionProved
	SessionReadFirst                           // the process was paused: read what has arrived, then feed SessionRead
	SessionCloseLinks                          // close the session's links and dial anew, with the same token
	SessionSlow                                // log: the round trip RTT needs a grace of Needs
)

// SessionAction is one thing to do.
type SessionAction struct {
	Kind  SessionActionKind
	N     uint64
	Ack   uint64
	RTT   time.Duration
	Needs time.Duration
}

// Session is the client's side of a session with one broker: it proves to the
// broker that it hears it, and to itself that the broker may still count on it.
//
// Silence counts from when the last answered ping was sent. The broker counts
// from when it sent the answer, which is later; so the client always stops
// first. A new link is on trial until a ping that echoed an answer of the
// broker's on this link was answered in turn: only then does the broker count
// on it, and only then may the leases be asked for again.
type Session struct {
	cfg     SessionConfig
	holding bool
	silent  bool // SessionSilent was said
	state   linkState

	reading   bool // SessionReadFirst was said, SessionRead is awaited
	readUntil Time

	heard    Time   // when the last answered ping was sent
	trial    Time   // the same on a link that is on trial
	base     Time   // silence does not end a link before base + G
	sent     uint64 // the last ping
	ack      uint64 // the last answer read on this link
	first    uint64 // the first ping of this link
	sentAt   [pingMemory]Time
	acked    [pingMemory]bool // ping n echoed an answer of its link
	nextPing Time
	due      Time // Next after the last step, to notice a pause of the process
	slow     bool // SessionSlow was said for this slowness
}

const pingMemory = 64

// linkState is how far the link is.
type linkState uint8

const (
	linkDown   linkState = iota
	linkTrial            // up, not yet proven
	linkProven           // SessionResumed was said
	linkUp
)

// NewSession returns a session without a link: silent from the start.
func NewSession(cfg SessionConfig) *Session {
	s := &Session{silent: true, heard: -Never / 2, due: Never}
	s.configure(cfg)
	return s
}

func (s *Session) configure(cfg SessionConfig) {
	if cfg.Grace <= 0 {
		cfg.Grace = time.Second
	}
	if cfg.Lease <= 0 {
		cfg.Lease = 10 * time.Second
	}
	s.cfg = cfg
}

// Step applies ev at time now and appends to buf what is to be done.
func (s *Session) Step(now Time, ev SessionEvent, buf []SessionAction) []SessionAction {
	paused := s.due != Never && now.Sub(s.due) > s.cfg.Grace/4
	switch ev.Kind {
	case SessionConnected:
		s.state, s.reading = linkTrial, false
		s.first, s.ack, s.trial = s.sent+1, 0, 0
		s.base, s.nextPing = now, now
	case SessionProved:
		if s.state == linkProven {
			s.state = linkUp
			s.heard = max(s.heard, s.trial)
		}
	case SessionClosed:
		s.state, s.reading = linkDown, false
	case SessionPong:
		s.pong(now, ev.N, &buf)
	case SessionRead:
		s.reading = false
	case SessionHolding:
		s.hold(now, ev)
	}
	if paused && s.state == linkUp && ev.Kind != SessionConnected {
		s.reading, s.readUntil = true, now.Add(s.cfg.Grace/4)
		buf = append(buf, SessionAction{Kind: SessionReadFirst})
	}
	buf = s.judge(now, buf)
	s.due = s.Next()
	return buf
}

// hold changes how often the broker is asked. A session that begins to hold
// leases asks at once: what it heard while idle is too old to hand out on.
func (s *Session) hold(now Time, ev SessionEvent) {
	if ev.Holding && !s.holding {
		s.base, s.nextPing = max(s.base, now), now
	}
	s.holding = ev.Holding
	s.configure(ev.Config)
	s.nextPing = min(s.nextPing, now.Add(s.pingEvery()))
}

// pong notes an answer on the present link.
func (s *Session) pong(now Time, n uint64, buf *[]SessionAction) {
	if s.state == linkDown || n < s.first || n <= s.ack || n > s.sent || s.sent-n >= pingMemory {
		return
	}
	sent := s.sentAt[n%pingMemory]
	if s.ack == 0 {
		s.nextPing = now // echo the first answer at once
	}
	s.ack = n
	switch {
	case s.state == linkUp:
		s.heard = max(s.heard, sent)
	case s.acked[n%pingMemory]:
		s.trial = max(s.trial, sent)
		if s.state == linkTrial {
			s.state = linkProven
			*buf = append(*buf, SessionAction{Kind: SessionResumed})
		}
	}
	s.measure(now.Sub(sent), buf)
}

// measure says once when answers take too long for the grace.
func (s *Session) measure(rtt time.Duration, buf *[]SessionAction) {
	slow := rtt > s.cfg.Grace/8
	if slow && !s.slow {
		*buf = append(*buf, SessionAction{Kind: SessionSlow, RTT: rtt, Needs: 8 * rtt})
	}
	s.slow = slow
}

// judge works out from the state alone what is to be done now.
func (s *Session) judge(now Time, buf []SessionAction) []SessionAction {
	if s.reading && now < s.readUntil {
		return buf
	}
	s.reading = false
	if silent := now >= s.Until(); silent != s.silent {
		s.silent = silent
		kind := SessionAlive
		if silent {
			kind = SessionSilent
		}
		buf = append(buf, SessionAction{Kind: kind})
	}
	if s.state == linkDown {
		return buf
	}
	if now >= s.closeAt() {
		s.state = linkDown
		return append(buf, SessionAction{Kind: SessionCloseLinks})
	}
	if now >= s.nextPing {
		buf = append(buf, s.ping(now))
	}
	return buf
}

func (s *Session) ping(now Time) SessionAction {
	s.sent++
	s.sentAt[s.sent%pingMemory] = now
	s.acked[s.sent%pingMemory] = s.ack != 0
	s.nextPing = now.Add(s.pingEvery())
	return SessionAction{Kind: SessionPing, N: s.sent, Ack: s.ack}
}

// pingEvery is G/4 with leases and L/4 without.
func (s *Session) pingEvery() time.Duration {
	if s.holding {
		return s.cfg.Grace / 4
	}
	return s.cfg.Lease / 4
}

// patience is how much silence ends the links. Without leases pings are rare
// and only the lease time tells a dead link.
func (s *Session) patience() time.Duration {
	if s.holding {
		return s.cfg.Grace
	}
	return s.cfg.Lease
}

func (s *Session) closeAt() Time {
	return max(s.heard, s.trial, s.base).Add(s.patience())
}

// Until returns the moment from which on nothing may be handed out. It is
// compared with the clock at each hand-out.
func (s *Session) Until() Time { return s.heard.Add(s.patience() / 2) }

// Next returns when the next SessionTick is due, or Never.
func (s *Session) Next() Time {
	if s.reading {
		return s.readUntil
	}
	next := Never
	if !s.silent {
		next = s.Until()
	}
	if s.state != linkDown {
		next = min(next, s.nextPing, s.closeAt())
	}
	return next
}
