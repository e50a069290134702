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
	SessionConnected                         // a link is up and its heartbeat was answered; Sent: when that heartbeat was sent
	SessionClosed                            // the link is lost
	SessionPong                              // the answer to ping N was read
	SessionRead                              // everything that had arrived at SessionReadFirst was read and fed
	SessionHolding                           // Holding: whether any lane is leased; Config: the times that now hold
)

// SessionEvent is one event.
type SessionEvent struct {
	Kind    SessionEventKind
	N       uint64
	Sent    Time
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
// first.
type Session struct {
	cfg     SessionConfig
	holding bool
	up      bool // a link is up
	silent  bool // SessionSilent was said
	reading bool // SessionReadFirst was said, SessionRead is awaited

	heard    Time // when the last answered ping was sent
	sent     uint64
	ack      uint64
	first    uint64 // pings below it were sent on an older link
	sentAt   [64]Time
	nextPing Time
	woke     Time // the last step, to notice a pause of the process
	slow     bool // SessionSlow was said for this slowness
}

// NewSession returns a session without a link: silent from the start.
func NewSession(cfg SessionConfig) *Session {
	s := &Session{silent: true, heard: -Never / 2, woke: -1}
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
	paused := s.woke >= 0 && now.Sub(s.woke) > s.cfg.Grace/2
	s.woke = now
	switch ev.Kind {
	case SessionConnected:
		s.up, s.first, s.ack = true, s.sent+1, 0
		s.heard = max(s.heard, ev.Sent)
		s.nextPing = now // the echo completes a resume
	case SessionClosed:
		s.up, s.reading = false, false
	case SessionPong:
		s.pong(now, ev.N, &buf)
	case SessionRead:
		s.reading = false
	case SessionHolding:
		s.holding = ev.Holding
		s.configure(ev.Config)
		s.nextPing = min(s.nextPing, now.Add(s.pingEvery()))
	}
	if paused && s.up && !s.reading && ev.Kind != SessionConnected {
		s.reading = true
		buf = append(buf, SessionAction{Kind: SessionReadFirst})
	}
	return s.judge(now, buf)
}

// pong notes an answer of the link that is up.
func (s *Session) pong(now Time, n uint64, buf *[]SessionAction) {
	if !s.up || n < s.first || n > s.sent || s.sent-n >= 64 {
		return
	}
	sent := s.sentAt[n%64]
	s.ack = max(s.ack, n)
	s.heard = max(s.heard, sent)
	rtt := now.Sub(sent)
	if slow := rtt > s.cfg.Grace/8; slow != s.slow {
		s.slow = slow
		if slow {
			*buf = append(*buf, SessionAction{Kind: SessionSlow, RTT: rtt, Needs: 8 * rtt})
		}
	}
}

// judge works out from the state alone what is to be done now.
func (s *Session) judge(now Time, buf []SessionAction) []SessionAction {
	if silent := now >= s.Until(); silent != s.silent && !s.reading {
		s.silent = silent
		kind := SessionAlive
		if silent {
			kind = SessionSilent
		}
		buf = append(buf, SessionAction{Kind: kind})
	}
	if !s.up || s.reading {
		return buf
	}
	if now >= s.heard.Add(s.closeAfter()) {
		s.up = false
		return append(buf, SessionAction{Kind: SessionCloseLinks})
	}
	if now >= s.nextPing {
		s.sent++
		s.sentAt[s.sent%64] = now
		s.nextPing = now.Add(s.pingEvery())
		buf = append(buf, SessionAction{Kind: SessionPing, N: s.sent, Ack: s.ack})
	}
	return buf
}

// pingEvery is G/4 with leases and L/4 without.
func (s *Session) pingEvery() time.Duration {
	if s.holding {
		return s.cfg.Grace / 4
	}
	return s.cfg.Lease / 4
}

// closeAfter is how much silence ends the links. Without leases pings are rare
// and only the lease time tells a dead link.
func (s *Session) closeAfter() time.Duration {
	if s.holding {
		return s.cfg.Grace
	}
	return s.cfg.Lease
}

// Until returns the moment from which on nothing may be handed out. It is
// compared with the clock at each hand-out.
func (s *Session) Until() Time { return s.heard.Add(s.closeAfter() / 2) }

// Next returns when the next SessionTick is due, or Never.
func (s *Session) Next() Time {
	next := Never
	if !s.silent {
		next = s.Until()
	}
	if s.up && !s.reading {
		next = min(next, s.nextPing, s.heard.Add(s.closeAfter()))
	}
	return next
}
