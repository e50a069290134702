// SPDX-License-Identifier: Apache-2.0

package orderly

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/orderlymq/orderly/internal/check"
)

// chaos is a run of keyed sends and a group of consumers through faults, all
// recorded on one clock and judged at the end.
type chaos struct {
	t     *testing.T
	r     *realCluster
	rnd   *rand.Rand
	start time.Time
	order Order

	mu      sync.Mutex
	history check.History
	dead    map[string]bool
	members []*chaosMember
	made    int
}

type chaosMember struct {
	name string
	run  *running
}

// TestChaos runs seeds of simulated trouble: members killed, cut off both ways
// and one way, links reset, the broker restarted, handlers that fail, panic and
// dawdle. ORDERLY_SEEDS=n runs n seeds.
func TestChaos(t *testing.T) {
	seeds := 6
	if n, err := strconv.Atoi(os.Getenv("ORDERLY_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		order := ByQueue
		if seed%2 == 1 {
			order = ByKey
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inRealBubble(t, 4, func(t *testing.T, r *realCluster) {
				c := &chaos{
					t: t, r: r, rnd: rand.New(rand.NewPCG(uint64(seed), 7)), start: time.Now(), order: order, dead: map[string]bool{},
				}
				c.play()
			})
		})
	}
}

func (c *chaos) now() time.Duration { return time.Since(c.start) }

func (c *chaos) play() {
	for range 3 {
		c.join()
	}
	time.Sleep(2 * time.Second)
	producer := newProducer(c.t, c.r.client("p"), ProducerConfig{})
	var sending sync.WaitGroup
	sending.Go(func() { c.send(producer) })
	for range 6 {
		time.Sleep(time.Duration(1000+c.rnd.IntN(4000)) * time.Millisecond)
		c.fault()
	}
	c.r.net.HealAll()
	sending.Wait()
	must(c.t, producer.Close(c.t.Context()))
	time.Sleep(40 * time.Second) // room for the slowest take-over and all retries
	for _, m := range c.members {
		m.run.stop()
	}
	for _, m := range c.members {
		if err := <-m.run.ended; err != nil {
			c.t.Errorf("member %s: %v", m.name, err)
		}
	}
	c.judge()
}

func (c *chaos) judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.End = c.now()
	rep := check.Check(c.history)
	c.t.Logf("sent %d, handled %d, repeated %d, kills %d", rep.Sent, rep.Handled, rep.Repeated, len(c.history.Kills))
	if rep.Lost > 0 || rep.OutOfOrder > 0 || rep.Overlapping > 0 || rep.Handled == 0 {
		c.t.Errorf("lost %d, out of order %d, overlapping %d: %v", rep.Lost, rep.OutOfOrder, rep.Overlapping, rep.Faults)
	}
}

// send sends 20 messages a second for 20 keys.
func (c *chaos) send(p *Producer) {
	var done sync.WaitGroup
	for i := range 500 {
		k, seq := fmt.Sprint("k", i%20), i/20+1
		c.mu.Lock()
		at := len(c.history.Sends)
		c.history.Sends = append(c.history.Sends, check.Send{Key: k, Seq: seq})
		c.mu.Unlock()
		done.Add(1)
		p.SendAsync(context.Background(), &Message{Topic: "t", OrderingKey: k, Body: fmt.Append(nil, seq)}, func(_ Receipt, err error) {
			defer done.Done()
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.history.Sends[at].Acked = err == nil; err != nil {
				c.t.Errorf("send %s:%d: %v", k, seq, err)
			}
		})
		time.Sleep(50 * time.Millisecond)
	}
	done.Wait()
}

// join starts one more member on a host of its own.
func (c *chaos) join() {
	c.made++
	name := fmt.Sprint("c", c.made)
	client, err := Open(context.Background(), c.r.config(name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { must(c.t, client.Close()) })
	seed := rand.New(rand.NewPCG(c.rnd.Uint64(), 1))
	var mu sync.Mutex
	dice := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return seed.IntN(n)
	}
	run := consume(c.t, client, ConsumerConfig{Order: c.order, Backoff: func(int) time.Duration { return 50 * time.Millisecond }},
		func(ctx context.Context, m *Message) error { return c.handle(ctx, name, m, dice) })
	c.members = append(c.members, &chaosMember{name: name, run: run})
}

func (c *chaos) isDead(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead[name]
}

// handle is the handler of one member. What a dead one does nobody sees.
func (c *chaos) handle(ctx context.Context, name string, m *Message, dice func(int) int) error {
	seq, _ := strconv.Atoi(string(m.Body))
	c.mu.Lock()
	if c.dead[name] {
		c.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	at := len(c.history.Calls)
	c.history.Calls = append(c.history.Calls, check.Call{Consumer: name, Key: m.OrderingKey, Seq: seq, Start: c.now()})
	c.mu.Unlock()
	var err error
	select {
	case <-time.After(time.Duration(dice(30)) * time.Millisecond):
		if dice(20) == 0 {
			err = errors.New("odd")
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.mu.Lock()
	if !c.dead[name] {
		call := &c.history.Calls[at]
		call.End, call.Outcome = c.now(), check.Success
		if err != nil {
			call.Outcome = check.Failure
		}
	}
	c.mu.Unlock()
	if err != nil && dice(2) == 0 {
		panic(err)
	}
	return err
}

// fault does something to somebody.
func (c *chaos) fault() {
	var living []*chaosMember
	for _, m := range c.members {
		if !c.isDead(m.name) {
			living = append(living, m)
		}
	}
	who := living[c.rnd.IntN(len(living))]
	span := time.Duration(100+c.rnd.IntN(12000)) * time.Millisecond
	switch kind := c.rnd.IntN(7); kind {
	case 0, 1:
		c.t.Logf("%v kill %s", c.now(), who.name)
		c.kill(who)
		c.join()
	case 2:
		c.t.Logf("%v cut off %s for %v", c.now(), who.name, span)
		c.r.net.Cut(who.name, brokerHost)
		c.heal(who, span)
	case 3:
		c.t.Logf("%v nothing from %s for %v", c.now(), who.name, span)
		c.r.net.Block(who.name, brokerHost)
		c.heal(who, span)
	case 4:
		c.t.Logf("%v nothing to %s for %v", c.now(), who.name, span)
		c.r.net.Block(brokerHost, who.name)
		c.heal(who, span)
	case 5:
		c.t.Logf("%v reset %s", c.now(), who.name)
		c.r.net.Reset(who.name, brokerHost)
		c.r.net.Reset("p", brokerHost)
	case 6:
		c.t.Logf("%v restart the broker in %v", c.now(), span/6)
		c.r.stopBroker()
		time.Sleep(span / 6)
		c.r.startBroker()
	}
}

func (c *chaos) heal(m *chaosMember, after time.Duration) {
	time.AfterFunc(after, func() {
		c.r.net.Heal(m.name, brokerHost)
	})
}

func (c *chaos) kill(m *chaosMember) {
	c.mu.Lock()
	c.dead[m.name] = true
	c.history.Kills = append(c.history.Kills, check.Kill{Consumer: m.name, At: c.now()})
	c.mu.Unlock()
	c.r.kill(m.name)
}
