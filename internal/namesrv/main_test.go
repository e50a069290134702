// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orderlymq/orderly/internal/memnet"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a name server on a memory network, its log, and one connection.
type rig struct {
	*Server
	t    *testing.T
	net  *memnet.Network
	log  *logBuffer
	conn *transport.Conn
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

func start(t *testing.T, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, net: memnet.New(), log: &logBuffer{}}
	cfg.ListenAddr = "ns:9876"
	cfg.Listen = r.net.Host("ns").Listen
	cfg.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.Server = New(cfg)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	r.conn = r.connect("client")
	return r
}

func (r *rig) connect(from string) *transport.Conn {
	r.t.Helper()
	c, err := (&transport.Dialer{Dial: r.net.Host(from).Dial}).Connect(r.t.Context(), r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		c.Close(nil)
		c.Wait()
	})
	return c
}

func call(t *testing.T, c *transport.Conn, req *wire.Command) *wire.Command {
	t.Helper()
	resp, err := c.Call(t.Context(), req)
	if err != nil {
		t.Fatalf("call %s: %v", req.Name(), err)
	}
	return resp
}

// request makes a request with ext fields given as key, value, ...
func request(code int32, body string, ext ...string) *wire.Command {
	req := wire.NewRequest(code, nil, []byte(body))
	for i := 0; i < len(ext); i += 2 {
		req.Ext.Set(ext[i], ext[i+1])
	}
	return req
}

// vector is a recorded frame.
type vector struct {
	N    int    `json:"n"`
	To   string `json:"to"`
	From string `json:"from"`
	Hex  string `json:"frame_hex"`
	cmd  *wire.Command
}

// vectors returns the recorded frames of a scenario that the name server got
// or sent, in order.
func vectors(t *testing.T, scenario string) []vector {
	t.Helper()
	f, err := os.Open("testdata/" + scenario + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var found []vector
	in := bufio.NewReader(z)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return found
		}
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if v.To != "namesrv" && v.From != "namesrv" {
			continue
		}
		frame, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		if v.cmd, err = wire.Decode(frame[4:]); err != nil {
			t.Fatal(err)
		}
		found = append(found, v)
	}
}
