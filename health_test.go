// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHealthAvoidsFailingBrokers(t *testing.T) {
	a0, a1, b0 := Queue{Broker: "a", ID: 0}, Queue{Broker: "a", ID: 1}, Queue{Broker: "b", ID: 0}
	queues := []Queue{a0, a1, b0}
	synctest.Test(t, func(t *testing.T) {
		h := newHealth()
		pick := func(at uint32, last string, want Queue) {
			t.Helper()
			if got := h.pick(queues, at, last); got != want {
				t.Errorf("pick(%d, %q) = %v, want %v", at, last, got, want)
			}
		}
		for i, want := range []Queue{a0, a1, b0, a0} {
			pick(uint32(i), "", want)
		}
		pick(0, "a", b0)
		h.failed("a")
		pick(0, "", b0)
		pick(1, "", b0)
		pick(0, "b", a0) // the only other broker, well or not
		h.failed("b")
		pick(0, "a", b0)
		pick(1, "", a1) // all are ill: plain round robin
		time.Sleep(isolation + time.Millisecond)
		pick(0, "", a0)
		h.answered("a", 600*time.Millisecond)
		pick(0, "", b0)
		time.Sleep(2*time.Second + time.Millisecond)
		pick(0, "", a0)
		h.failed("a")
		h.answered("a", time.Millisecond)
		pick(0, "", a0)
	})
}

func TestHealthOfASingleBroker(t *testing.T) {
	q := Queue{Broker: "a"}
	h := newHealth()
	h.failed("a")
	if got := h.pick([]Queue{q}, 5, "a"); got != q {
		t.Fatalf("pick = %v", got)
	}
}
