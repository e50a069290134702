// SPDX-License-Identifier: Apache-2.0

package header

import (
	"strconv"
	"strings"
	"time"

	"github.com/orderlymq/orderly/internal/wire"
)

// GroupPolicy is what a group asks of failed messages and of handlers that do
// not end, in the answer to 34. The zero value asks for nothing.
type GroupPolicy struct {
	MaxAttempts int32           // 0: without end
	Poison      string          // block, dead-letter, park; as AttrPoison
	Backoff     []time.Duration // whole milliseconds
	MaxHandler  time.Duration   // whole milliseconds
	Overrun     string          // keep, release; as AttrOverrun
}

// EncodePolicies appends "group=attempts/poison/ms,ms/maxHandlerMs/overrun;..."
// for the groups, which are parallel to the policies.
func EncodePolicies(f *wire.Fields, groups []string, policies []GroupPolicy) {
	if len(groups) == 0 {
		return
	}
	items := make([]string, len(groups))
	for i, p := range policies {
		pauses := make([]string, len(p.Backoff))
		for j, d := range p.Backoff {
			pauses[j] = strconv.FormatInt(d.Milliseconds(), 10)
		}
		items[i] = groups[i] + "=" + strings.Join([]string{
			strconv.FormatInt(int64(p.MaxAttempts), 10), p.Poison, strings.Join(pauses, ","),
			strconv.FormatInt(p.MaxHandler.Milliseconds(), 10), p.Overrun,
		}, "/")
	}
	f.Add(ExtPolicies, strings.Join(items, ";"))
}

// DecodePolicies reads what EncodePolicies wrote; absent is none.
func DecodePolicies(f wire.Fields) (map[string]GroupPolicy, error) {
	text := f.Value(ExtPolicies)
	var policies map[string]GroupPolicy
	for text != "" {
		var item string
		item, text, _ = strings.Cut(text, ";")
		group, fields, _ := strings.Cut(item, "=")
		p, ok := parsePolicy(strings.Split(fields, "/"))
		if group == "" || !ok {
			return nil, &FieldError{Field: ExtPolicies, Value: item, Want: "group=attempts/poison/ms,ms/maxHandlerMs/overrun"}
		}
		if policies == nil {
			policies = map[string]GroupPolicy{}
		}
		policies[group] = p
	}
	return policies, nil
}

func parsePolicy(fields []string) (p GroupPolicy, ok bool) {
	if len(fields) < 5 { // a later broker may say more
		return p, false
	}
	n, err := strconv.ParseUint(fields[0], 10, 31)
	if err != nil {
		return p, false
	}
	p.MaxAttempts, p.Poison, p.Overrun = int32(n), fields[1], fields[4]
	if fields[2] != "" {
		for item := range strings.SplitSeq(fields[2], ",") {
			d, err := parseMillis(item)
			if err != nil {
				return p, false
			}
			p.Backoff = append(p.Backoff, d)
		}
	}
	p.MaxHandler, err = parseMillis(fields[3])
	return p, err == nil
}
