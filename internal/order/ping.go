// SPDX-License-Identifier: Apache-2.0

package order

// PingLog is the broker's memory of the ping answers sent on one link. An
// acknowledgement refreshes leases to the time when the answer that it names
// was sent, never to the time when it arrived.
type PingLog struct {
	n  [64]uint64
	at [64]Time
}

// Answered notes that the answer to ping n is sent at now.
func (p *PingLog) Answered(n uint64, now Time) {}

// Sent returns when the answer to ping n was sent, if that is remembered.
func (p *PingLog) Sent(n uint64) (Time, bool) { return 0, false }
