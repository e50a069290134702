// SPDX-License-Identifier: Apache-2.0

package order

// PingLog is the broker's memory of the ping answers sent on one link. An
// acknowledgement refreshes leases to the time when the answer that it names
// was sent, never to the time when it arrived: a link on which the client
// hears nothing renews nothing.
type PingLog struct {
	n  [64]uint64
	at [64]Time
}

// Answered notes that the answer to ping n (not 0) is sent at now.
func (p *PingLog) Answered(n uint64, now Time) {
	p.n[n%64], p.at[n%64] = n, now
}

// Sent returns when the answer to ping n was sent, if that is remembered.
func (p *PingLog) Sent(n uint64) (Time, bool) {
	if n == 0 || p.n[n%64] != n {
		return 0, false
	}
	return p.at[n%64], true
}
