// SPDX-License-Identifier: Apache-2.0

package orderly_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/orderlymq/orderly"
	"github.com/orderlymq/orderly/embed"
)

// startServer runs a name server and a broker in this process and opens a
// client of them. A program of your own names the servers it has.
func startServer() (*orderly.Client, func()) {
	dir, err := os.MkdirTemp("", "orderly")
	check(err)
	server, err := embed.Start(context.Background(), embed.Config{
		NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: dir, SegmentSize: 16 << 20,
	})
	check(err)
	client, err := orderly.Open(context.Background(), orderly.Config{NameServers: []string{server.NamesrvAddr()}})
	check(err)
	return client, func() {
		check(client.Close())
		check(server.Close(context.Background()))
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// sendOrders sends what happens to two orders.
func sendOrders(client *orderly.Client, topic string) {
	producer, err := client.NewProducer(orderly.ProducerConfig{})
	check(err)
	for _, event := range []string{"created", "paid", "shipped"} {
		for _, order := range []string{"order-1", "order-2"} {
			_, err := producer.Send(context.Background(), &orderly.Message{
				Topic: topic, OrderingKey: order, Tag: event, Body: []byte(event),
			})
			check(err)
		}
	}
}

func ExampleProducer_Send() {
	client, stop := startServer()
	defer stop()
	ctx := context.Background()

	producer, err := client.NewProducer(orderly.ProducerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	// Messages of one ordering key are stored in the order of these calls.
	for _, event := range []string{"created", "paid", "shipped"} {
		receipt, err := producer.Send(ctx, &orderly.Message{
			Topic: "orders", OrderingKey: "order-42", Tag: event, Body: []byte(event),
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event, "at offset", receipt.Offset)
	}
	// Output:
	// created at offset 0
	// paid at offset 1
	// shipped at offset 2
}

func ExampleProducer_SendAsync() {
	client, stop := startServer()
	defer stop()
	ctx := context.Background()

	producer, err := client.NewProducer(orderly.ProducerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	offsets := make(chan int64, 3)
	for _, event := range []string{"created", "paid", "shipped"} {
		message := &orderly.Message{Topic: "orders", OrderingKey: "order-42", Body: []byte(event)}
		producer.SendAsync(ctx, message, func(receipt orderly.Receipt, err error) {
			if err != nil {
				log.Fatal(err)
			}
			offsets <- receipt.Offset
		})
	}
	fmt.Println(<-offsets, <-offsets, <-offsets)
	// Output:
	// 0 1 2
}

// A message that cannot be sent stops its key, so that nothing overtakes it.
func ExampleProducer_Resume() {
	client, stop := startServer()
	defer stop()
	ctx := context.Background()

	producer, err := client.NewProducer(orderly.ProducerConfig{MaxMessageSize: 100})
	if err != nil {
		log.Fatal(err)
	}
	send := func(body string) error {
		_, err := producer.Send(ctx, &orderly.Message{Topic: "orders", OrderingKey: "order-42", Body: []byte(body)})
		return err
	}
	fmt.Println("too large:", errors.Is(send(strings.Repeat("x", 200)), orderly.ErrTooLarge))
	fmt.Println("stopped:", errors.Is(send("paid"), orderly.ErrKeyStopped))
	producer.Resume("orders", "order-42") // the order can do without that message
	fmt.Println("after Resume:", send("paid"))
	// Output:
	// too large: true
	// stopped: true
	// after Resume: <nil>
}

// A selector of your own places messages, as RocketMQ's MessageQueueSelector
// does.
func ExampleQueueSelector() {
	client, stop := startServer()
	defer stop()
	ctx := context.Background()

	byOrder := func(queues []orderly.Queue, _ *orderly.Message, arg any) orderly.Queue {
		return queues[arg.(int)%len(queues)]
	}
	producer, err := client.NewProducer(orderly.ProducerConfig{Selector: byOrder})
	if err != nil {
		log.Fatal(err)
	}
	for order := range 6 {
		receipt, err := producer.Send(ctx, &orderly.Message{Topic: "orders", Body: []byte("created"), SelectorArg: order})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(receipt.Queue.ID, " ")
	}
	// Output:
	// 0 1 2 3 0 1
}

func ExampleClient_Consume() {
	client, stop := startServer()
	defer stop()
	sendOrders(client, "orders")

	// A program ends its consumers by a signal: signal.NotifyContext.
	ctx, cancel := context.WithCancel(context.Background())
	events := map[string][]string{}
	failed, handled := false, 0
	err := client.Consume(ctx, orderly.ConsumerConfig{
		Group:       "billing",
		Topic:       "orders",
		Concurrency: 1, // for the map; without it the calls of different queues overlap
	}, func(ctx context.Context, m *orderly.Message) error {
		if string(m.Body) == "paid" && !failed {
			failed = true
			return errors.New("the bank does not answer") // the same message again, in place
		}
		events[m.OrderingKey] = append(events[m.OrderingKey], fmt.Sprintf("%s(%d)", m.Body, m.Attempt))
		if handled++; handled == 6 {
			cancel()
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(events["order-1"]), len(events["order-2"]))
	fmt.Println(strings.Join(events["order-1"], " ") != strings.Join(events["order-2"], " ")) // one was paid at the second attempt
	// Output:
	// 3 3
	// true
}

func ExampleClient_Consume_filter() {
	client, stop := startServer()
	defer stop()
	sendOrders(client, "orders")

	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan string, 4)
	err := client.Consume(ctx, orderly.ConsumerConfig{
		Group:  "shipping",
		Topic:  "orders",
		Filter: orderly.Tags("paid || shipped"),
		Start:  orderly.FromFirst(),
	}, func(_ context.Context, m *orderly.Message) error {
		seen <- m.OrderingKey + " " + m.Tag
		if len(seen) == cap(seen) {
			cancel()
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	close(seen)
	for s := range seen {
		if strings.HasPrefix(s, "order-1") {
			fmt.Println(s)
		}
	}
	// Output:
	// order-1 paid
	// order-1 shipped
}

func ExampleClient_ConsumeBatch() {
	client, stop := startServer()
	defer stop()
	sendOrders(client, "orders")

	ctx, cancel := context.WithCancel(context.Background())
	total := 0
	err := client.ConsumeBatch(ctx, orderly.ConsumerConfig{
		Group: "audit", Topic: "orders", MaxBatch: 32, Concurrency: 1,
	}, func(ctx context.Context, ms []*orderly.Message) (done int, err error) {
		for i := range ms {
			if err := ctx.Err(); err != nil {
				return i, err // i messages are done, the others come again
			}
			total++
		}
		if total == 6 {
			cancel()
		}
		return len(ms), nil
	})
	fmt.Println(total, err)
	// Output:
	// 6 <nil>
}

// Manual commit, with all four outcomes: a change log whose transactions span
// messages is applied transaction by transaction.
func ExampleClient_ConsumeManual() {
	client, stop := startServer()
	defer stop()
	producer, err := client.NewProducer(orderly.ProducerConfig{})
	check(err)
	for _, entry := range []string{"begin", "a=1", "commit", "begin", "b=2", "commit"} {
		_, err := producer.Send(context.Background(), &orderly.Message{Topic: "changes", OrderingKey: "table", Body: []byte(entry)})
		check(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	var open []string
	suspended, rolledBack := false, false
	err = client.ConsumeManual(ctx, orderly.ConsumerConfig{
		Group: "replica", Topic: "changes",
		Backoff: func(int) time.Duration { return 10 * time.Millisecond },
	}, func(_ context.Context, ms []*orderly.Message) (orderly.Decision, error) {
		entry := string(ms[0].Body)
		if entry == "a=1" && !suspended {
			suspended = true
			fmt.Println("suspend")
			return 0, orderly.RetryAfter(50*time.Millisecond, nil) // this message again, a little later
		}
		open = append(open, entry)
		switch {
		case entry != "commit":
			return orderly.Hold, nil
		case len(open) == 3 && open[1] == "b=2" && !rolledBack:
			rolledBack, open = true, nil
			fmt.Println("roll back")
			return orderly.Rollback, nil // the whole transaction again
		}
		fmt.Println("commit", open)
		if open[1] == "b=2" {
			cancel()
		}
		open = nil
		return orderly.Commit, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// suspend
	// commit [begin a=1 commit]
	// roll back
	// commit [begin b=2 commit]
}

// A pull consumer asks for messages when it is ready for them, and says itself
// what is done.
func ExampleClient_NewPullConsumer() {
	client, stop := startServer()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	producer, err := client.NewProducer(orderly.ProducerConfig{})
	check(err)
	for _, event := range []string{"opened", "paid", "closed"} {
		_, err = producer.Send(ctx, &orderly.Message{Topic: "accounts", OrderingKey: "a-1", Body: []byte(event)})
		check(err)
	}

	consumer, err := client.NewPullConsumer(orderly.PullConsumerConfig{Group: "ledger", AutoCommit: -1})
	check(err)
	check(consumer.Subscribe(ctx, "accounts", orderly.Tags()))
	for n := 0; n < 3; {
		messages, err := consumer.Poll(ctx, 10)
		check(err)
		for _, m := range messages {
			fmt.Println(m.OrderingKey, string(m.Body))
		}
		check(consumer.Commit(ctx)) // what was printed does not come again
		n += len(messages)
	}
	check(consumer.Close())
	// Output:
	// a-1 opened
	// a-1 paid
	// a-1 closed
}

// Asynchronous sends of a key are stored in the order of the calls; Flush waits
// for all of them.
func ExampleProducer_Flush() {
	client, stop := startServer()
	defer stop()
	producer, err := client.NewProducer(orderly.ProducerConfig{})
	check(err)
	ctx := context.Background()
	for _, event := range []string{"opened", "paid", "closed"} {
		m := &orderly.Message{Topic: "accounts", OrderingKey: "a-1", Body: []byte(event)}
		producer.SendAsync(ctx, m, func(r orderly.Receipt, err error) {
			check(err)
			fmt.Println(event, "is at", r.Offset)
		})
	}
	check(producer.Flush(ctx))
	// Output:
	// opened is at 0
	// paid is at 1
	// closed is at 2
}
