// SPDX-License-Identifier: Apache-2.0

package header

import "github.com/orderlymq/orderly/internal/wire"

// GetRouteInfo is GET_ROUTEINFO_BY_TOPIC 105, C to N. Java:
// GetRouteInfoRequestHeader. The answer is body.TopicRouteData, strict JSON if
// asked for here or if the frame's version is VersionStrictJSON or above.
type GetRouteInfo struct {
	Topic                  string
	AcceptStandardJSONOnly Opt[bool]
}

// Encode appends the fields.
func (h *GetRouteInfo) Encode(f *wire.Fields) {
	var w writer
	w.begin(f, 2)
	w.str("topic", h.Topic)
	w.optBool("acceptStandardJsonOnly", h.AcceptStandardJSONOnly)
	w.done()
}

// Decode reads the fields.
func (h *GetRouteInfo) Decode(f wire.Fields) error {
	r := reader{f: f}
	*h = GetRouteInfo{
		Topic:                  r.str("topic"),
		AcceptStandardJSONOnly: r.optBool("acceptStandardJsonOnly"),
	}
	return r.err
}
