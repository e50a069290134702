// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/check"
	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

// Bounds on the story's parts, so that no run hangs.
const (
	startLimit = 15 * time.Second
	stopLimit  = 10 * time.Second
)

// The server's configuration: small log files, for after a kill the rest of the
// file being written is read through.
const (
	confName = "broker.conf"
	conf     = "mappedFileSizeCommitLog=16777216\n"
)

// Run plays the whole story and returns its proof. An error means that it
// could not be played to its end; a broken contract is no error but a proof
// that is not OK.
func Run(ctx context.Context, o Options) (Proof, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Proof{}, err
	}
	dir, err := os.MkdirTemp("", "orderly-demo-")
	if err != nil {
		return Proof{}, fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, confName), []byte(conf), 0o600); err != nil {
		return Proof{}, fmt.Errorf("demo: %w", err)
	}
	rec, err := record.New(ctx, nil)
	if err != nil {
		return Proof{}, err
	}
	defer rec.Close()
	s := &story{Options: o, dir: dir, rec: rec, consumers: map[string]*proc.Process{}}
	defer s.end()
	if err := s.play(ctx); err != nil {
		return Proof{}, err
	}
	h := rec.History()
	h.Outages = s.outages
	return newProof(h, o, s.victim), nil
}

// story is the run in progress: who is alive.
type story struct {
	Options
	dir       string
	rec       *record.Recorder
	server    *proc.Server
	consumers map[string]*proc.Process
	victim    string
	outages   []check.Outage
}

func (s *story) play(ctx context.Context) error {
	if err := s.startServer(ctx, "127.0.0.1:0", "127.0.0.1:0"); err != nil {
		return err
	}
	if err := s.createTopic(ctx); err != nil {
		return err
	}
	for _, name := range []string{"c1", "c2", "c3"} {
		if err := s.startConsumer(name, s.faultOf(name)); err != nil {
			return err
		}
	}
	if err := s.awaitAssignment(ctx); err != nil {
		return err
	}
	c, err := orderly.Open(ctx, orderly.Config{NameServers: []string{s.server.Namesrv}, Logger: s.Logger})
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.NewProducer(orderly.ProducerConfig{})
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { showProgress(ctx, s.Progress, s.Messages, s.rec) })
	produced := make(chan error, 1)
	wg.Go(func() { produced <- produce(ctx, p, s.Options, s.rec) })

	if err := s.killings(ctx); err != nil {
		return err
	}
	if err := <-produced; err != nil {
		return err
	}
	if err := s.awaitHandled(ctx); err != nil {
		return err
	}
	return s.stopConsumers()
}

// faultOf gives the fault to the first consumer, which is then spared.
func (s *story) faultOf(name string) Fault {
	if name == "c1" {
		return s.Fault
	}
	return NoFault
}

func (s *story) startServer(ctx context.Context, namesrv, broker string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	server, err := proc.StartServer(ctx, s.Self, namesrv, broker, filepath.Join(s.dir, "data"), "--config", filepath.Join(s.dir, confName))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	s.server = server
	s.Logger.Info("server is ready", "namesrv", server.Namesrv, "broker", server.Broker)
	return nil
}

func (s *story) createTopic(ctx context.Context) error {
	a, err := admin.Open(ctx, admin.Config{NameServers: []string{s.server.Namesrv}, Logger: s.Logger})
	if err != nil {
		return err
	}
	defer a.Close()
	return a.CreateTopic(ctx, admin.Topic{Name: topic, Queues: s.Queues, Ordered: true})
}

func (s *story) startConsumer(name string, f Fault) error {
	p, err := proc.Start(proc.Config{Name: "consumer " + name, Path: s.Self, Args: []string{
		"demo-consumer", "--name", name, "--namesrv", s.server.Namesrv, "--recorder", s.rec.Addr(), "--fault", string(f),
	}})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	s.consumers[name] = p
	s.Logger.Info("consumer started", "consumer", name)
	return nil
}

// awaitAssignment waits until the queues are shared out among the consumers,
// so that the kill finds its victim early.
func (s *story) awaitAssignment(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return s.poll(ctx, "the consumers have not got their queues", func() bool {
		_, _, queues := s.rec.Counts()
		all, least := 0, s.Queues
		for name := range s.consumers {
			all += queues[name]
			least = min(least, queues[name])
		}
		return all == s.Queues && (least >= s.Queues/len(s.consumers))
	})
}

// killings kills one consumer, with more than 40 % still unsent, and starts
// another; half way through, the server too if that was asked for.
func (s *story) killings(ctx context.Context) error {
	if err := s.awaitSent(ctx, s.Messages/4); err != nil {
		return err
	}
	spare := ""
	if s.Fault != NoFault {
		spare = "c1"
	}
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	victim, err := s.rec.Catch(limit, func(c record.Start, queues int) bool { return queues >= 2 && c.Consumer != spare })
	if err != nil {
		return err
	}
	s.consumers[victim].Kill()
	s.rec.Killed(victim)
	delete(s.consumers, victim)
	s.victim = victim
	sent, _, _ := s.rec.Counts()
	s.Logger.Info("consumer killed inside a handler", "consumer", victim, "sent", sent)
	if sent > s.Messages*6/10 {
		return fmt.Errorf("demo: the consumer was killed too late: %d of %d messages were sent", sent, s.Messages)
	}
	if err := s.startConsumer("c4", NoFault); err != nil {
		return err
	}
	if !s.KillBroker {
		return nil
	}
	if err := s.awaitSent(ctx, s.Messages/2); err != nil {
		return err
	}
	down := check.Outage{From: s.rec.Now()}
	s.server.Kill()
	s.Logger.Info("server killed")
	err = s.startServer(ctx, s.server.Namesrv, s.server.Broker)
	down.To = s.rec.Now()
	s.outages = append(s.outages, down)
	return err
}

func (s *story) awaitSent(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(n/s.Rate+1)*time.Second+30*time.Second)
	defer cancel()
	return s.poll(ctx, "sending has stalled", func() bool {
		sent, _, _ := s.rec.Counts()
		return sent >= n
	})
}

// awaitHandled waits until everything is handled, or nothing has happened for
// the quiet time.
func (s *story) awaitHandled(ctx context.Context) error {
	quiet := time.NewTimer(s.Quiet)
	defer quiet.Stop()
	for {
		changed := s.rec.Changed()
		if _, handled, _ := s.rec.Counts(); handled >= s.Messages {
			return nil
		}
		if err := s.alive(); err != nil {
			return err
		}
		select {
		case <-changed:
			quiet.Reset(s.Quiet)
		case <-quiet.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// alive returns an error if a child that should live has ended.
func (s *story) alive() error {
	err := s.server.Exited()
	for _, p := range s.consumers {
		err = errors.Join(err, p.Exited())
	}
	return err
}

func (s *story) stopConsumers() error {
	var errs []error
	for name, p := range s.consumers {
		errs = append(errs, p.Stop(stopLimit))
		delete(s.consumers, name)
	}
	return errors.Join(errs...)
}

// end kills whoever is left.
func (s *story) end() {
	for _, p := range s.consumers {
		p.Kill()
	}
	if s.server != nil {
		_ = s.server.Stop(stopLimit)
	}
}

// poll waits until ok holds, looking often.
func (s *story) poll(ctx context.Context, what string, ok func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if err := s.alive(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("demo: %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}
