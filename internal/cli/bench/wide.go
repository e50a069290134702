// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/embed"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

// workers is how many create, send and commit at once.
const workers = 8

func wideTopic(i int) string { return fmt.Sprintf("scale-%05d", i) }
func wideGroup(i int) string { return fmt.Sprintf("scale-group-%05d", i) }

func wide(ctx context.Context, t Target, o ScaleOptions) (r WideResult, err error) {
	s, err := t.open(ctx)
	if err != nil {
		return r, err
	}
	defer s.closeInto(&err)
	r = WideResult{Disk: t.Mode(), Topics: o.Topics, Groups: o.Topics, Queues: o.Topics * o.Queues, Empty: s.process()}
	began := time.Now()
	if err := s.createMany(ctx, o); err != nil {
		return r, err
	}
	r.CreateSeconds = since(began)
	began = time.Now()
	if err := s.fillMany(ctx, o); err != nil {
		return r, err
	}
	r.FillSeconds, r.Filled = since(began), s.process()
	if err := s.client.Close(); err != nil {
		return r, err
	}
	if err := s.again(ctx, s.stop); err != nil {
		return r, err
	}
	r.Restarted = s.process()
	if err := s.again(ctx, func() error { s.kill(); return nil }); err != nil {
		return r, err
	}
	r.Killed = s.process()
	if err := s.stop(); err != nil {
		return r, err
	}
	r.RSSPerQueue = round2(float64(r.Restarted.RSS-r.Empty.RSS) / float64(r.Queues))
	heap, err := heapOf(ctx, s.data(), filepath.Join(s.dir, "empty"))
	r.HeapPerQueue = round2(float64(heap) / float64(r.Queues))
	return r, err
}

// again ends the server and starts it on the same data.
func (s *server) again(ctx context.Context, end func() error) error {
	if err := end(); err != nil {
		return err
	}
	return s.run(ctx)
}

// each calls f for 0 to n-1, several at once, until one fails.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (s *server) createMany(ctx context.Context, o ScaleOptions) error {
	a, err := admin.Open(ctx, admin.Config{NameServers: []string{s.namesrv}, Logger: s.t.Logger, RequestTimeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer a.Close()
	return each(ctx, o.Topics, func(ctx context.Context, i int) error {
		if err := a.CreateTopic(ctx, admin.Topic{Name: wideTopic(i), Queues: o.Queues, Ordered: true}); err != nil {
			return err
		}
		return a.CreateGroup(ctx, admin.Group{Name: wideGroup(i)})
	})
}

// fillMany sends a message to each queue and commits it for the topic's group.
func (s *server) fillMany(ctx context.Context, o ScaleOptions) error {
	p, err := s.client.NewProducer(orderly.ProducerConfig{
		Selector: func(queues []orderly.Queue, _ *orderly.Message, arg any) orderly.Queue {
			return queues[arg.(int)%len(queues)]
		},
	})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close(ctx) }()
	err = each(ctx, o.Topics*o.Queues, func(ctx context.Context, i int) error {
		_, err := p.Send(ctx, &orderly.Message{Topic: wideTopic(i / o.Queues), Body: []byte("one"), SelectorArg: i % o.Queues})
		return err
	})
	if err != nil {
		return fmt.Errorf("bench: send to each queue: %w", err)
	}
	return s.commitMany(ctx, o)
}

// groupsOfConn keeps a connection below the number of groups that a broker lets
// it take part in.
const groupsOfConn = 50

// commitMany commits as RocketMQ's tools do, which are written in Java: at once,
// for no member of the groups is there.
func (s *server) commitMany(ctx context.Context, o ScaleOptions) error {
	err := each(ctx, (o.Topics+groupsOfConn-1)/groupsOfConn, func(ctx context.Context, part int) error {
		conn, err := (&transport.Dialer{Logger: s.t.Logger}).Connect(ctx, s.proc.Broker)
		if err != nil {
			return err
		}
		defer conn.Close(nil)
		for i := part * groupsOfConn; i < min((part+1)*groupsOfConn, o.Topics); i++ {
			for q := range o.Queues {
				if err := commit(ctx, conn, i, q); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bench: commit each queue: %w", err)
	}
	return nil
}

func commit(ctx context.Context, conn *transport.Conn, i, queue int) error {
	cmd := wire.NewRequest(wire.ReqUpdateConsumerOffset, &header.UpdateConsumerOffset{
		ConsumerGroup: wideGroup(i), Topic: wideTopic(i), QueueID: int32(queue), CommitOffset: 1,
	}, nil)
	cmd.Language = wire.LanguageJava
	resp, err := conn.Call(ctx, cmd)
	if err == nil && resp.Code != wire.Success {
		err = fmt.Errorf("%s: %s", wire.ResponseName(resp.Code), resp.Remark)
	}
	return err
}

// heapOf runs both servers in this process, one after the other, and returns
// the difference of their live memory.
func heapOf(ctx context.Context, full, empty string) (int64, error) {
	var heaps [2]int64
	for i, dir := range []string{empty, full} {
		srv, err := embed.Start(ctx, embed.Config{NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: dir})
		if err != nil {
			return 0, err
		}
		heaps[i] = liveHeap()
		if err := srv.Close(ctx); err != nil {
			return 0, err
		}
	}
	return heaps[1] - heaps[0], nil
}
