// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A key that fails for a while may not fill the memory of its queue: what waits
// behind it is dropped and read again. In the end everything has come, each
// key in order, and the others did not wait.
func TestStuckKeyIsReadAgain(t *testing.T) {
	const messages, stuckFor = 100, 10 * time.Second
	keys := []string{"stuck", "a", "b"}
	inRealBubble(t, 1, func(t *testing.T, r *realCluster) {
		p := newProducer(t, r.client("p"), ProducerConfig{})
		for i := range messages {
			for _, key := range keys {
				_, err := p.Send(t.Context(), &Message{Topic: "t", OrderingKey: key, Body: fmt.Append(nil, i)})
				must(t, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		type done struct {
			key, body string
			at        time.Duration
		}
		handled := make(chan done, 2*messages*len(keys))
		cfg := ConsumerConfig{Group: "g", Topic: "t", Order: ByKey, MaxCached: 20}
		must(t, r.client("c").Consume(ctx, cfg, func(_ context.Context, m *Message) error {
			at := time.Since(began)
			if m.OrderingKey == "stuck" && at < stuckFor {
				return errors.New("not yet")
			}
			handled <- done{m.OrderingKey, string(m.Body), at}
			return nil
		}))
		close(handled)
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprint(i))
		}
		got := map[string][]string{}
		for d := range handled {
			got[d.key] = append(got[d.key], d.body)
			if d.key != "stuck" && d.at >= stuckFor {
				t.Errorf("message %s of key %s waited for the stuck key: %v", d.body, d.key, d.at)
			}
		}
		for _, key := range keys {
			if !slices.Equal(got[key], want) {
				t.Errorf("key %s: %d messages: %v", key, len(got[key]), got[key])
			}
		}
	})
}
