// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Turns of one link run one at a time in the order in which they were added,
// whatever else they share with others; and none is forgotten.
func TestChainsKeepOrderPerLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChains(100)
		var running, started []int
		turns := map[int]*turn{}
		added := 0
		finish := func(i int) {
			running = slices.DeleteFunc(running, func(r int) bool { return r == i })
			c.finish(turns[i])
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				i := added
				added++
				keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 3, rapid.ID[int]).Draw(t, "keys")
				u := &turn{}
				for _, k := range keys {
					u.links = append(u.links, link{topic: "t", key: fmt.Sprint(k)})
				}
				u.start = func() { running, started = append(running, i), append(started, i) }
				turns[i] = u
				c.add(u)
			},
			"finish": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("none")
				}
				finish(rapid.SampledFrom(running).Draw(t, "which"))
			},
			"": func(t *rapid.T) {
				last := map[link]int{}
				for _, i := range started {
					for _, l := range turns[i].links {
						if before, ok := last[l]; ok && before > i {
							t.Fatalf("link %v: %d started after %d", l, i, before)
						}
						last[l] = i
					}
				}
				busy := map[link]int{}
				for _, i := range running {
					for _, l := range turns[i].links {
						if other, ok := busy[l]; ok {
							t.Fatalf("link %v: %d and %d run at once", l, i, other)
						}
						busy[l] = i
					}
				}
				if len(running) == 0 && len(started) != added {
					t.Fatalf("%d of %d started and nothing runs", len(started), added)
				}
			},
		})
		for len(running) > 0 {
			finish(running[0])
		}
		if len(started) != added || len(c.waiting) != 0 {
			t.Fatalf("%d of %d started, %d chains left", len(started), added, len(c.waiting))
		}
	})
}

func TestStoppedKeyRefusesUntilResumed(t *testing.T) {
	c := newChains(2)
	cause := errors.New("disk on fire")
	l := link{topic: "orders", key: "7"}
	first := &turn{links: []link{l}, start: func() {}}
	c.add(first)
	c.halt(l, cause)
	c.finish(first)

	err := c.check(l)
	if !errors.Is(err, ErrKeyStopped) || !errors.Is(err, cause) {
		t.Fatalf("check = %v, want ErrKeyStopped because of %v", err, cause)
	}
	if err := c.check(link{topic: "orders", key: "8"}); err != nil {
		t.Errorf("another key: %v", err)
	}
	if got := c.list(); len(got) != 1 || got[0].OrderingKey != "7" || got[0].Cause != cause {
		t.Errorf("list = %v", got)
	}
	if !c.resume(l) || c.resume(l) {
		t.Error("resume must report true once")
	}
	if err := c.check(l); err != nil {
		t.Errorf("after resume: %v", err)
	}
}

// A key that could not be remembered as stopped must not be sent to at all.
func TestStoppedKeysAreBounded(t *testing.T) {
	c := newChains(2)
	for i := range 2 {
		c.halt(link{topic: "t", key: fmt.Sprint(i)}, errors.New("x"))
	}
	err := c.check(link{topic: "t", key: "other"})
	if !errors.Is(err, ErrKeyStopped) || !errors.Is(err, errTooManyStopped) {
		t.Fatalf("check = %v", err)
	}
	c.resume(link{topic: "t", key: "0"})
	if err := c.check(link{topic: "t", key: "other"}); err != nil {
		t.Fatalf("after a resume: %v", err)
	}
}

func TestKeylessFailureStopsNothing(t *testing.T) {
	c := newChains(2)
	q := link{topic: "t", queue: Queue{Topic: "t", Broker: "b", ID: 1}}
	first := &turn{links: []link{q}, start: func() {}}
	c.add(first)
	c.halt(q, errors.New("x"))
	c.finish(first)
	if err := c.check(q); err != nil || len(c.list()) != 0 {
		t.Fatalf("check = %v, stopped %v", err, c.list())
	}
}
