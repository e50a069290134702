// SPDX-License-Identifier: Apache-2.0

package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orderlymq/orderly/internal/msg"
	"github.com/orderlymq/orderly/internal/order"
	"github.com/orderlymq/orderly/internal/store"
	"github.com/orderlymq/orderly/internal/store/meta"
	"github.com/orderlymq/orderly/internal/transport"
	"github.com/orderlymq/orderly/internal/vfs"
	"github.com/orderlymq/orderly/internal/wire"
)

// errClosing answers what comes in while the broker closes, and errStarting what
// comes in while it recovers its data.
var (
	errClosing  = errors.New("broker is shutting down: try again in a moment")
	errStarting = errors.New("broker is starting and recovers its data: try again in a moment")
)

// Broker is one broker. Use New, Start, Close.
type Broker struct {
	cfg   Config
	log   *slog.Logger
	clock *clock

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine but the pool's and the transport's

	lock   io.Closer
	meta   *meta.State
	store  *store.Store
	server *transport.Server
	addr   string // as clients are told it

	storeHost     netip.AddrPort
	ids           *msg.IDGenerator
	delays        msg.DelayLevels
	ownProperties string
	handlers      map[int32]*handler
	served        order.Time    // when it began to serve
	serving       chan struct{} // closed then
	vipPort       int32
	recovered     atomic.Bool // store and state can be asked
	syncing       atomic.Bool // a sync of the state is about to begin

	alarms    *alarms
	pool      *pool
	epochs    epochs
	groups    groups
	holds     holds
	letters   letters
	numbers   numbers
	producers producers
	registrar *registrar
	scheduler *scheduler
	buffers   sync.Pool // of *[]byte, for the records of pull answers
	stats     stats
	misplaced quiet
	unlocked  quiet
	oddCodes  quietCodes

	mu      sync.Mutex
	conns   map[order.LinkID]*conn
	started bool
	closing bool // nothing new begins in the background
}

// New checks cfg. Nothing is opened before Start.
func New(cfg Config) (*Broker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Broker{
		cfg: cfg, log: cfg.Logger, clock: newClock(cfg),
		ownProperties: ownProperties(cfg),
		handlers:      handlerTable(),
		pool:          newPool(cfg.Readers),
		conns:         map[order.LinkID]*conn{},
		serving:       make(chan struct{}),
	}
	if b.delays, err = msg.ParseDelayLevels(msg.DefaultDelayLevels); err != nil {
		return nil, err
	}
	b.groups.byName = map[string]*group{}
	b.holds.max, b.holds.byQueue = cfg.MaxHolds, map[order.Queue]map[*hold]struct{}{}
	b.alarms = newAlarms(b.clock.now)
	b.buffers.New = func() any { return new([]byte) }
	return b, nil
}

// Addr is the address that clients are told, once Start has returned.
func (b *Broker) Addr() string { return b.addr }

// Start opens the data directory, recovers what is there, and returns when the
// broker serves and has tried to register with its name servers. ctx bounds
// the start only.
func (b *Broker) Start(ctx context.Context) (err error) {
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			b.abandon()
		}
	}()
	listeners, err := b.listen()
	if err != nil {
		return err
	}
	b.server = transport.NewServer(transport.ServerConfig{
		Handler: transport.HandlerFunc(b.receive), OnClose: b.connClosed,
		MaxConns: b.cfg.MaxConns, Logger: b.log,
	})
	b.accept(listeners)
	if err := b.open(ctx); err != nil {
		return err
	}
	b.registrar = newRegistrar(b)
	b.scheduler = newScheduler(b)
	b.served = b.clock.now()
	b.restoreGroups()
	close(b.serving)
	b.wg.Go(func() { b.alarms.run(b.ctx) })
	b.wg.Go(func() { b.scheduler.run(b.ctx) })
	b.wg.Go(func() { b.housekeep(b.ctx) })
	b.registrar.start(ctx, b.ctx)
	b.started = true
	b.log.Info("broker serves", "broker", b.cfg.Name, "cluster", b.cfg.Cluster, "addr", b.addr, "data", b.cfg.Dir, "mode", b.cfg.SyncMode.String())
	return nil
}

// accept takes connections. Until the broker serves, their requests wait.
func (b *Broker) accept(listeners []net.Listener) {
	for _, ln := range listeners {
		b.wg.Go(func() {
			if err := b.server.Serve(ln); err != nil && !errors.Is(err, transport.ErrShutdown) {
				b.log.Error("connections are no longer accepted", "listen", ln.Addr().String(), "err", err)
			}
		})
	}
}

// Parts of the data directory.
const (
	storeDir = "store" // messages
	stateDir = "meta"  // everything else
)

// open takes the data directory and recovers the stores.
func (b *Broker) open(ctx context.Context) (err error) {
	for _, part := range []string{storeDir, stateDir} {
		if err := vfs.MkdirSync(b.cfg.FS, path.Join(b.cfg.Dir, part)); err != nil {
			return fmt.Errorf("broker: %w: choose a data directory that can be written", err)
		}
	}
	if b.lock, err = b.cfg.FS.Lock(path.Join(b.cfg.Dir, "broker.lock")); err != nil {
		return fmt.Errorf("broker: data directory %s cannot be taken, is another server using it? %w", b.cfg.Dir, err)
	}
	if b.meta, err = meta.Open(ctx, meta.Options{
		FS: b.cfg.FS, Dir: path.Join(b.cfg.Dir, stateDir), Repair: b.cfg.Repair, Logger: b.log,
	}); err != nil {
		return fmt.Errorf("broker: open the broker's state: %w", err)
	}
	if err := b.openStore(ctx); err != nil {
		return fmt.Errorf("broker: open the message store: %w", err)
	}
	if b.meta.View().Boot().Starts == 0 && b.store.Positions().Committed > 0 {
		b.log.Error("there are messages, but no topics, groups and positions: was the state lost? restore it from a backup",
			"messages", path.Join(b.cfg.Dir, storeDir), "state", path.Join(b.cfg.Dir, stateDir))
	}
	if err := b.meta.ApplySync(ctx, meta.StartBroker{BootID: b.cfg.FS.BootID(), At: b.clock.at()}); err != nil {
		return fmt.Errorf("broker: note the start: %w", err)
	}
	if err := b.ensureSystem(ctx); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return b.firstEpochs(ctx)
}

func (b *Broker) openStore(ctx context.Context) (err error) {
	o := store.Options{
		FS: b.cfg.FS, Dir: path.Join(b.cfg.Dir, storeDir), SegmentSize: b.cfg.SegmentSize, Mode: b.cfg.SyncMode,
		SyncEvery: b.cfg.SyncEvery, StoreHost: b.storeHost, Clock: b.cfg.Clock, Logger: b.log,
		OnCommit: b.arrived, NumbersFrom: b.rebuildNumbers, OnNumbered: b.restoreNumbers, KeepFrom: b.keepFrom, Repair: b.cfg.Repair,
	}
	if b.cfg.Store != nil {
		b.cfg.Store(&o)
	}
	if b.store, err = store.Open(ctx, o); err != nil {
		return err
	}
	for key, q := range b.meta.View().AllQueues() { // what was committed once is not given to another message
		next := q.Committed
		if n := len(q.Ranges); n > 0 {
			next = max(next, q.Ranges[n-1].To)
		}
		if next > 0 {
			b.store.RaiseFloor(key.Topic, key.Queue, next)
		}
	}
	b.recovered.Store(true)
	return nil
}

func (b *Broker) firstEpochs(ctx context.Context) error {
	b.epochs.state = b.meta
	first, _, err := b.epochs.reserve(ctx)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	b.epochs.next = first // nobody has taken it yet
	return nil
}

// listen opens the ports and works out the address to tell.
func (b *Broker) listen() ([]net.Listener, error) {
	ln, err := b.cfg.Listen("tcp", b.cfg.ListenAddr)
	if err != nil {
		return nil, fmt.Errorf("broker: listen on %s: %w: choose another address or end what uses it", b.cfg.ListenAddr, err)
	}
	listeners := []net.Listener{ln}
	fail := func(err error) ([]net.Listener, error) {
		for _, l := range listeners {
			_ = l.Close()
		}
		return nil, err
	}
	if b.addr, b.storeHost, err = advertised(b.cfg, ln.Addr()); err != nil {
		return fail(err)
	}
	b.ids = msg.NewIDGenerator(msg.IDConfig{Addr: b.storeHost.Addr()})
	if b.cfg.VIPAddr != "" {
		vip, err := b.cfg.Listen("tcp", b.cfg.VIPAddr)
		if err != nil {
			return fail(fmt.Errorf("broker: listen on VIP address %s: %w: choose another address or end what uses it", b.cfg.VIPAddr, err))
		}
		b.vipPort = int32(transport.AddrPort(vip.Addr()).Port())
		listeners = append(listeners, vip)
	}
	return listeners, nil
}

// abandon undoes a start that failed.
func (b *Broker) abandon() {
	b.cancel()
	if b.server != nil {
		_ = b.server.Close(b.ctx)
	}
	b.wg.Wait()
	b.pool.close()
	_ = b.closeStores()
}

func (b *Broker) closeStores() error {
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	if b.meta != nil {
		errs = append(errs, b.meta.Close())
	}
	if b.lock != nil {
		errs = append(errs, b.lock.Close())
	}
	b.store, b.meta, b.lock = nil, nil, nil
	return errors.Join(errs...)
}

// drainTime bounds how long Close waits for what was accepted, whatever its
// context allows.
const drainTime = 1200 * time.Millisecond

// Close takes leave of the name servers, answers held pulls, lets what was
// accepted finish, and closes the stores. It returns when every goroutine is
// gone. ctx bounds the draining; the stores are closed in any case.
func (b *Broker) Close(ctx context.Context) error {
	if !b.started {
		return nil
	}
	b.started = false
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	var leave sync.WaitGroup
	leave.Go(func() { b.registrar.leave(drain) })
	b.release(b.holds.close())
	err := b.server.Close(drain)
	leave.Wait()
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.cancel()
	b.wg.Wait()
	b.pool.close()
	if serr := b.closeStores(); serr != nil {
		err = errors.Join(err, fmt.Errorf("broker: close the stores: %w", serr))
	}
	b.log.Info("broker has closed", "broker", b.cfg.Name, "addr", b.addr)
	return err
}

// background runs f beside the requests; Close waits for it. While the broker
// closes nothing new begins.
func (b *Broker) background(f func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closing {
		b.wg.Go(func() { f(b.ctx) })
	}
}

// read runs f, which answers r after a look at the disk, beside the
// connection's other requests.
func (b *Broker) read(r request, f func()) {
	if !b.pool.run(f) {
		r.failed(errClosing)
	}
}

// arrived is told by the store which messages have become readable.
func (b *Broker) arrived(messages []store.Committed) {
	b.wake(b.holds.arrived(messages))
	b.scheduler.arrived(messages)
}

// receive takes a request from a connection's reader. A ping is answered here
// and now; everything else is handled in order by the connection's own
// goroutine.
func (b *Broker) receive(t *transport.Conn, req *wire.Command) {
	c, ok := t.Value().(*conn)
	if !ok {
		if !b.awaitServing() {
			_ = t.Reply(req, wire.NewResponse(req, wire.ServiceNotAvailable, errStarting.Error()))
			return
		}
		c = b.connOpened(t)
	}
	if isPing(req) {
		b.ping(c, req)
		return
	}
	c.enqueue(req)
}

// patience is how long a request waits for the broker to serve: less than what
// clients wait for an answer.
const patience = time.Second

// awaitServing reports whether the broker serves, in a moment at the latest.
func (b *Broker) awaitServing() bool {
	select {
	case <-b.serving:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-b.serving:
		return true
	case <-timer.C:
	case <-b.ctx.Done():
	}
	return false
}
