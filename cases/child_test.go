// SPDX-License-Identifier: Apache-2.0

//go:build cases

package cases

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/orderlymq/orderly/internal/testutil/proc"
)

// child is this process's end of a host.
type child struct {
	*proc.Process
	s     *scene
	name  string
	heard []news // and not asked for yet
}

// start runs a host process, which ends with the case at the latest.
func (s *scene) start(name string) *child {
	s.Helper()
	p, err := proc.Start(proc.Config{Name: "host " + name, Path: os.Args[0], Env: []string{hostVariable + "=" + name}})
	s.must(err)
	c := &child{Process: p, s: s, name: name}
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("the log of %s ends with\n%s", name, p.Log())
		}
		p.Kill()
	})
	return c
}

// consumer is a host with one consumer in it, of the same name.
func (s *scene) consumer(name, topic, group string) *child {
	s.Helper()
	c := s.start(name)
	c.consume(command{Name: name, Topic: topic, Group: group})
	c.await(name, "ready")
	return c
}

func (c *child) tell(cmd command) {
	c.s.Helper()
	line, err := json.Marshal(cmd)
	c.s.must(err)
	_, err = c.Write(append(line, '\n'))
	c.s.must(err)
}

// consume starts a consumer inside the host.
func (c *child) consume(cmd command) {
	c.s.Helper()
	cmd.ByKey = c.s.byKey
	cmd.Op, cmd.Namesrv, cmd.Recorder = "consume", c.s.srv.Namesrv, c.s.rec.Addr()
	c.tell(cmd)
}

// await returns the next news of the given kind about a consumer.
func (c *child) await(name, event string) news {
	c.s.Helper()
	ctx, cancel := context.WithTimeout(c.s.Context(), startLimit)
	defer cancel()
	for i, n := range c.heard {
		if n.Name == name && n.Event == event {
			c.heard = append(c.heard[:i], c.heard[i+1:]...)
			return n
		}
	}
	for {
		line, err := c.Line(ctx)
		if err != nil {
			c.s.Fatalf("%s, waiting for %s to be %s: %v", c.name, name, event, err)
		}
		var n news
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			c.s.Fatalf("%s said %q: %v", c.name, line, err)
		}
		if n.Error != "" {
			c.s.Fatalf("%s: %s %s: %s\n%s", c.name, n.Name, n.Event, n.Error, c.Log())
		}
		if n.Name == name && n.Event == event {
			return n
		}
		c.heard = append(c.heard, n)
	}
}

// stopConsumer ends one consumer cleanly.
func (c *child) stopConsumer(name string) {
	c.s.Helper()
	c.tell(command{Op: "stop", Name: name})
	c.await(name, "ended")
}

func (c *child) goroutines() int {
	c.s.Helper()
	c.tell(command{Op: "goroutines"})
	return c.await("", "goroutines").N
}

// kill ends the process with SIGKILL and records the death of the consumers.
func (c *child) kill(consumers ...string) time.Duration {
	c.Kill()
	for _, name := range consumers {
		c.s.rec.Killed(name)
	}
	return c.s.rec.Now()
}

// stop ends the process cleanly; anything but a clean end fails the case.
func (c *child) stop() {
	c.s.Helper()
	if err := c.Stop(stopLimit); err != nil {
		c.s.Errorf("%v", err)
	}
}
