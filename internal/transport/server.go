// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Server accepts connections on one or more listeners.
type Server struct {
	env      *env
	maxConns int

	mu        sync.Mutex
	conns     map[*Conn]struct{}
	listeners map[net.Listener]struct{}
	first     net.Addr
	lastID    uint64
	closing   bool
	full      bool // the bound on connections has been logged
	stop      chan struct{}
	wg        sync.WaitGroup // accept loops and readers
}

// NewServer returns a server that serves nothing yet.
func NewServer(cfg ServerConfig) *Server {
	s := &Server{
		maxConns:  cmp.Or(cfg.MaxConns, 10_000),
		conns:     map[*Conn]struct{}{},
		listeners: map[net.Listener]struct{}{},
		stop:      make(chan struct{}),
	}
	s.env = &env{
		handler: cfg.Handler,
		limits:  cfg.Limits.withDefaults(),
		log:     orDiscard(cfg.Logger),
		onOpen:  cfg.OnOpen,
		onClose: func(c *Conn, err error) {
			if cfg.OnClose != nil {
				cfg.OnClose(c, err)
			}
			s.forget(c)
		},
		base:    time.Now(),
		tls:     cfg.TLS,
		tlsMode: cfg.TLSMode,
	}
	s.env.inFlight.limit = cmp.Or(cfg.MaxTotalInFlightBytes, 512<<20)
	s.env.queued.limit = cmp.Or(cfg.MaxTotalQueuedBytes, 1<<30)
	return s
}

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Serve accepts connections of ln until Close, which closes ln, and then
// returns nil. It returns an error only if ln fails for good. It may be called
// for several listeners.
func (s *Server) Serve(ln net.Listener) error {
	if !s.addListener(ln) {
		return errors.Join(fmt.Errorf("%w: %w", ErrClosed, ErrShutdown), ln.Close())
	}
	defer s.wg.Done()
	var pause time.Duration
	for {
		nc, err := ln.Accept()
		if err == nil {
			pause = 0
			s.open(nc)
			continue
		}
		if s.isClosing() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("transport: accept on %v: %w", ln.Addr(), err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.env.log.Error("cannot accept a connection; trying again", "listen", ln.Addr().String(), "err", err, "in", pause)
		if !s.sleep(pause) {
			return nil
		}
	}
}

// sleep waits for d and reports whether the server still runs.
func (s *Server) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stop:
		return false
	}
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.listeners[ln] = struct{}{}
	if s.first == nil {
		s.first = ln.Addr()
	}
	s.wg.Add(1)
	return true
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// open starts a connection, unless there are too many.
func (s *Server) open(nc net.Conn) {
	s.mu.Lock()
	refuse := s.closing || len(s.conns) >= s.maxConns
	log := refuse && !s.closing && !s.full
	s.full = s.full || log
	if !refuse {
		s.lastID++
		c := newConn(s.env, s.lastID, nc)
		s.conns[c] = struct{}{}
		s.wg.Go(c.run)
	}
	s.mu.Unlock()
	if log {
		s.env.log.Warn("connections refused: the bound on open connections is reached", "bound", s.maxConns, "peer", nc.RemoteAddr().String())
	}
	if refuse {
		_ = nc.Close()
	}
}

func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	if len(s.conns) < s.maxConns/2 {
		s.full = false // log it again next time
	}
	s.mu.Unlock()
}

// Addr returns the address of the first listener served, nil before that.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// Conns returns the open connections, in no particular order.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// InFlight returns the bytes of unanswered requests and of unsent answers of
// all connections.
func (s *Server) InFlight() (requests, answers int64) {
	return s.env.inFlight.used.Load(), s.env.queued.used.Load()
}

// Close stops accepting and reading, waits until what was accepted is answered
// and written, closes all connections and waits for every goroutine. When ctx
// ends first, connections are closed as they are, and the error says so. The
// Handler must still be able to answer while Close waits; requests parked for
// long should be answered by their owner.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.stop)
	}
	for ln := range s.listeners {
		_ = ln.Close()
	}
	s.mu.Unlock()
	conns := s.Conns()
	for _, c := range conns {
		c.stopReading(ErrShutdown)
	}
	return waitAll(ctx, conns, &s.wg)
}

// waitAll waits for connections that are draining and their goroutines. It
// ends the connections when ctx does.
func waitAll(ctx context.Context, conns []*Conn, wg *sync.WaitGroup) error {
	cut := 0
	for _, c := range conns {
		select {
		case <-c.finished:
		case <-ctx.Done():
			select {
			case <-c.finished:
			default:
				cut++
				c.end(fmt.Errorf("%w: %w", ErrShutdown, context.Cause(ctx)))
			}
		}
	}
	wg.Wait()
	if cut > 0 {
		return fmt.Errorf("transport: close: %d connections cut with work unfinished: %w", cut, context.Cause(ctx))
	}
	return nil
}
