// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/admin"
	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/testutil/proc"
	"github.com/orderlymq/orderly/internal/testutil/record"
)

const (
	keys     = 20
	messages = 2000
	queues   = 8
)

// ordered is an ordered topic that places keys as SelectMessageQueueByHash does.
func ordered(name string) admin.Topic {
	return admin.Topic{Name: name, Queues: queues, Ordered: true, LaneFunction: "java-string"}
}

// produce runs a Java producer to its end.
func (b *bed) produce(mode, topic string, messages int) {
	b.Helper()
	finish(b.T, b.producer(mode, topic, messages), 2*time.Minute)
}

func (b *bed) producer(mode, topic string, messages int) *proc.Process {
	b.Helper()
	return peer(b.T, mode+" producer", "produce", b.srv.NamesrvAddr(), mode, topic, strconv.Itoa(keys), strconv.Itoa(messages))
}

// TestJavaProducers sends in each way that the client has, with its selector by
// hash; each key's messages have to arrive in order.
func TestJavaProducers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync", "async", "oneway", "batch"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			topic := "java-" + mode
			b.createTopic(ordered(topic))
			b.ours(topic, "ours", "ours")
			p := b.producer(mode, topic, messages)
			b.produced(keys, messages)
			b.await(60*time.Second, "all to arrive", handled(messages))
			b.must(p.CloseInput())
			finish(t, p, stopLimit)
			b.inOrder()
		})
	}
}

func TestJavaOrderlyConsumer(t *testing.T) {
	t.Parallel()
	for _, producer := range []string{"java", "ours"} {
		t.Run("messages of "+producer, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.createTopic(ordered("orderly"))
			c := b.javaConsumer("orderly", "orderly", "java-group", "java")
			if producer == "java" {
				b.produce("sync", "orderly", messages)
			} else {
				sendOurs(b, "orderly", messages)
			}
			b.produced(keys, messages)
			b.await(60*time.Second, "all to arrive", handled(messages))
			b.end(c)
			b.inOrder()
		})
	}
}

// TestJavaOrderlyConsumerRetriesInPlace has the handler suspend the queue on
// the first sight of some messages.
func TestJavaOrderlyConsumerRetriesInPlace(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(s record.Start) record.Act {
		if s.Seq == 3 && s.Attempt == 1 {
			return record.Act{End: record.Fail}
		}
		return record.Act{}
	})
	b.createTopic(ordered("suspend"))
	c := b.javaConsumer("orderly", "suspend", "java-group", "java")
	b.produce("sync", "suspend", 200)
	b.produced(keys, 200)
	b.await(60*time.Second, "all to arrive", handled(200))
	b.end(c)
	b.inOrder()
	if n := len(b.rec.Calls()); n != 200+keys {
		t.Errorf("%d handler calls, want one more for each of %d keys", n, keys)
	}
}

func TestJavaConcurrentConsumer(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(s record.Start) record.Act {
		if s.Seq == 3 && s.Attempt == 1 && s.Key == "k1" {
			return record.Act{End: record.Fail} // comes again through the retry topic
		}
		return record.Act{}
	})
	b.createTopic(admin.Topic{Name: "concurrent", Queues: queues})
	c := b.javaConsumer("concurrent", "concurrent", "java-group", "java")
	b.produce("sync", "concurrent", messages)
	b.await(60*time.Second, "all to arrive", handled(messages))
	b.end(c)
	again := slices.DeleteFunc(b.rec.Calls(), func(c record.Call) bool { return c.Key != "k1" || c.Seq != 3 })
	if len(again) != 2 || again[1].Attempt != 2 || again[1].Start-again[0].End < 9*time.Second {
		t.Errorf("the failed message was handed out %+v, want a second time after 10 s", again)
	}
}

// TestJavaConcurrentBesideOurs: a concurrent member of each client in one group
// share the queues, and a failed message comes again to either, ten seconds
// later. It may have come from any queue.
func TestJavaConcurrentBesideOurs(t *testing.T) {
	t.Parallel()
	fails := func(seq int) bool { return seq%25 == 3 }
	b := newBed(t, func(s record.Start) record.Act {
		if fails(int(s.Seq)) && s.Attempt == 1 {
			return record.Act{End: record.Fail}
		}
		return record.Act{}
	})
	b.createTopic(admin.Topic{Name: "beside", Queues: queues})
	java := b.javaConsumer("concurrent", "beside", "beside-group", "java")
	stop := b.oursBy(orderly.Unordered, "beside", "beside-group", "ours")
	sending := b.sendSteadily("beside")
	b.await(startLimit, "the Java member to get messages", handledBy("java"))
	b.await(startLimit, "ours to get messages", handledBy("ours"))
	b.await(startLimit, "some to be sent", handled(20*keys))
	sending()
	b.await(90*time.Second, "all to be handled", allHandled)
	b.end(java)
	stop()
	again, failed := 0, 0
	for _, c := range b.rec.Calls() {
		switch {
		case c.Attempt > 1:
			again++
		case fails(int(c.Seq)):
			failed++
		}
	}
	if failed == 0 || again != failed {
		t.Errorf("%d messages failed and %d came again", failed, again)
	}
}

// TestJavaDecodesOurRecords reads the commit log with the Java client's decoder
// and with ours.
func TestJavaDecodesOurRecords(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.createTopic(ordered("records"))
	b.produce("sync", "records", 100*keys) // some are compressed
	b.produce("batch", "records", 10*keys)
	sendOurs(b, "records", keys)
	records := logOf(t, b.dir)
	file := filepath.Join(t.TempDir(), "records")
	b.must(os.WriteFile(file, records, 0o600))
	got := finish(t, peer(t, "decoder", "decode", file), time.Minute)
	want := describe(t, records)
	if len(want) != 111*keys {
		t.Errorf("the log holds %d records", len(want))
	}
	if len(got) != len(want) {
		t.Fatalf("Java found %d records, we %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("record %d:\nJava %s\nours %s", i, got[i], want[i])
		}
	}
}

// logOf is the records of the only segment of a commit log.
func logOf(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "commitlog", "*"))
	if len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(dir, "commitlog", "*"))
	}
	if err != nil || len(files) == 0 {
		t.Fatalf("no commit log below %s: %v", dir, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for {
		_, n, err := msg.ParseView(text[end:])
		if err != nil {
			return text[:end]
		}
		end += n
	}
}

// describe decodes records into the lines that the Java side prints. Java clears
// the flag of a body that it has decompressed.
func describe(t *testing.T, records []byte) (lines []string) {
	t.Helper()
	var codec msg.Codec
	for len(records) > 0 {
		m, n, err := msg.DecodeRecord(records)
		if err != nil {
			t.Fatal(err)
		}
		records = records[n:]
		body := m.Body
		if how := msg.CompressionOf(m.SysFlag); how != msg.None {
			if body, err = codec.Decompress(body, how, 4<<20); err != nil {
				t.Fatal(err)
			}
		}
		var properties []string
		for k, v := range msg.ParseProperties(m.Properties) {
			properties = append(properties, k+"="+v+";")
		}
		slices.Sort(properties)
		lines = append(lines, strings.Join([]string{
			m.Topic, fmt.Sprint(m.QueueID), fmt.Sprint(m.QueueOffset), fmt.Sprint(m.PhysicalOffset), fmt.Sprint(m.StoreSize),
			fmt.Sprint(m.Flag), fmt.Sprint(m.SysFlag &^ msg.FlagCompressed), fmt.Sprint(m.BornTimestamp), fmt.Sprint(m.StoreTimestamp),
			m.BornHost.String(), m.StoreHost.String(), fmt.Sprint(m.ReconsumeTimes),
			msg.OffsetID(m.StoreHost, m.PhysicalOffset), strings.Join(properties, ""), hex.EncodeToString(body),
		}, "\t"))
	}
	return lines
}

// sendOurs sends messages of keys k0.. in turn with Orderly's producer.
func sendOurs(b *bed, topic string, messages int) {
	b.Helper()
	c, err := orderly.Open(b.Context(), orderly.Config{NameServers: []string{b.srv.NamesrvAddr()}})
	b.must(err)
	defer c.Close()
	p, err := c.NewProducer(orderly.ProducerConfig{})
	b.must(err)
	defer p.Close(context.WithoutCancel(b.Context()))
	for i := range messages {
		p.SendAsync(b.Context(), message(topic, i%keys, i/keys+1), func(_ orderly.Receipt, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
}

func message(topic string, k, seq int) *orderly.Message {
	key := "k" + strconv.Itoa(k)
	return &orderly.Message{
		Topic: topic, OrderingKey: key, Tag: "TagA", Body: fmt.Appendf(nil, "%s:%d", key, seq),
		Properties: map[string]string{"key": key, "seq": strconv.Itoa(seq)},
	}
}
