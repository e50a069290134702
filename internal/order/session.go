// SPDX-License-Identifier: Apache-2.0

package order

import "time"

// SessionConfig holds the times of a client session with one broker: the
// smallest grace and lease time of its groups there.
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
	SessionPing       SessionActionKind = iota // send ping N, naming Ack as the last answer read
	SessionSilent                              // hand out nothing, end the handlers' contexts with a cause; tick every lane
	SessionAlive                               // hand-outs may go on; tick every lane
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

// Session is the client's side of a session with one broker.
type Session struct{ cfg SessionConfig }

// NewSession returns a session without a link.
func NewSession(cfg SessionConfig) *Session { return &Session{cfg: cfg} }

// Step applies ev at time now and appends to buf what is to be done.
func (s *Session) Step(now Time, ev SessionEvent, buf []SessionAction) []SessionAction { return buf }

// Until returns the moment from which on nothing may be handed out. It is
// compared with the clock at each hand-out.
func (s *Session) Until() Time { return 0 }

// Next returns when the next SessionTick is due, or Never.
func (s *Session) Next() Time { return Never }
