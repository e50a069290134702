// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestVerb(t *testing.T) {
	for _, h := range []header.Verb{{}, {Verb: header.VerbRetry, Topic: "T", Queue: 3, Offset: 1 << 40}, {Verb: header.VerbRelease, Topic: "T"}} {
		var f wire.Fields
		h.Encode(&f)
		got := header.Verb{Verb: "x"}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("%+v: got %+v, %v", h, got, err)
		}
	}
	good := []string{"oVerb", "park", "oVerbTopic", "T", "oVerbQueue", "0", "oVerbOffset", "0"}
	for i, tt := range []struct{ value, field string }{
		1: {"burn", "oVerb"}, 3: {"", ""}, 5: {"-1", "oVerbQueue"}, 7: {"x", "oVerbOffset"},
	} {
		if tt.field == "" {
			continue
		}
		bad := append([]string(nil), good...)
		bad[i] = tt.value
		if err := new(header.Verb).Decode(fields(bad...)); !isFieldError(err, tt.field) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := new(header.Verb).Decode(fields(good[:4]...)); !isFieldError(err, "oVerbQueue") {
		t.Errorf("without a queue: %v", err)
	}
}
