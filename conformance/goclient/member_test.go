// SPDX-License-Identifier: Apache-2.0

package goclient

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// memberVariable makes this test binary a member of a group: name server,
// topic, group, name and recorder, separated by spaces.
const memberVariable = "ORDERLY_STOCK_MEMBER"

func TestMain(m *testing.M) {
	if args := os.Getenv(memberVariable); args != "" {
		if err := beMember(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beMember runs the official orderly consumer until its standard input ends,
// and then shuts it down.
func beMember(args []string) error {
	namesrv, topic, group, name, recorder := args[0], args[1], args[2], args[3], args[4]
	rlog.SetLogLevel("error")
	rep := record.NewReporter()
	ctx, hush := context.WithCancel(context.Background())
	defer hush()
	var wg sync.WaitGroup
	wg.Go(func() { _ = rep.Run(ctx, recorder, name) })
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		consumer.WithGroupName(group),
		consumer.WithInstance(name),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(true),
	)
	if err != nil {
		return err
	}
	var over atomic.Bool
	err = c.Subscribe(topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			seq, _ := strconv.Atoi(m.GetProperty("seq"))
			s := record.Start{
				Key: m.GetProperty("key"), Seq: seq, Attempt: int(m.ReconsumeTimes) + 1,
				Queue: strconv.Itoa(m.Queue.QueueId), Offset: m.QueueOffset,
			}
			if err := rep.Handle(ctx, s); err != nil && !over.Load() {
				return consumer.SuspendCurrentQueueAMoment, err
			}
		}
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = c.Shutdown()
	time.Sleep(100 * time.Millisecond) // handlers that still run report their end
	over.Store(true)
	hush()
	wg.Wait()
	fmt.Println("ended")
	return err
}

// member starts the official consumer as a process of its own.
func (b *bed) member(name string) *proc.Process {
	b.Helper()
	p, err := proc.Start(proc.Config{
		Name: name, Path: os.Args[0],
		Env: []string{memberVariable + "=" + strings.Join([]string{b.srv.NamesrvAddr(), b.topic, b.group, name, b.rec.Addr()}, " ")},
	})
	b.must(err)
	b.Cleanup(func() {
		p.Kill()
		if b.Failed() {
			b.Logf("%s ends with\n%s", name, p.Log())
		}
	})
	b.hear(p, "ready")
	return p
}

func (b *bed) hear(p *proc.Process, want string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	if line, err := p.Line(ctx); err != nil || line != want {
		b.Fatalf("line %q, error %v, want %q\n%s", line, err, want, p.Log())
	}
}
