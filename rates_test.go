// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"testing"
	"time"
)

func TestRates(t *testing.T) {
	var r rates
	now := time.Unix(1_700_000_000, 0)
	for range 120 { // one call a second for two minutes, every tenth fails
		r.call(now, 20*time.Millisecond, 1, 0)
		r.pull(now, 4*time.Millisecond, 2)
		if now.Unix()%10 == 0 {
			r.call(now, 0, 0, 1)
		}
		now = now.Add(time.Second)
	}
	st := r.status(now)
	if st.ConsumeOKTPS != 1 || st.PullTPS != 2 || st.PullRT != 4 || st.ConsumeFailedTPS != 0.1 || st.ConsumeFailedMsgs != 12 {
		t.Errorf("%+v", st)
	}
	if st.ConsumeRT < 18 || st.ConsumeRT > 19 { // 60 of 20 ms and 6 of 0
		t.Errorf("consume time %v", st.ConsumeRT)
	}
	if st := r.status(now.Add(30 * time.Minute)); st.ConsumeOKTPS != 0 || st.ConsumeFailedMsgs != 12 {
		t.Errorf("half an hour later: %+v", st)
	}
	if st := r.status(now.Add(2 * time.Hour)); st.ConsumeFailedMsgs != 0 {
		t.Errorf("two hours later: %+v", st)
	}
}
