// SPDX-License-Identifier: Apache-2.0

package order

import (
	"testing"
	"time"
)

// A message behind one that was given up is not sent later, though the key has
// gone on before the broker's word came.
func TestPipeBarsWhatWasBehind(t *testing.T) {
	const ms = time.Millisecond
	p := NewPipe(PipeConfig{MaxBytes: 100, Patience: 10 * ms, First: ms, Last: ms})
	q := Queue{"t", 0}
	var acts []PipeAction
	for i := range 2 {
		acts = p.Add(0, q, &Parcel{Key: "k", Share: 1, Deadline: Time(0).Add(time.Duration(10+20*i) * ms), Ref: i}, acts)
	}
	p.Pump(0, acts)
	nothing := func(Queue, uint64) (bool, int64) { return false, -1 }
	acts = p.Pump(0, p.Granted(PipeGrant{Producer: 1, Epoch: 1, Stored: nothing}, nil))
	if len(acts) != 1 || acts[0].Kind != PipeSend || len(acts[0].Frame.Parcels) != 2 {
		t.Fatalf("acts = %+v", acts)
	}
	at := Time(0).Add(15 * ms)
	p.Pump(at, p.Answered(at, acts[0].Frame, FrameNoAnswer, 0, nil, nil))
	at = Time(0).Add(25 * ms)
	if acts = p.Pump(at, nil); len(acts) != 1 || acts[0].Why != ParcelLate || !acts[0].Maybe {
		t.Fatalf("acts = %+v", acts)
	}
	p.Resume("k")
	acts = p.Pump(at, p.Granted(PipeGrant{Producer: 1, Epoch: 2, Stored: nothing}, nil))
	if len(acts) != 1 || acts[0].Kind != PipeFailed || acts[0].Why != ParcelStopped {
		t.Fatalf("acts = %+v", acts)
	}
}
