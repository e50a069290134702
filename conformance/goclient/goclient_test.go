// SPDX-License-Identifier: Apache-2.0

package goclient

import (
	"testing"

	"github.com/orderlymq/orderly/admin"
)

const (
	keys     = 20
	messages = 400
)

func TestStockProducerAndStockOrderlyConsumer(t *testing.T) {
	t.Parallel()
	srv := server(t)
	createTopic(t, srv, admin.Topic{Name: "stock-orderly", Queues: 4, Ordered: true})
	sendStock(t, stockProducer(t, srv), "stock-orderly", keys, messages)
	rec := newSights()
	c := stockConsumer(t, srv, t.Name(), "stock-orderly-group", "stock-orderly", true, rec)
	rec.await(t, messages)
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
	rec.inOrder(t, keys, messages)
}

func TestStockProducerAndStockConcurrentConsumer(t *testing.T) {
	t.Parallel()
	srv := server(t)
	createTopic(t, srv, admin.Topic{Name: "stock-concurrent", Queues: 4})
	sendStock(t, stockProducer(t, srv), "stock-concurrent", keys, messages)
	rec := newSights()
	c := stockConsumer(t, srv, t.Name(), "stock-concurrent-group", "stock-concurrent", false, rec)
	rec.await(t, messages)
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
}

func TestStockProducerCreatesItsTopicByTheFirstSend(t *testing.T) {
	t.Parallel()
	srv := server(t)
	sendStock(t, stockProducer(t, srv), "auto-created", keys, keys)
	rec := newSights()
	c := stockConsumer(t, srv, t.Name(), "auto-created-group", "auto-created", false, rec)
	rec.await(t, keys)
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
}

func TestOurProducerAndStockOrderlyConsumer(t *testing.T) {
	t.Parallel()
	srv := server(t)
	createTopic(t, srv, admin.Topic{Name: "ours-to-stock", Queues: 4, Ordered: true})
	sendOurs(t, srv, "ours-to-stock", keys, messages)
	rec := newSights()
	c := stockConsumer(t, srv, t.Name(), "ours-to-stock-group", "ours-to-stock", true, rec)
	rec.await(t, messages)
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
	rec.inOrder(t, keys, messages)
}

func TestStockProducerAndOurConsumer(t *testing.T) {
	t.Parallel()
	srv := server(t)
	createTopic(t, srv, admin.Topic{Name: "stock-to-ours", Queues: 4, Ordered: true})
	rec := newSights()
	stop := consumeOurs(t, srv, "ours", "stock-to-ours-group", "stock-to-ours", rec)
	sendStock(t, stockProducer(t, srv), "stock-to-ours", keys, messages)
	rec.await(t, messages)
	stop()
	rec.inOrder(t, keys, messages)
}

// TestStockAndOurConsumerShareAGroup has one member of each kind; both are to
// get queues and each key's messages stay in order across them.
func TestStockAndOurConsumerShareAGroup(t *testing.T) {
	t.Parallel()
	srv := server(t)
	createTopic(t, srv, admin.Topic{Name: "shared", Queues: 4, Ordered: true})
	rec := newSights()
	c := stockConsumer(t, srv, t.Name(), "shared-group", "shared", true, rec)
	stop := consumeOurs(t, srv, "ours", "shared-group", "shared", rec)
	sendStock(t, stockProducer(t, srv), "shared", keys, messages)
	rec.await(t, messages)
	stop()
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
	rec.inOrderFirstSights(t, keys)
}
