// SPDX-License-Identifier: Apache-2.0

package body

// ConsumeMessageDirectlyResult is the answer to CONSUME_MESSAGE_DIRECTLY 309.
// Java: ConsumeMessageDirectlyResult. The Go client writes the result as a
// number.
type ConsumeMessageDirectlyResult struct {
	Order          bool
	AutoCommit     bool
	ConsumeResult  string // ResultSuccess, ...
	Remark         string // "" is absent
	SpentTimeMills int64  // spelled so
}

// Encode returns the body.
func (c *ConsumeMessageDirectlyResult) Encode() []byte { return encode(c.write) }

// Decode reads the body.
func (c *ConsumeMessageDirectlyResult) Decode(data []byte) error {
	return decode("result of a direct consumption", data, c.read)
}

func (c *ConsumeMessageDirectlyResult) write(w *writer) {
	w.open('{')
	w.keyBool("autoCommit", c.AutoCommit)
	w.keyOpt("consumeResult", c.ConsumeResult)
	w.keyBool("order", c.Order)
	w.keyOpt("remark", c.Remark)
	w.keyInt("spentTimeMills", c.SpentTimeMills)
	w.close('}')
}

func (c *ConsumeMessageDirectlyResult) read(r *reader) {
	*c = ConsumeMessageDirectlyResult{AutoCommit: true}
	r.object(func(key string) {
		switch key {
		case "order":
			c.Order = r.bool()
		case "autoCommit":
			c.AutoCommit = r.bool()
		case "consumeResult":
			c.ConsumeResult = r.enum(consumeResults())
		case "remark":
			c.Remark = r.str()
		case "spentTimeMills":
			c.SpentTimeMills = r.int64()
		}
	})
}
