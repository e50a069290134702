// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/route"
	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// Bounds on what no case measures, so that nothing hangs.
const (
	startLimit = 20 * time.Second
	stopLimit  = 20 * time.Second
)

// scene is one round of a case: a server of its own, the record, and whoever
// speaks from this process.
type scene struct {
	*testing.T
	aCase
	round int
	dir   string
	srv   *proc.Server
	rec   *record.Recorder
	admin *admin.Client

	// script says what a handler call does; nil: succeed at once. To be set
	// before the first consumer starts.
	script func(record.Start) record.Act

	byKey bool // consumers run key lanes

	client   *orderly.Client
	producer *orderly.Producer
	unacked  atomic.Int64
}

func newScene(t *testing.T, c aCase, round int) *scene {
	t.Helper()
	s := &scene{T: t, aCase: c, round: round, dir: t.TempDir()}
	rec, err := record.New(t.Context(), func(st record.Start) record.Act {
		if s.script == nil {
			return record.Act{}
		}
		return s.script(st)
	})
	s.must(err)
	t.Cleanup(rec.Close)
	s.rec = rec
	s.startServer("127.0.0.1:0", "127.0.0.1:0")
	t.Cleanup(s.stopServer)
	s.admin, err = admin.Open(t.Context(), admin.Config{NameServers: []string{s.srv.Namesrv}})
	s.must(err)
	t.Cleanup(func() { _ = s.admin.Close() })
	s.client, s.producer = s.newProducer(orderly.Config{})
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// within is a context for one step.
func (s *scene) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), d)
	s.Cleanup(cancel)
	return ctx
}

func (s *scene) startServer(namesrv, broker string) {
	s.Helper()
	srv, err := proc.StartServer(s.within(startLimit), binary, namesrv, broker, s.dir)
	s.must(err)
	s.srv = srv
}

// stopServer ends the scene's server; its log is shown if the case failed.
func (s *scene) stopServer() {
	if err := s.srv.Stop(stopLimit); err != nil {
		s.Errorf("the server at the end: %v", err)
	}
	if s.Failed() {
		s.Logf("the server's log ends with\n%s", s.srv.Log())
	}
}

// newProducer opens a client with a producer that end with the case.
func (s *scene) newProducer(cfg orderly.Config) (*orderly.Client, *orderly.Producer) {
	s.Helper()
	cfg.NameServers = []string{s.srv.Namesrv}
	c, err := orderly.Open(s.Context(), cfg)
	s.must(err)
	s.Cleanup(func() { _ = c.Close() })
	p, err := c.NewProducer(orderly.ProducerConfig{})
	s.must(err)
	return c, p
}

// called gives a name that no other round has.
func (s *scene) called(part string) string {
	return fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(s.id, " ", "-"), s.round, part)
}

func (s *scene) createTopic(name string, queues int) {
	s.Helper()
	s.must(s.admin.CreateTopic(s.within(10*time.Second), admin.Topic{Name: name, Queues: queues, Ordered: true}))
}

// keyFor makes a key that the lane function puts in the given queue.
func keyFor(name string, queue, queues int) string {
	for i := 0; ; i++ {
		key := name + strconv.Itoa(i)
		if int(route.Lane(key))%queues == queue {
			return key
		}
	}
}

func message(topic, key string, seq int) *orderly.Message {
	return &orderly.Message{
		Topic: topic, OrderingKey: key, Body: fmt.Appendf(nil, "%s:%d", key, seq),
		Properties: map[string]string{"seq": strconv.Itoa(seq)},
	}
}

// send sends from:to of a key, each after the answer to the one before.
func (s *scene) send(topic, key string, from, to int) {
	s.Helper()
	for seq := from; seq <= to; seq++ {
		if _, err := s.producer.Send(s.Context(), message(topic, key, seq)); err != nil {
			s.Fatalf("send %s:%d: %v", key, seq, err)
		}
		s.rec.Sent(check.Send{Key: key, Seq: seq, Acked: true})
	}
}

// sendAsync sends one message and records its answer when it comes; then (which
// may be nil) runs after that.
func (s *scene) sendAsync(topic, key string, seq int, then func()) {
	s.unacked.Add(1)
	s.producer.SendAsync(s.Context(), message(topic, key, seq), func(_ orderly.Receipt, err error) {
		defer s.unacked.Add(-1)
		if err != nil {
			s.Errorf("send %s:%d: %v", key, seq, err)
		}
		s.rec.Sent(check.Send{Key: key, Seq: seq, Acked: err == nil})
		if then != nil {
			then()
		}
	})
}

// await fails the case if ok does not become true of the record in time.
func (s *scene) await(within time.Duration, what string, ok func(*record.State) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), within)
	defer cancel()
	if err := s.rec.Await(ctx, what, ok); err != nil {
		s.Fatalf("not within %v: %v\n%s", within, err, s.tellCalls())
	}
}

// handled is a condition: the messages from:to of a key were handled.
func handled(key string, from, to int) func(*record.State) bool {
	return func(st *record.State) bool {
		for seq := from; seq <= to; seq++ {
			if !st.Done[check.Message{Key: key, Seq: seq}] {
				return false
			}
		}
		return true
	}
}

// allHandled is a condition: whatever was acknowledged was handled.
func allHandled(st *record.State) bool {
	for _, m := range st.Sends {
		if m.Acked && !st.Done[check.Message{Key: m.Key, Seq: m.Seq}] {
			return false
		}
	}
	return true
}

// inside is a condition: a call for the message has begun and not ended.
func inside(key string, seq int) func(*record.State) bool {
	return func(st *record.State) bool {
		for _, c := range st.Calls {
			if c.Key == key && c.Seq == seq && c.Outcome == check.Open {
				return true
			}
		}
		return false
	}
}

// pause lets time pass: cases are about real time.
func (s *scene) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.Context().Done():
	}
}

// pauseUntil waits for a moment on the record's clock.
func (s *scene) pauseUntil(at time.Duration) { s.pause(at - s.rec.Now()) }

// contract checks O1 to O4 over the whole record.
func (s *scene) contract() check.Report {
	s.Helper()
	rep := check.Check(s.rec.History())
	if rep.Lost+rep.OutOfOrder+rep.Overlapping > 0 {
		s.Errorf("O1 to O4: %d lost, %d out of order, %d overlapping", rep.Lost, rep.OutOfOrder, rep.Overlapping)
		for _, f := range rep.Faults {
			s.Log(f)
		}
	}
	return rep
}

// noRepeats checks that nothing was handled twice.
func (s *scene) noRepeats(rep check.Report) {
	s.Helper()
	if rep.Repeated > 0 {
		s.Errorf("%d repeats: %q", rep.Repeated, rep.Faults)
	}
}

// callsOf are the calls for a key, in the order of their starts.
func (s *scene) callsOf(key string) []record.Call {
	var list []record.Call
	for _, c := range s.rec.Calls() {
		if c.Key == key {
			list = append(list, c)
		}
	}
	return list
}

// tellCalls lists the last calls, for failures.
func (s *scene) tellCalls() string {
	calls := s.rec.Calls()
	text := fmt.Sprintf("%d calls; the last of them:\n", len(calls))
	for _, c := range calls[max(0, len(calls)-20):] {
		text += tellCall(c)
	}
	return text
}

func tellCall(c record.Call) string {
	outcome := map[check.Outcome]string{check.Open: "open", check.Success: "ok", check.Failure: "failed"}[c.Outcome]
	return fmt.Sprintf("  %-12s %s:%d attempt %d fence %d offset %d  %v to %v %s\n",
		c.Consumer, c.Key, c.Seq, c.Attempt, c.Fence, c.Offset, c.Start.Round(time.Millisecond), c.End.Round(time.Millisecond), outcome)
}

// position is how far the group has come in a queue; -1 if it is not known.
func (s *scene) position(group, topic string, queue int) (int64, error) {
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	info, err := s.admin.Group(ctx, group)
	if err != nil {
		return 0, err
	}
	for _, q := range info.Queues {
		if q.Topic == topic && q.ID == queue {
			return q.Committed, nil
		}
	}
	return -1, nil
}

// queueID is the number at the end of a queue's name.
func queueID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
