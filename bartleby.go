// Package bartleby is a message broker: AMQP 0-9-1 with RabbitMQ's extensions, with embedded storage, at home
// where messages expire, fail, wait or overflow. This package puts it together, so that it runs inside any Go
// program; the command in cmd/bartleby is one.
//
//	b, err := bartleby.Start(bartleby.Config{Data: "bartleby-data", AMQP: "127.0.0.1:5672"})
//	…
//	defer b.Close(context.Background())
//
// In tests use package bartlebytest. There are no rules here: they live in internal/vhost.
package bartleby

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqpserver"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/listener"
	"github.com/bartleby-mq/bartleby/internal/management"
	"github.com/bartleby-mq/bartleby/internal/management/definitions"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Version is the broker's own version.
const Version = "0.1.0-dev"

// Config says how a broker runs. The zero value is a broker in memory without listeners.
type Config struct {
	// Data is the directory that holds everything; made if missing. Empty: in memory, gone at Close.
	Data string
	// AMQP, Management and Prometheus are addresses to listen on, HOST:PORT, several with commas between them; port 0
	// takes a free one, an empty address opens no listener. The others are the same with TLS, for which TLS,
	// ManagementTLS and PrometheusTLS say what it takes.
	AMQP, Management, Prometheus            string
	AMQPS, ManagementHTTPS, PrometheusHTTPS string
	TLS, ManagementTLS, PrometheusTLS       TLS
	// ProxyProtocol says that AMQP clients come through a load balancer that tells their addresses in this protocol,
	// and that nobody else can reach the listeners.
	ProxyProtocol bool
	// Clients is what AMQP clients get and may; nil: DefaultClients. Web is the same for the management API, Metrics
	// for Prometheus.
	Clients *Clients
	Web     Web
	Metrics Metrics
	// First is what an empty broker begins with; nil: virtual host "/", and guest, who may do everything there.
	First *First
	// Passwords says how passwords that are set from now on are kept, and which are refused; those of First are taken
	// as they are.
	Passwords Passwords
	// LoginFailures is how often one user may fail to log in from one address before it has to wait between attempts;
	// zero: 20, negative: without limit.
	LoginFailures int
	// Uncommitted bounds what transactions hold in memory until they are committed.
	Uncommitted Budget
	// Subscribed bounds what channels and consumers take in memory.
	Subscribed Budget
	// ObjectsMax bounds the memory of queues, exchanges and bindings, in bytes; zero: half of the memory watermark.
	ObjectsMax int64
	// QueueType is the type of queues that are declared without one, in virtual hosts that say nothing else: classic
	// (or empty), quorum.
	QueueType string
	// NewVHosts says what virtual hosts begin with.
	NewVHosts NewVHosts
	// NodeName and ClusterName are what clients and tools are told; empty: rabbit@ and the machine's name, for both.
	NodeName, ClusterName string
	// ProductName and ProductVersion are what tools are told that this is; empty: Bartleby, and Version. The tags are
	// told them of the cluster and the node. Source: RabbitMQ product.name, cluster_tags, node_tags.
	ProductName, ProductVersion string
	ClusterTags, NodeTags       map[string]string
	// Shown tells tools how the broker was configured; nil: they are not told.
	Shown *Shown
	// SegmentBytes is the size of a file of the log, from 64 KiB to 1 GiB; zero: 64 MiB, less on a disk of less than 8
	// GB. Files that are there keep theirs.
	SegmentBytes int64
	// ReserveBytes is the space kept free in advance, so that a full disk can be drained; zero: 256 MiB, less on a disk
	// of less than 4 GB; negative: none.
	ReserveBytes int64
	// SparseShare and RewriteRatio are the trade between space and writing: segments of which more than that share is
	// live are not rewritten, and while there is traffic so many bytes are rewritten for each that it appends. Zero:
	// 0.87 and 0.7. MessagesInMemory is of how many waiting messages each virtual host keeps the entries in memory;
	// zero: 524,288. docs/storage.md says more.
	SparseShare, RewriteRatio float64
	MessagesInMemory          int
	// Sync says when the log is synced where a virtual host chooses nothing else: "always" (or empty), "interval" or
	// "never"; docs/durability.md says what each promises. SyncInterval is how often for "interval"; zero: 200 ms.
	Sync         string
	SyncInterval time.Duration
	// MemoryHighWatermark is how much memory the process may have before publishers have to wait; nil: six tenths.
	// DiskFreeLimit is how much of the disk has to stay free for them; nil: 50 MB. Source: RabbitMQ alarms.
	MemoryHighWatermark, DiskFreeLimit *Threshold
	// Alone says that the process is the broker's alone: Go's memory limit follows the high watermark, unless the
	// environment sets GOMEMLIMIT.
	Alone bool
	// LoadDefinitions names a file, or a directory of *.json files, of definitions that are imported before anybody can
	// connect. A node that is new then gets no default virtual host and user. With SkipUnchangedDefinitions they are
	// not imported again while they stay the same. Source: RabbitMQ load_definitions, definitions.skip_if_unchanged.
	LoadDefinitions          string
	SkipUnchangedDefinitions bool
	// NoIndex says that dead letters are not indexed, so that each search looks at them all. IndexBytes is
	// what the index may take on the disk; zero: 1 GiB, or a sixteenth of a smaller disk. It is in the
	// directory index of Data; without Data there is none. docs/search.md says more.
	NoIndex    bool
	IndexBytes int64
	// TestClock makes time stand still until Advance moves it.
	TestClock bool
	// Log receives what operators should know; nil: slog.Default.
	Log *slog.Logger
}

// Broker is a running broker. Its methods may be called by any goroutine.
type Broker struct {
	config Config
	engine *engine.Engine
	index  *search.Index
	amqp   *amqpserver.Server
	pages  []*page

	management *management.Server

	opened       []openListener // that are open; not changed once they are served
	serving      chan error     // one for each listener, when it ends
	unfinished   int            // listeners whose end was not received
	certificates []*listener.Certificates
	signing      *listener.Signing // of all of them
}

// Start opens the data, or makes it, and listens. On return clients can connect. A virtual host that takes longer than
// some seconds to open refuses them until it is open.
func Start(c Config) (*Broker, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if err := c.checkTrade(); err != nil {
		return nil, err
	}
	if err := c.Passwords.Validate(); err != nil {
		return nil, err
	}
	sync, err := c.sync()
	if err != nil {
		return nil, err
	}
	o := engine.Options{
		SparseShare: c.SparseShare, RewriteRatio: c.RewriteRatio, HotMessages: c.MessagesInMemory,
		Log: c.Log, StrictRights: c.Web.StrictOffice, Defaults: c.First, QueueType: c.QueueType, NewVHosts: c.newVHosts(), LoginFailures: c.LoginFailures,
		Uncommitted: c.Uncommitted, Subscribed: c.Subscribed, ObjectsMax: c.ObjectsMax,
		Machine: resource.SystemMachine(c.Data, c.Alone), Limits: c.limits(), Sync: sync, SyncInterval: c.SyncInterval,
	}
	if c.Data == "" {
		o.FS = vfs.NewMem(uint64(time.Now().UnixNano()))
		o.Journal = journal.Options{SegmentBytes: 4 << 20, ReserveBytes: -1}
	} else {
		if err := os.MkdirAll(c.Data, 0o750); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
		o.FS, o.Data = vfs.Dir(c.Data), c.Data
		o.Journal.SegmentBytes, o.Journal.ReserveBytes = c.SegmentBytes, c.ReserveBytes
	}
	if c.LoadDefinitions != "" {
		o.Defaults = &accounts.Defaults{}
	}
	if c.TestClock {
		o.Clock = engine.NewTestClock(time.Now())
	}
	o.Node = cmp.Or(c.NodeName, NodeName())
	e, err := engine.Open(o)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("data directory %s is in use by another broker: %w", c.Data, err)
	}
	if errors.Is(err, journal.ErrDamaged) {
		return nil, fmt.Errorf("%w: %s", err, strings.ReplaceAll(engine.Remedy, "DATA", c.Data))
	}
	if err != nil {
		return nil, err
	}
	b := &Broker{config: c, engine: e, index: search.Open(c.index(e))}
	b.signing = listener.NewSigning(max(1, runtime.GOMAXPROCS(0)/2))
	if err := b.open(); err != nil {
		return nil, errors.Join(err, b.Close(context.Background()))
	}
	return b, nil
}

// open lets clients in, when all that they may rely on is there.
func (b *Broker) open() error {
	if err := b.define(); err != nil {
		return err
	}
	if err := b.nameCluster(); err != nil {
		return err
	}
	b.lookAtUsers()
	return b.listen()
}

// nameCluster gives the cluster the name of the configuration, which is seen and exported as one that was set by hand.
// Source: RabbitMQ cluster_name.
func (b *Broker) nameCluster() error {
	name := b.config.ClusterName
	if name == "" || name == b.engine.Accounts().ClusterName() {
		return nil
	}
	value, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("cluster name: %w", err)
	}
	_, err = b.engine.ChangeAccounts(context.Background(), accounts.Command{Kind: accounts.SetGlobalParameter,
		Name: accounts.ClusterNameParameter, Value: value})
	if err != nil {
		return fmt.Errorf("cluster name: %w", err)
	}
	return nil
}

// lookAtUsers tells of what nobody expects who configures users: that one is made only in the beginning, and that there
// may be nobody to administer the broker. Source: docs/compat/configuration.md#7.
func (b *Broker) lookAtUsers() {
	view := b.engine.Accounts()
	if first := b.config.First; first != nil && first.User != "" && b.config.LoadDefinitions == "" {
		if _, ok := view.User(first.User); !ok {
			b.config.Log.Warn("the default user does not exist: it is created only with a new data directory; create users with 'bartleby ctl add_user'",
				"user", first.User)
		}
	}
	for _, u := range view.Users() {
		if u.ActsAs(accounts.TagAdministrator) {
			return
		}
	}
	b.config.Log.Warn("no user is an administrator: run 'bartleby ctl set_user_tags USER administrator' on this machine")
}

// define goes on with an interrupted import of definitions, and imports those that are to be loaded.
func (b *Broker) define() error {
	ctx := context.Background()
	definitions.ResumeImport(ctx, b.engine, b.config.Log)
	if b.config.LoadDefinitions == "" {
		return nil
	}
	load := definitions.Load{Path: b.config.LoadDefinitions, SkipIfUnchanged: b.config.SkipUnchangedDefinitions, Passwords: b.config.Passwords}
	return definitions.LoadFile(ctx, b.engine, b.config.Log, load)
}

// checkTrade refuses what makes no sense.
func (c *Config) checkTrade() error {
	switch {
	case !(c.SparseShare >= 0 && c.SparseShare < 1):
		return fmt.Errorf("sparse-share is %v: it must be at least 0 and less than 1", c.SparseShare)
	case !(c.RewriteRatio >= 0 && c.RewriteRatio <= 100):
		return fmt.Errorf("rewrite-ratio is %v: it must be from 0 to 100", c.RewriteRatio)
	case c.MessagesInMemory < 0:
		return fmt.Errorf("messages-in-memory is %d: it must be positive", c.MessagesInMemory)
	}
	return nil
}

// sync reads Sync.
func (c *Config) sync() (vhost.Sync, error) {
	if c.Sync == "" {
		return vhost.SyncAlways, nil
	}
	s, ok := settings.ParseSync(c.Sync)
	if !ok || s == vhost.SyncDefault {
		return 0, fmt.Errorf("sync is %q: it must be always, interval or never", c.Sync)
	}
	if c.SyncInterval < 0 {
		return 0, fmt.Errorf("sync every %v: the interval must be positive", c.SyncInterval)
	}
	return s, nil
}

// AMQPAddr is where AMQP clients connect, nil without a listener.
func (b *Broker) AMQPAddr() net.Addr { return b.addr("amqp") }

// ManagementAddr is where the management API answers, nil without a listener.
func (b *Broker) ManagementAddr() net.Addr { return b.addr("http") }

// PrometheusAddr is where metrics are scraped, nil without a listener.
func (b *Broker) PrometheusAddr() net.Addr { return b.addr("http/prometheus") }

// URL is the AMQP address with the default user, as clients take it.
func (b *Broker) URL() string {
	addr := b.AMQPAddr()
	if addr == nil {
		return ""
	}
	u := url.URL{Scheme: "amqp", User: url.UserPassword("guest", "guest"), Host: addr.String(), Path: "/"}
	return u.String()
}

// Now is what the broker takes the time to be when a client names an instant: the machine's clock, or the test clock.
func (b *Broker) Now() time.Time { return b.engine.Now() }

// Advance moves the test clock by d. On return every expiry, delay and retry up to then has happened, each at its own
// instant, is safe, and was handed to the connections of its consumers. docs/clock.md says what to mind.
func (b *Broker) Advance(d time.Duration) error { return b.engine.Advance(context.Background(), d) }

// Failed yields why the broker cannot go on, if that happens: writes to the data directory have failed, and those to
// a new file too. Connections have been closed; what was confirmed is on the disk. Close it, and start another.
func (b *Broker) Failed() <-chan error { return b.engine.Failed() }

// Close ends the broker: connections are closed with 320, what is under way is written, the data is released. It lasts
// no longer than ctx and two seconds, whatever clients and the disk do: connections and requests that have not ended
// after half of that time are cut; what then cannot be written was not confirmed, and is lost; and if the disk does not
// answer at all, an error says so, and the data stays locked until the process ends.
func (b *Broker) Close(ctx context.Context) error {
	b.engine.EndWaiting()
	errs := b.closeDoors(ctx)
	if m := b.management; m != nil {
		errs = append(errs, inTime(ctx, "the statistics of the management API", func() error { // which may be later than we wait
			m.Close()
			return nil
		}))
		b.management = nil
	}
	errs = append(errs, inTime(ctx, "the dead-letter index", b.index.Close))
	return errors.Join(append(errs, b.engine.CloseBy(ctx))...)
}

// inTime closes something that may wait for the disk, unless that takes longer than ctx.
func inTime(ctx context.Context, what string, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s: not closed in time: %w", what, context.Cause(ctx))
	}
}

// closeDoors ends all connections and requests; those that do not end by themselves get half of the time of ctx.
func (b *Broker) closeDoors(ctx context.Context) (errs []error) {
	all := ctx
	if end, ok := ctx.Deadline(); ok {
		half, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		ctx = half
	}
	b.engine.EndBackups() // which may take hours
	var pages sync.WaitGroup
	shut := make([]error, len(b.pages))
	for i, p := range b.pages {
		pages.Go(func() { shut[i] = p.close(ctx) })
	}
	if b.amqp != nil {
		amqp := func() error { // a connection that waits for the disk ends when the engine gives up
			if err := b.amqp.Close(ctx); err != nil && !errors.Is(err, ctx.Err()) {
				return err
			}
			return nil
		}
		errs = append(errs, inTime(all, "AMQP connections", amqp))
	}
	errs = append(errs, inTime(all, "HTTP requests", func() error {
		pages.Wait()
		return errors.Join(shut...)
	}))
	for range b.unfinished {
		select {
		case err := <-b.serving:
			if err != nil && !errors.Is(err, http.ErrServerClosed) {
				errs = append(errs, err)
			}
		case <-all.Done():
		}
	}
	b.unfinished = 0
	return errs
}

// secret is what lets the user who runs the broker administer it without a password: a file that only they
// can read. Source: docs/compat/cli.md#1.
func (b *Broker) secret() (string, error) {
	if b.config.Data == "" {
		return "", nil
	}
	path := filepath.Join(b.config.Data, "ctl-secret")
	if old, err := os.ReadFile(path); err == nil && len(old) > 0 {
		return string(old), nil
	}
	secret := newSecret()
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		return "", fmt.Errorf("secret for local administration: %w", err)
	}
	return secret, nil
}
