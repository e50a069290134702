// SPDX-License-Identifier: Apache-2.0

package body

// QuerySubscription is the answer to QUERY_SUBSCRIPTION_BY_CONSUMER 345. Java:
// QuerySubscriptionResponseBody.
type QuerySubscription struct {
	Group        string
	Topic        string
	Subscription *SubscriptionData // nil: none
}

// Encode returns the body.
func (q *QuerySubscription) Encode() []byte { return encode(q.write) }

// Decode reads the body.
func (q *QuerySubscription) Decode(data []byte) error { return decode("subscription", data, q.read) }

func (q *QuerySubscription) write(w *writer) {
	w.open('{')
	w.keyStr("group", q.Group)
	writeSubscription(w, q.Subscription)
	w.keyStr("topic", q.Topic)
	w.close('}')
}

func writeSubscription(w *writer, s *SubscriptionData) {
	if s != nil {
		w.key("subscriptionData")
		s.write(w)
	}
}

func readSubscription(r *reader) *SubscriptionData {
	if r.isNull() {
		return nil
	}
	s := new(SubscriptionData)
	s.read(r)
	return s
}

func (q *QuerySubscription) read(r *reader) {
	*q = QuerySubscription{}
	r.object(func(key string) {
		switch key {
		case "group":
			q.Group = r.str()
		case "topic":
			q.Topic = r.str()
		case "subscriptionData":
			q.Subscription = readSubscription(r)
		}
	})
}
