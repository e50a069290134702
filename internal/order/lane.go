// SPDX-License-Identifier: Apache-2.0

package order

// Lane decides, for one leased queue, what is pulled, handed out, retried,
// committed and released.
type Lane struct{ cfg LaneConfig }

// NewLane returns a lane that waits for LaneStart.
func NewLane(cfg LaneConfig) *Lane { return &Lane{cfg: cfg} }

// Step applies ev at time now and appends to buf what is to be done.
func (l *Lane) Step(now Time, ev *LaneEvent, buf []LaneAction) []LaneAction { return buf }

// Next returns when the next LaneTick is due, or Never.
func (l *Lane) Next() Time { return Never }

// CommitOffset returns the lowest unfinished offset.
func (l *Lane) CommitOffset() int64 { return 0 }

// AppendSettled appends the settled ranges above CommitOffset.
func (l *Lane) AppendSettled(dst []Range) []Range { return dst }

// AppendAttempts appends the attempts of unfinished messages.
func (l *Lane) AppendAttempts(dst []Attempt) []Attempt { return dst }

// Waits appends everything that waits in the lane, and why: what blocks it.
func (l *Lane) Waits(now Time, dst []Wait) []Wait { return dst }

// Wait is something that waits: since when, why and until when.
type Wait struct {
	Offset  int64
	Key     uint64
	Ref     any
	Attempt int32
	Since   Time
	Next    Time // Never: not by time
	Why     LaneWhy
	Behind  int // messages of the same key behind it
}

// LaneWhy is why something waits in a lane.
type LaneWhy uint8

// Reasons of waiting.
const (
	LaneHandling     LaneWhy = iota // a handler has it
	LaneIgnoring                    // a handler has it and ignores its ended context
	LaneBackoff                     // it failed and is tried again at Next
	LaneParked                      // its key is parked until an operator resumes it
	LaneLettering                   // it is being dead-lettered
	LaneReporting                   // its next attempt is being reported to the broker
	LaneBarrier                     // a message without key waits for all before it
	LaneWindowFull                  // nothing is read ahead: too many unfinished messages
	LaneCacheFull                   // nothing is read ahead: too many or too large messages cached
	LaneHeld                        // manual mode: waits for Commit
	LaneSilentBroker                // the broker has not been heard
	LanePastEnd                     // the position lies past the end of the queue
	LanePaused                      // paused by the user
	LaneDraining                    // being given up
)
