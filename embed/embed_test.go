// SPDX-License-Identifier: Apache-2.0

package embed_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func config(t *testing.T) embed.Config {
	t.Helper()
	return embed.Config{NamesrvAddr: "127.0.0.1:0", BrokerAddr: "127.0.0.1:0", DataDir: t.TempDir(), SegmentSize: 1 << 20}
}

func TestServerStartsAndCloses(t *testing.T) {
	cfg := config(t)
	s, err := embed.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{s.NamesrvAddr(), s.BrokerAddr()} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	if _, err := embed.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.DataDir) {
		t.Errorf("a second server on the same directory: %v", err)
	}
	start := time.Now()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("close took %v", took)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
	again, err := embed.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestPartsRunApart(t *testing.T) {
	cfg := config(t)
	ns, err := embed.StartNamesrv(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := embed.StartBroker(t.Context(), cfg, []string{ns.NamesrvAddr()})
	if err != nil {
		t.Fatal(err)
	}
	if ns.BrokerAddr() != "" || b.NamesrvAddr() != "" || b.BrokerAddr() == "" {
		t.Errorf("addresses %q %q %q", ns.BrokerAddr(), b.NamesrvAddr(), b.BrokerAddr())
	}
	for _, s := range []*embed.Server{ns, b} { // the name server first: the broker does not wait for it
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestStartFailsWithTheCause(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*embed.Config){
		taken.Addr().String(): func(c *embed.Config) { c.BrokerAddr = taken.Addr().String() },
		"name server":         func(c *embed.Config) { c.NamesrvAddr = taken.Addr().String() },
		"a file":              func(c *embed.Config) { c.DataDir = file },
		"segment size":        func(c *embed.Config) { c.SegmentSize = 17 },
	} {
		cfg := config(t)
		change(&cfg)
		if _, err := embed.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
