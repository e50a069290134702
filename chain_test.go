// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"errors"
	"fmt"
	"testing"
)

func TestStoppedKeyRefusesUntilResumed(t *testing.T) {
	c := newChains(2)
	cause := errors.New("disk on fire")
	l := link{topic: "orders", key: "7"}
	c.halt(l, cause)

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
	q := link{topic: "t"}
	c.halt(q, errors.New("x"))
	if err := c.check(q); err != nil || len(c.list()) != 0 {
		t.Fatalf("check = %v, stopped %v", err, c.list())
	}
}
