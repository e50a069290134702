// SPDX-License-Identifier: Apache-2.0

package body

import (
	"slices"
	"testing"
)

func TestMemberWaits(t *testing.T) {
	waits := []MemberWait{
		{Topic: "T", Broker: "b", Queue: 1, Offset: 7, Key: "k\"\n", Attempts: 2, Why: "back-off", Since: 5, Next: 9, Behind: 3},
		{Topic: "T", Broker: "b", Offset: -1, Why: "lease not granted"},
	}
	if got, err := DecodeWaits(EncodeWaits(waits)); err != nil || !slices.Equal(got, waits) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeWaits(EncodeWaits(make([]MemberWait, MaxWaits+5))); err != nil || len(got) != MaxWaits {
		t.Errorf("%d waits, %v", len(got), err)
	}
	if got, err := DecodeWaits(""); err != nil || got != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
	if _, err := DecodeWaits("{"); err == nil {
		t.Error("half a text was read")
	}
}
