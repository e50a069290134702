// SPDX-License-Identifier: Apache-2.0

package meta

// DataVersion is RocketMQ's version of one table: compared by name servers and
// slaves to see whether the table changed.
type DataVersion struct {
	StateVersion int64
	Timestamp    int64 // milliseconds
	Counter      int64
}

// Next is the version after one more change.
func (d DataVersion) next(at Time) DataVersion {
	return DataVersion{StateVersion: d.StateVersion, Timestamp: at.Millis(), Counter: d.Counter + 1}
}

// Boot says how often the broker has started and under which boot it runs.
type Boot struct {
	Starts uint64
	// BootID is the machine's boot: another one means that what was written
	// and not synced may be gone.
	BootID string
	At     Time
}

// Producer is the identity behind numbered sends.
type Producer struct {
	ID       uint64
	Epoch    uint32
	Group    string
	ClientID string
	SeenAt   Time
}

// ProducerKey names one producer's numbering on one queue.
type ProducerKey struct {
	Producer uint64
	Topic    string
	Queue    int32
}

// Frame is one acknowledged send: Count messages numbered from First, stored
// from Offset on.
type Frame struct {
	Epoch  uint32
	First  uint64
	Count  uint32
	Offset int64
}

// KeptFrames is how many of the last frames are kept per producer and queue.
const KeptFrames = 16
