// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
)

// TestStoreRestored: only while the server is down, and as often as one likes.
func TestStoreRestored(t *testing.T) {
	data := t.TempDir()
	s := startServer(t, data)
	if out, stderr, err := run(t, "topic", "create", "orders", "-n", s.namesrv); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr)
	}
	if status, _, stderr := here(t, "store", "restored", "--data", data); status == 0 || !strings.Contains(stderr, "stop the server") {
		t.Errorf("beside a running server: %d\n%s", status, stderr)
	}
	s.terminate()
	var first, second restoration
	if status := decode(t, &first, "store", "restored", "--data", data, "--json"); status != 0 || first.FirstEpoch <= 1<<32 {
		t.Errorf("%d, %+v", status, first)
	}
	if decode(t, &second, "store", "restored", "--data", data, "--json"); second.FirstEpoch != first.FirstEpoch+1<<32 {
		t.Errorf("%+v, then %+v", first, second)
	}
	if status, _, stderr := here(t, "store", "restored", "--data", t.TempDir()); status == 0 || !strings.Contains(stderr, "no state of a broker") {
		t.Errorf("an empty directory: %d\n%s", status, stderr)
	}
	startServer(t, data)
}
