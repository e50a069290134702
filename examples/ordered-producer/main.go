// SPDX-License-Identifier: Apache-2.0

// Ordered-producer sends 100 messages of a few orders. A queue selector sends
// all messages of an order to one queue, which is what keeps them in order.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/orderlymq/orderly"
)

func main() {
	namesrv := flag.String("namesrv", "127.0.0.1:9876", "name servers, separated by ';'")
	topic := flag.String("topic", "TopicTest", "topic to send to")
	orders := flag.Int("orders", 10, "number of orders")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *namesrv, *topic, *orders); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, namesrv, topic string, orders int) error {
	client, err := orderly.Open(ctx, orderly.Config{NameServers: []string{namesrv}})
	if err != nil {
		return err
	}
	defer client.Close()
	producer, err := client.NewProducer(orderly.ProducerConfig{Group: "please_rename_unique_group_name"})
	if err != nil {
		return err
	}
	tags := []string{"TagA", "TagB", "TagC", "TagD", "TagE"}
	for i := range 100 {
		orderID := i % orders
		receipt, err := producer.Send(ctx, &orderly.Message{
			Topic:       topic,
			Tag:         tags[i%len(tags)],
			Keys:        []string{fmt.Sprint("KEY", i)},
			Body:        fmt.Append(nil, "order ", orderID, " message ", i),
			Selector:    byOrder,
			SelectorArg: orderID,
		})
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		fmt.Printf("sent message=%d order=%d queue=%d offset=%d\n", i, orderID, receipt.Queue.ID, receipt.Offset)
	}
	return nil
}

// byOrder is RocketMQ's classic selector: the order's number, modulo the number
// of queues.
func byOrder(queues []orderly.Queue, _ *orderly.Message, arg any) orderly.Queue {
	return queues[arg.(int)%len(queues)]
}
