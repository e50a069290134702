// SPDX-License-Identifier: Apache-2.0

// Ordered-consumer prints the messages of ordered-producer that have one of
// three tags, each order in the order of sending.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/orderlymq/orderly"
)

func main() {
	namesrv := flag.String("namesrv", "127.0.0.1:9876", "name servers, separated by ';'")
	topic := flag.String("topic", "TopicTest", "topic to consume")
	group := flag.String("group", "please_rename_unique_group_name_3", "consumer group")
	count := flag.Int64("n", 0, "end after so many messages; 0: when interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *namesrv, *topic, *group, *count); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, namesrv, topic, group string, count int64) error {
	client, err := orderly.Open(ctx, orderly.Config{NameServers: []string{namesrv}})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var handled atomic.Int64
	return client.Consume(ctx, orderly.ConsumerConfig{
		Group:  group,
		Topic:  topic,
		Filter: orderly.Tags("TagA || TagC || TagD"),
		Start:  orderly.FromFirst(),
	}, func(_ context.Context, m *orderly.Message) error {
		// One call of a queue at a time, so what is printed is in order.
		fmt.Printf("received queue=%d offset=%d tag=%s body=%q\n", m.Queue.ID, m.Offset, m.Tag, m.Body)
		if handled.Add(1) == count {
			stop()
		}
		return nil
	})
}
