// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// Server is `orderly server` as a child.
type Server struct {
	*Process
	Namesrv, Broker string // HOST:PORT
}

// StartServer runs the orderly binary as a server on the given addresses, of
// which port 0 picks a free one, and returns when it is ready.
func StartServer(ctx context.Context, binary, namesrv, broker, data string, more ...string) (*Server, error) {
	args := append([]string{"server", "--namesrv-addr", namesrv, "--broker-addr", broker, "--data", data}, more...)
	p, err := Start(Config{Name: "server", Path: binary, Args: args})
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p}
	line, err := p.Line(ctx)
	if err == nil {
		s.Namesrv, s.Broker, err = parseReady(line)
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return s, nil
}

// parseReady reads `orderly ready namesrv=A broker=B data=DIR`.
func parseReady(line string) (namesrv, broker string, err error) {
	for _, f := range strings.Fields(line) {
		if v, ok := strings.CutPrefix(f, "namesrv="); ok {
			namesrv = v
		}
		if v, ok := strings.CutPrefix(f, "broker="); ok {
			broker = v
		}
	}
	for _, addr := range []string{namesrv, broker} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return "", "", fmt.Errorf("the server said %q, which is no ready line", line)
		}
	}
	return namesrv, broker, nil
}
