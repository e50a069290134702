// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// steps are the first events in an order's life; later ones are numbered.
var steps = []string{"created", "paid", "packed", "shipped", "delivered"}

func step(seq int) string {
	if seq <= len(steps) {
		return steps[seq-1]
	}
	return "event-" + strconv.Itoa(seq)
}

// produce sends all messages, order by order in turn, at the wanted rate, and
// returns when every one is acknowledged or given up.
func produce(ctx context.Context, p *orderly.Producer, o Options, rec *record.Recorder) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var pending sync.WaitGroup
	defer pending.Wait()
	began := time.Now()
	for i := 0; i < o.Messages; {
		due := min(o.Messages, int(time.Since(began).Seconds()*float64(o.Rate))+1)
		for ; i < due; i++ {
			send(ctx, p, i, o, rec, &pending)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("demo: stopped after %d of %d messages: %w", i, o.Messages, context.Cause(ctx))
		}
	}
	return nil
}

func send(ctx context.Context, p *orderly.Producer, i int, o Options, rec *record.Recorder, pending *sync.WaitGroup) {
	key, seq := fmt.Sprintf("order-%03d", i%o.Orders), i/o.Orders+1
	m := &orderly.Message{
		Topic:       topic,
		OrderingKey: key,
		Tag:         step(seq),
		Keys:        []string{key},
		Properties:  map[string]string{"seq": strconv.Itoa(seq)},
		Body:        fmt.Appendf(nil, "%s was %s", key, step(seq)),
	}
	pending.Add(1)
	p.SendAsync(ctx, m, func(_ orderly.Receipt, err error) {
		defer pending.Done()
		if err != nil {
			o.Logger.Error("send", "key", key, "seq", seq, "error", err)
		}
		rec.Sent(check.Send{Key: key, Seq: seq, Acked: err == nil})
	})
}
