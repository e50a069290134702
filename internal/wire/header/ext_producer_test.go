// SPDX-License-Identifier: Apache-2.0

package header_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/orderlymq/orderly/internal/wire"
	"github.com/orderlymq/orderly/internal/wire/header"
)

func TestNumbers(t *testing.T) {
	for _, h := range []header.Numbers{{}, {Producer: 7, Epoch: 1<<32 - 1, First: 1<<64 - 1}, {Producer: 1}} {
		var f wire.Fields
		h.Encode(&f)
		got := header.Numbers{Producer: 9}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("%+v: got %+v, %v", h, got, err)
		}
	}
	for _, name := range []string{header.ExtProducer, header.ExtProducerEpoch, header.ExtSequence} {
		for _, bad := range []string{"-1", "x", "18446744073709551616"} {
			if err := new(header.Numbers).Decode(fields(name, bad)); !isFieldError(err, name) {
				t.Errorf("%s %q: %v", name, bad, err)
			}
		}
	}
}

func TestSendNumbersAnswer(t *testing.T) {
	for _, h := range []header.SendNumbersAnswer{{}, {Repeat: true}, {Next: header.Some(uint64(0))}, {Next: header.Some(uint64(42))}} {
		var f wire.Fields
		h.Encode(&f)
		got := header.SendNumbersAnswer{Repeat: true}
		if err := got.Decode(f); err != nil || got != h {
			t.Errorf("%+v: got %+v, %v", h, got, err)
		}
	}
	if err := new(header.SendNumbersAnswer).Decode(fields(header.ExtSequence, "x")); !isFieldError(err, header.ExtSequence) {
		t.Error(err)
	}
}

func TestProducerClaim(t *testing.T) {
	for _, h := range []header.ProducerClaim{
		{},
		{Name: "billing-1"},
		{Name: "n", Producer: 3, Epoch: 4, Queues: []header.ProducerQueue{{Topic: "a", Queue: 0}, {Topic: "%RETRY%b|c", Queue: 1023}}},
	} {
		var f wire.Fields
		h.Encode(&f)
		var got header.ProducerClaim
		err := got.Decode(f)
		if d := cmp.Diff(h, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	for _, bad := range []string{"a", "a/", "a/-1", "a/x", "a/1;", strings.Repeat("a/1;", header.MaxProducerQueues) + "a/1"} {
		if err := new(header.ProducerClaim).Decode(fields(header.ExtQueues, bad)); !isFieldError(err, header.ExtQueues) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestProducerGrant(t *testing.T) {
	for _, h := range []header.ProducerGrant{
		{Producer: 1},
		{Producer: 1<<64 - 1, Epoch: 9, Stored: []header.ProducerStored{
			{ProducerQueue: header.ProducerQueue{Topic: "a", Queue: 2}},
			{ProducerQueue: header.ProducerQueue{Topic: "b", Queue: 3}, Next: 12, Frames: []header.StoredFrame{{First: 0, Count: 10, Offset: 100}, {First: 10, Count: 2, Offset: 110}}},
		}},
	} {
		var f wire.Fields
		h.Encode(&f)
		var got header.ProducerGrant
		err := got.Decode(f)
		if d := cmp.Diff(h, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	for _, bad := range []string{"a", "a/1", "a/1=", "a/1=x", "a/1=2:3", "a/1=2:3+4", "a/1=2:3+4@", "a/1=2:3+4@5,", "a/-1=2", ";"} {
		if err := new(header.ProducerGrant).Decode(fields(header.ExtStored, bad)); !isFieldError(err, header.ExtStored) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
