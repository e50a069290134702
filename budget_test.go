// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBudgetServesInOrderOfAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(2, 100)
		must(t, b.take(t.Context(), 2, 10))
		var mu sync.Mutex
		var served []int
		for i := range 4 {
			go func() {
				if b.take(context.Background(), 1+i%2, 1) == nil {
					mu.Lock()
					served = append(served, i)
					mu.Unlock()
				}
			}()
			synctest.Wait() // so that the asks have an order
		}
		b.give(2, 10)
		synctest.Wait()
		mu.Lock()
		if want := []int{0}; !slices.Equal(served, want) { // 1 wants two and holds back 2
			t.Errorf("served %v, want %v", served, want)
		}
		mu.Unlock()
		for _, n := range []int{1, 2, 1} {
			b.give(n, 1)
			synctest.Wait()
		}
		if want := []int{0, 1, 2, 3}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}

func TestBudgetEndsWithContextAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1, 100)
		must(t, b.take(t.Context(), 1, 1))
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 2)
		go func() { left <- b.take(ctx, 1, 1) }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled take: %v", err)
		}
		go func() { left <- b.take(t.Context(), 1, 1) }()
		synctest.Wait()
		b.close(ErrClosed)
		if err := <-left; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting take: %v", err)
		}
		if err := b.take(t.Context(), 1, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("late take: %v", err)
		}
	})
}

// What is larger than the whole budget passes alone instead of never.
func TestBudgetLetsTheOversizedPass(t *testing.T) {
	b := newBudget(2, 100)
	must(t, b.take(t.Context(), 5, 1000))
	b.give(5, 1000)
	if b.count != 2 || b.size != 100 {
		t.Fatalf("left %d, %d, want all of 2, 100", b.count, b.size)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
