// SPDX-License-Identifier: Apache-2.0

// Package orderly is a client for brokers that speak the Apache RocketMQ
// remoting protocol, with ordered messages as the first-class case.
//
// # What is promised
//
// For one ordering key in one ordered topic, for one consumer group:
//
//  1. Same lane. All messages of a key go to one queue for as long as the
//     topic's queue set stands. A broker that is down is waited for; a keyed
//     message never goes to another queue instead.
//  2. Same order. Messages are stored in the order of the sender's calls, or
//     a call fails and later sends of that key fail too, until the sender
//     says go on with [Producer.Resume].
//  3. One at a time. A message is not handed out before the one before it
//     has succeeded or was dead-lettered. Two handler calls for one key never
//     overlap, across processes too.
//  4. Nothing lost, nothing jumps. Only a nil error moves the position. An
//     error, a panic, runtime.Goexit or a time-out means: again, in place.
//
// docs/ordering.md holds the whole contract with its assumptions. Against a
// stock Apache RocketMQ cluster items 1, 2 and 4 hold as said; item 3 is as
// good as that broker's queue locks.
//
// # Use
//
// One [Client] per process is enough; producers and consumers share its
// connections. A [Producer] takes messages, the key is a field:
//
//	receipt, err := producer.Send(ctx, &orderly.Message{
//		Topic: "orders", OrderingKey: "order-42", Tag: "paid", Body: body,
//	})
//
// A consumer is one blocking call; it returns after the last handler call
// has ended, its position is committed and its queues are given back:
//
//	err := client.Consume(ctx, orderly.ConsumerConfig{Group: "billing", Topic: "orders"},
//		func(ctx context.Context, m *orderly.Message) error {
//			return apply(ctx, m)
//		})
//
// The package keeps no global state, writes no files (a broadcasting
// consumer's positions apart, where its caller says), logs only to the logger
// it is given, and leaves no goroutine after [Client.Close].
package orderly
