// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/wire/body"
)

// rates counts what a member does, in spans of 10 s: the last minute gives the
// rates, the last hour the failures.
type rates struct {
	mu    sync.Mutex
	spans [361]span // ring, by time
}

type span struct {
	at          int64 // number of the span
	pulls       int64 // that brought messages
	pulled      int64 // messages
	pullTime    time.Duration
	calls       int64
	callTime    time.Duration
	ok, failing int64 // messages
}

const spanTime = 10 * time.Second

// count adds to the present span.
func (r *rates) count(now time.Time, add func(*span)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := now.UnixNano() / int64(spanTime)
	s := &r.spans[n%int64(len(r.spans))]
	if s.at != n {
		*s = span{at: n}
	}
	add(s)
}

// pull counts an answer with messages, took after it was asked for.
func (r *rates) pull(now time.Time, took time.Duration, messages int) {
	r.count(now, func(s *span) { s.pulls++; s.pulled += int64(messages); s.pullTime += took })
}

// call counts a handler call.
func (r *rates) call(now time.Time, took time.Duration, ok, failed int) {
	r.count(now, func(s *span) {
		s.calls++
		s.callTime += took
		s.ok += int64(ok)
		s.failing += int64(failed)
	})
}

// status is what admin tools show.
func (r *rates) status(now time.Time) body.ConsumeStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	const minute, hour = 6, 360
	var last span
	var failed int64
	n := now.UnixNano() / int64(spanTime)
	for i := range r.spans {
		s := &r.spans[i]
		if age := n - s.at; age >= 0 && age <= hour {
			failed += s.failing
		}
		if age := n - s.at; age >= 1 && age <= minute { // whole ones
			last.pulls += s.pulls
			last.pulled += s.pulled
			last.pullTime += s.pullTime
			last.calls += s.calls
			last.callTime += s.callTime
			last.ok += s.ok
			last.failing += s.failing
		}
	}
	return body.ConsumeStatus{
		PullRT: mean(last.pullTime, last.pulls), PullTPS: perSecond(last.pulled),
		ConsumeRT: mean(last.callTime, last.calls), ConsumeOKTPS: perSecond(last.ok),
		ConsumeFailedTPS: perSecond(last.failing), ConsumeFailedMsgs: failed,
	}
}

// mean is in milliseconds.
func mean(sum time.Duration, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum.Milliseconds()) / float64(n)
}

func perSecond(n int64) float64 { return float64(n) / 60 }
