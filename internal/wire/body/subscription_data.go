// SPDX-License-Identifier: Apache-2.0

package body

// SubscriptionData is what a consumer wants of one topic.
type SubscriptionData struct {
	Topic           string
	SubString       string   // the expression; "*" is everything
	TagsSet         []string // of a TAG expression
	CodeSet         []int32  // hashes of the tags
	SubVersion      int64    // ms from Java, ns from Go; newer is larger
	ExpressionType  string
	ClassFilterMode bool
}

func (s *SubscriptionData) write(w *writer) {
	w.open('{')
	w.keyBool("classFilterMode", s.ClassFilterMode)
	w.key("codeSet")
	w.open('[')
	for _, c := range s.CodeSet {
		w.int(int64(c))
	}
	w.close(']')
	w.keyStr("expressionType", orDefault(s.ExpressionType, ExpressionTag))
	w.keyOpt("subString", s.SubString)
	w.keyInt("subVersion", s.SubVersion)
	w.keyStrings("tagsSet", s.TagsSet)
	w.keyOpt("topic", s.Topic)
	w.close('}')
}

func (s *SubscriptionData) read(r *reader) {
	*s = SubscriptionData{ExpressionType: ExpressionTag}
	r.object(func(key string) {
		switch key {
		case "topic":
			s.Topic = r.str()
		case "subString":
			s.SubString = r.str()
		case "tagsSet":
			s.TagsSet = r.strings()
		case "codeSet": // the Go client writes texts
			s.CodeSet = []int32{}
			r.array(func() { s.CodeSet = append(s.CodeSet, r.int32()) })
		case "subVersion":
			s.SubVersion = r.int64()
		case "expressionType":
			s.ExpressionType = orDefault(r.str(), ExpressionTag)
		case "classFilterMode":
			s.ClassFilterMode = r.bool()
		}
	})
}
