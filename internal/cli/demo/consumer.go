// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// ConsumerOptions is what a consumer process is told by its parent.
type ConsumerOptions struct {
	Name     string // of the consumer, in the record
	Namesrv  string
	Recorder string // address of the parent's recorder
	Fault    Fault
	Logger   *slog.Logger
}

// Consume is the whole life of a consumer process: it joins the group and
// reports each handler call until ctx ends, then leaves cleanly.
func Consume(ctx context.Context, o ConsumerOptions) error {
	rep := record.NewReporter()
	// The reporter outlives ctx, so that the last calls can report their end.
	repCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	lost := make(chan error, 1)
	consumeCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wg.Go(func() {
		err := rep.Run(repCtx, o.Recorder, o.Name)
		if err != nil {
			cancel(err)
		}
		lost <- err
	})

	c, err := orderly.Open(ctx, orderly.Config{NameServers: []string{o.Namesrv}, Logger: o.Logger})
	if err != nil {
		return err
	}
	defer c.Close()
	h := handler{rep: rep, fault: faulty{kind: o.Fault}}
	var held held
	err = c.Consume(consumeCtx, orderly.ConsumerConfig{
		Group: group,
		Topic: topic,
		OnAssign: func(qs []orderly.Queue) {
			if err := rep.Queues(repCtx, held.add(qs)); err != nil {
				o.Logger.Warn("report queues", "error", err)
			}
		},
		OnRevoke: func(qs []orderly.Queue) {
			if err := rep.Queues(repCtx, held.remove(qs)); err != nil {
				o.Logger.Warn("report queues", "error", err)
			}
		},
	}, h.handle)
	stop()
	if lostErr := <-lost; err == nil {
		err = lostErr
	}
	return err
}

// held counts the queues that this consumer owns.
type held struct {
	mu     sync.Mutex
	queues map[orderly.Queue]bool
}

func (h *held) add(qs []orderly.Queue) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queues == nil {
		h.queues = map[orderly.Queue]bool{}
	}
	for _, q := range qs {
		h.queues[q] = true
	}
	return len(h.queues)
}

func (h *held) remove(qs []orderly.Queue) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range qs {
		delete(h.queues, q)
	}
	return len(h.queues)
}

// handler is the work on one message: it takes 5 to 20 ms.
type handler struct {
	rep   *record.Reporter
	fault faulty
}

func (h *handler) handle(ctx context.Context, m *orderly.Message) error {
	seq, err := strconv.Atoi(m.Properties["seq"])
	if err != nil {
		return orderly.DeadLetter(fmt.Errorf("demo: message without number: %w", err))
	}
	if h.fault.kind != NoFault {
		if done, err := h.fault.strike(ctx, h.rep, m, seq); done {
			return err
		}
	}
	return work(ctx, h.rep, m, seq)
}

func work(ctx context.Context, rep *record.Reporter, m *orderly.Message, seq int) error {
	// Once it is asked for, a start may be on record, so its answer is waited for
	// whatever becomes of ctx: a call that nobody ends would stay open for ever.
	call, _, err := rep.Start(context.WithoutCancel(ctx), start(m, seq))
	if err != nil {
		return err
	}
	if err := pause(ctx, workTime(m.OrderingKey, seq)); err != nil {
		return fail(ctx, rep, call, err)
	}
	return rep.End(context.WithoutCancel(ctx), call, false)
}

func start(m *orderly.Message, seq int) record.Start {
	return record.Start{Key: m.OrderingKey, Seq: seq, Queue: m.Queue.String(), Offset: m.Offset}
}

// fail reports that a call ended without success, whatever ended it, and
// returns err.
func fail(ctx context.Context, rep *record.Reporter, call int, err error) error {
	return errors.Join(err, rep.End(context.WithoutCancel(ctx), call, true))
}

// workTime is 5 to 20 ms, more often short than long, and the same for a
// message whoever handles it.
func workTime(key string, seq int) time.Duration {
	f := fnv.New32a()
	fmt.Fprintf(f, "%s/%d", key, seq)
	part := float64(f.Sum32()%1001) / 1000
	return 5*time.Millisecond + time.Duration(15*part*part*float64(time.Millisecond))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
