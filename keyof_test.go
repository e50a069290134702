// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKeyOf keeps messages of one ordering key in order by a finer one. A key
// that fails holds up itself; messages that get no key, in whatever way, are
// handled in their place: behind all before them, before all behind them.
func TestKeyOf(t *testing.T) {
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		put(t, p, "x", "a1", "b1", "a2", "b2", "panic", "a3", "b3", "exit", "exit2", "none", "a4", "b4")
		keyOf := func(m *Message) string {
			switch body := string(m.Body); {
			case body == "panic":
				panic("no idea")
			case strings.HasPrefix(body, "exit"):
				runtime.Goexit()
			case body == "none":
				return ""
			}
			return string(m.Body[:1])
		}
		var mu sync.Mutex
		var list []string
		began := time.Now()
		cons := consume(t, r.client("c"), ConsumerConfig{Order: ByKey, KeyOf: keyOf}, func(_ context.Context, m *Message) error {
			mu.Lock()
			defer mu.Unlock()
			if string(m.Body) == "a1" && time.Since(began) < 5*time.Second {
				return errors.New("not yet")
			}
			list = append(list, string(m.Body))
			return nil
		})
		time.Sleep(3 * time.Second)
		mu.Lock()
		if !slices.Equal(list, []string{"b1", "b2"}) {
			t.Errorf("beside the key that fails: %v", list)
		}
		mu.Unlock()
		time.Sleep(20 * time.Second)
		must(t, cons.end())
		if len(list) != 12 || !slices.Equal(list[:5], []string{"b1", "b2", "a1", "a2", "panic"}) || !slices.Equal(list[7:10], []string{"exit", "exit2", "none"}) ||
			list[5] == list[6] || list[10] == list[11] {
			t.Errorf("handled %v", list)
		}
		err := r.client("d").Consume(t.Context(), ConsumerConfig{Group: "g", Topic: "t", KeyOf: keyOf}, func(context.Context, *Message) error { return nil })
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "KeyOf") {
			t.Errorf("KeyOf in queue order: %v", err)
		}
	})
}
