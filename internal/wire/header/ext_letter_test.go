// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"strings"
	"testing"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestLetter(t *testing.T) {
	for _, h := range []header.Letter{{}, {Given: true}, {Given: true, Queue: 3, Offset: 1 << 40, Attempts: 16, Cause: "no account\n"}} {
		var f wire.Fields
		h.Encode(&f)
		got := header.Letter{Attempts: 9}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("%+v: got %+v, %v", h, got, err)
		}
	}
	for _, tt := range []struct{ queue, offset, attempts, field string }{
		{"-1", "0", "1", "oLetterOffset"},
		{"0", "-1", "1", "oLetterOffset"},
		{"x", "0", "1", "oLetterQueue"},
		{"0", "x", "1", "oLetterOffset"},
		{"0", "0", "x", "oLetterAttempts"},
	} {
		f := fields("oLetterQueue", tt.queue, "oLetterOffset", tt.offset, "oLetterAttempts", tt.attempts)
		if err := new(header.Letter).Decode(f); !isFieldError(err, tt.field) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	long := header.Letter{}
	if err := long.Decode(fields("oLetterQueue", "0", "oLetterOffset", "0", "oLetterCause", strings.Repeat("x", 5000))); err != nil || len(long.Cause) != header.MaxCause {
		t.Errorf("a cause of %d bytes, %v", len(long.Cause), err)
	}
}
