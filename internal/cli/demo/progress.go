// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/orderlymq/orderly/internal/testutil/record"
)

// showProgress draws the bars of sent and handled messages until ctx ends.
func showProgress(ctx context.Context, w io.Writer, total int, rec *record.Recorder) {
	if w == nil {
		return
	}
	bars := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	holders := decor.Any(func(decor.Statistics) string {
		_, _, queues := rec.Counts()
		return "  queues " + describe(queues)
	})
	sent := bars.AddBar(int64(total), mpb.PrependDecorators(decor.Name("sent    "), decor.CountersNoUnit("%5d / %d")))
	handled := bars.AddBar(int64(total), mpb.PrependDecorators(decor.Name("handled "), decor.CountersNoUnit("%5d / %d")),
		mpb.AppendDecorators(holders))
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s, h, _ := rec.Counts()
		sent.SetCurrent(int64(s))
		handled.SetCurrent(int64(h))
		select {
		case <-tick.C:
		case <-ctx.Done():
			s, h, _ = rec.Counts()
			sent.SetCurrent(int64(s))
			handled.SetCurrent(int64(h))
			sent.Abort(false)
			handled.Abort(false)
			bars.Wait()
			return
		}
	}
}

// describe lists who holds how many queues.
func describe(queues map[string]int) string {
	var names []string
	for name := range queues {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s:%d", name, queues[name])
	}
	return strings.Join(names, " ")
}
