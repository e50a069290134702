// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// TestNumbersAfterAPowerCutInAsyncMode: a suffix may be gone; the broker then
// expects the first number of it, and knows the frames below.
func TestNumbersAfterAPowerCutInAsyncMode(t *testing.T) {
	lost := 0
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			mem := vfs.NewMem()
			r := newRig(t, func(c *Config) { c.FS = mem })
			p := r.connect("client")
			p.createTopic("T", 1, "")
			_, g := p.claim("c1", header.ProducerClaim{Name: "P"})
			total := 10 + rng.IntN(100)
			for i := range total {
				if code, off, _ := p.numbered("T", 0, header.Numbers{Producer: g.Producer, Epoch: 1, First: uint64(i)}, fmt.Sprint(i)); code != 0 || off != int64(i) {
					t.Fatal(code, off)
				}
				time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
			}
			left := mem.CrashClone(rng, vfs.PowerCut)
			r2 := newRigOn(t, memnet.New(), func(c *Config) { c.FS = left })
			p2 := r2.connect("client")
			code, _, a := p2.numbered("T", 0, header.Numbers{Producer: g.Producer, Epoch: 1, First: uint64(total + 1)}, "x")
			if code != wire.CodeSequenceGap || a.Next.Value > uint64(total) {
				t.Errorf("seed %d: %d %+v of %d", seed, code, a, total)
			}
			next := a.Next.Value
			if next < uint64(total) {
				lost++
			}
			for i := max(0, int(next)-16); i < int(next); i++ {
				if code, off, a := p2.numbered("T", 0, header.Numbers{Producer: g.Producer, Epoch: 1, First: uint64(i)}, fmt.Sprint(i)); code != 0 || !a.Repeat || off != int64(i) {
					t.Errorf("seed %d frame %d: %d %d %+v", seed, i, code, off, a)
				}
			}
			if code, _, _ := p2.numbered("T", 0, header.Numbers{Producer: g.Producer, Epoch: 1, First: next}, "n"); code != 0 {
				t.Errorf("seed %d: next refused %d", seed, code)
			}
		})
	}
	if lost == 0 {
		t.Error("no power cut took a tail: the test shows nothing")
	}
}
