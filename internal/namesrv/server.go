// SPDX-License-Identifier: Apache-2.0

package namesrv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/orderlymq/orderly/internal/transport"
)

// Server is a name server. Use New, Start, and Close.
type Server struct {
	cfg      Config
	log      *slog.Logger
	handlers map[int32]handler
	trans    *transport.Server
	addr     string
	edits    chan kvEdit
	settings settings
	stop     chan struct{}
	scanning sync.WaitGroup // of scan and of the accept loop
	writing  sync.WaitGroup // of writeKV
	closing  sync.Once
	closed   error

	mu    sync.RWMutex
	table *Table // guarded by mu
}

// New returns a server that does not run yet.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	return &Server{
		cfg:      cfg,
		log:      cfg.Logger,
		handlers: handlers(),
		edits:    make(chan kvEdit, maxKVEdits),
		settings: newSettings(),
		stop:     make(chan struct{}),
		table:    NewTable(cfg.Limits, cfg.BrokerTimeout),
	}
}

// Start reads what is kept, listens, and returns when requests are served. ctx
// bounds the start only.
func (s *Server) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start name server: %w", err)
	}
	if s.cfg.Dir != "" {
		items, err := kvFile{s.cfg.FS, s.cfg.Dir}.load()
		if err != nil {
			return fmt.Errorf("start name server: %w", err)
		}
		s.table.loadKV(items)
	}
	ln, err := s.cfg.Listen("tcp", s.cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("start name server: listen on %s (is the port taken? choose another address): %w", s.cfg.ListenAddr, err)
	}
	s.run(ln)
	s.log.Info("name server started", "listen", s.addr)
	return nil
}

func (s *Server) run(ln net.Listener) {
	s.addr = ln.Addr().String()
	s.trans = transport.NewServer(transport.ServerConfig{
		Handler:  s,
		OnClose:  s.connLost,
		Limits:   s.cfg.Transport,
		MaxConns: s.cfg.MaxConns,
		TLS:      s.cfg.TLS,
		TLSMode:  s.cfg.TLSMode,
		Logger:   s.log,
	})
	s.writing.Go(s.writeKV)
	s.scanning.Go(s.scan)
	s.scanning.Go(func() {
		if err := s.trans.Serve(ln); err != nil && !errors.Is(err, transport.ErrShutdown) {
			s.log.Error("name server no longer accepts connections; restart it", "err", err)
		}
	})
}

// Addr returns the host:port listened on, "" before Start.
func (s *Server) Addr() string { return s.addr }

// Close answers what was accepted, closes all connections and waits for every
// goroutine. When ctx ends first, connections are cut.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() {
		close(s.stop)
		if s.trans != nil {
			s.closed = s.trans.Close(ctx)
		}
		close(s.edits) // no handler runs any more
		s.writing.Wait()
		s.scanning.Wait()
	})
	if s.closed != nil {
		return fmt.Errorf("close name server: %w", s.closed)
	}
	return nil
}

// Conflicts lists the ordered topics that more than one broker name has
// registered, with those names, the one served first.
func (s *Server) Conflicts() map[string][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.table.Conflicts()
}

// scan takes silent brokers out until the server closes.
func (s *Server) scan() {
	tick := time.NewTicker(s.cfg.ScanInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			s.mu.Lock()
			lost := s.table.Expire(now)
			s.mu.Unlock()
			s.report("broker expired: no registration within its time-out", lost)
		}
	}
}

// connLost takes out the brokers that registered last on this connection.
func (s *Server) connLost(c *transport.Conn, cause error) {
	if errors.Is(cause, transport.ErrShutdown) {
		return
	}
	s.mu.Lock()
	lost := s.table.ConnLost(time.Now(), c.ID())
	s.mu.Unlock()
	s.report("broker taken out: its connection is lost", lost)
}

func (s *Server) report(what string, lost []Lost) {
	for _, l := range lost {
		s.log.Warn(what, "broker", l.Broker, "id", l.ID, "addr", l.Addr, "cluster", l.Cluster, "silent", l.Silent)
	}
}
