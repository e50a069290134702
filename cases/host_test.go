// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// hostVariable makes this test binary a host: a process that runs consumers as
// its standard input says and ends when that ends or SIGTERM comes.
const hostVariable = "ORDERLY_CASES_HOST"

// command is one line for a host.
type command struct {
	Op string `json:"op"` // consume, stop, goroutines

	// Of consume; Name also of stop.
	Name        string            `json:"name,omitempty"` // in the record
	Namesrv     string            `json:"namesrv,omitempty"`
	Recorder    string            `json:"recorder,omitempty"`
	Topic       string            `json:"topic,omitempty"`
	Group       string            `json:"group,omitempty"`
	ByKey       bool              `json:"by_key,omitempty"`
	FromLast    bool              `json:"from_last,omitempty"`
	Workers     int               `json:"workers,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Via         map[string]string `json:"via,omitempty"` // address -> proxy
}

// news is one line from a host.
type news struct {
	Name  string `json:"name,omitempty"`
	Event string `json:"event"` // ready, ended, goroutines
	N     int    `json:"n,omitempty"`
	Error string `json:"error,omitempty"`
}

// theHost is the state of a host process.
type theHost struct {
	ctx  context.Context // ends all consumers
	wg   sync.WaitGroup
	mu   sync.Mutex
	out  *json.Encoder
	stop map[string]context.CancelFunc
	bad  bool
}

func beHost() int {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	h := &theHost{ctx: ctx, out: json.NewEncoder(os.Stdout), stop: map[string]context.CancelFunc{}}
	go func() { // ends with the process: a read of standard input cannot be interrupted
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var c command
			if err := json.Unmarshal(in.Bytes(), &c); err != nil {
				h.say(news{Event: "ended", Error: err.Error()})
				break
			}
			h.obey(c)
		}
		cancel()
	}()
	<-ctx.Done()
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bad {
		return 1
	}
	return 0
}

func (h *theHost) say(n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bad = h.bad || n.Error != ""
	_ = h.out.Encode(n)
}

func (h *theHost) obey(c command) {
	switch c.Op {
	case "consume":
		ctx, cancel := context.WithCancel(h.ctx)
		h.mu.Lock()
		h.stop[c.Name] = cancel
		h.mu.Unlock()
		h.wg.Go(func() {
			defer cancel()
			text := ""
			if err := h.consume(ctx, c); err != nil {
				text = cmp.Or(err.Error(), "unknown error")
			}
			h.say(news{Name: c.Name, Event: "ended", Error: text})
		})
	case "stop":
		h.mu.Lock()
		cancel := h.stop[c.Name]
		delete(h.stop, c.Name)
		h.mu.Unlock()
		cancel()
	case "goroutines":
		h.say(news{Event: "goroutines", N: runtime.NumGoroutine()})
	}
}

// consume is the whole life of a consumer.
func (h *theHost) consume(ctx context.Context, c command) error {
	rep := record.NewReporter()
	// The reporter outlives ctx, so that the last calls can report their end.
	repCtx, hush := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer hush()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lost error
	wg.Go(func() {
		if lost = rep.Run(repCtx, c.Recorder, c.Name); lost != nil {
			cancel()
		}
	})
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("consumer", c.Name)
	client, err := orderly.Open(ctx, orderly.Config{NameServers: []string{c.Namesrv}, Dial: dialVia(c.Via), Logger: log})
	if err != nil {
		return err
	}
	err = client.Consume(ctx, h.config(repCtx, c, rep), handler(repCtx, rep))
	err = errors.Join(err, client.Close())
	hush()
	wg.Wait()
	return errors.Join(err, lost)
}

func (h *theHost) config(repCtx context.Context, c command, rep *record.Reporter) orderly.ConsumerConfig {
	var held held
	cfg := orderly.ConsumerConfig{
		Group: c.Group, Topic: c.Topic, Concurrency: c.Workers, MaxAttempts: c.MaxAttempts,
		Ready:    func() { h.say(news{Name: c.Name, Event: "ready"}) },
		OnAssign: func(qs []orderly.Queue) { _ = rep.Queues(repCtx, held.change(qs, true)) },
		OnRevoke: func(qs []orderly.Queue) { _ = rep.Queues(repCtx, held.change(qs, false)) },
	}
	if c.ByKey {
		cfg.Order = orderly.ByKey
	}
	if c.FromLast {
		cfg.Start = orderly.FromLast()
	}
	return cfg
}

// handler reports each call and does what the record's script says.
func handler(repCtx context.Context, rep *record.Reporter) orderly.Handler {
	return func(_ context.Context, m *orderly.Message) error {
		seq, err := strconv.Atoi(m.Properties["seq"])
		if err != nil {
			return fmt.Errorf("message without number: %w", err)
		}
		return rep.Handle(repCtx, record.Start{
			Key: m.OrderingKey, Seq: seq, Attempt: m.Attempt, Fence: m.Fence, Queue: m.Queue.String(), Offset: m.Offset,
		})
	}
}

// dialVia dials a proxy instead of the address it stands for.
func dialVia(via map[string]string) func(context.Context, string, string) (net.Conn, error) {
	if len(via) == 0 {
		return nil
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, cmp.Or(via[addr], addr))
	}
}

// held counts the queues that a consumer owns.
type held struct {
	mu     sync.Mutex
	queues map[orderly.Queue]bool
}

func (h *held) change(qs []orderly.Queue, own bool) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queues == nil {
		h.queues = map[orderly.Queue]bool{}
	}
	for _, q := range qs {
		if own {
			h.queues[q] = true
		} else {
			delete(h.queues, q)
		}
	}
	return len(h.queues)
}
