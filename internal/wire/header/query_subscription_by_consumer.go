// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// QuerySubscriptionByConsumer is QUERY_SUBSCRIPTION_BY_CONSUMER 345, A to B.
// Java: QuerySubscriptionByConsumerRequestHeader. The answer is
// body.QuerySubscription.
type QuerySubscriptionByConsumer struct {
	Group string
	Topic string
}

// Encode appends the fields.
func (h *QuerySubscriptionByConsumer) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("group", h.Group)
	w.str("topic", h.Topic)
	w.done()
}

// Decode reads the fields.
func (h *QuerySubscriptionByConsumer) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = QuerySubscriptionByConsumer{
		Group: r.str("group"),
		Topic: r.str("topic"),
	}
	return r.err
}
