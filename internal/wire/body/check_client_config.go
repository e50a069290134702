// SPDX-License-Identifier: Apache-2.0

package body

// CheckClientConfig is the body of CHECK_CLIENT_CONFIG 46, C to B: a consumer
// asks at its start whether the broker takes its expression. Java:
// CheckClientRequestBody.
type CheckClientConfig struct {
	ClientID     string
	Group        string
	Namespace    string // "" is absent
	Subscription SubscriptionData
}

// Encode returns the body.
func (c *CheckClientConfig) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *CheckClientConfig) Decode(data []byte) error { return decode("client check", data, c.read) }

func (c *CheckClientConfig) write(w *writer) {
	w.open('{')
	w.keyStr("clientId", c.ClientID)
	w.keyStr("group", c.Group)
	w.keyOpt("namespace", c.Namespace)
	w.key("subscriptionData")
	c.Subscription.write(w)
	w.close('}')
}

func (c *CheckClientConfig) read(r *reader) {
	*c = CheckClientConfig{}
	r.object(func(key string) {
		switch key {
		case "clientId":
			c.ClientID = r.str()
		case "group":
			c.Group = r.str()
		case "namespace":
			c.Namespace = r.str()
		case "subscriptionData":
			c.Subscription.read(r)
		}
	})
}
