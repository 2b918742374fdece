package bartleby

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqpserver"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/listener"
	"github.com/bartleby-mq/bartleby/internal/logging"
	"github.com/bartleby-mq/bartleby/internal/management"
	"github.com/bartleby-mq/bartleby/internal/management/metrics"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/search"
)

// TLS names the files of a certificate, and says what clients must have. Files that change are read again.
type TLS = listener.TLS

// Clients is what AMQP clients get and may: limits, logins, timeouts. Begin with DefaultClients; Log, ClusterName,
// Platform and Connections are filled in.
type Clients = amqpserver.Options

// Plugins names what RabbitMQ has as plugins and a Broker always does.
func Plugins() []string { return api.Plugins() }

// Mechanisms are the ways to log in that Clients may offer.
func Mechanisms() []string { return slices.Clone(amqpserver.Mechanisms) }

// CertLogin says where in a client's certificate the name of its user is.
type CertLogin = amqpserver.CertLogin

// DefaultClients is what RabbitMQ gives and allows.
func DefaultClients() *Clients {
	c := amqpserver.Defaults()
	return &c
}

// First is what an empty broker begins with.
type First = accounts.Defaults

// Passwords says how passwords that are set from now on are kept, and which are refused.
type Passwords = resources.Passwords

// DefaultFirst is virtual host "/", and guest with password guest, who may do everything there.
func DefaultFirst() *First {
	f := accounts.StandardDefaults()
	return &f
}

// Web is what clients of the management API get and may. The zero value is as RabbitMQ has it.
type Web struct {
	CORSOrigins []string      // whose pages may ask, such as https://console.example; "*": anybody's, without credentials
	CORSMaxAge  time.Duration // zero: half an hour
	Headers     http.Header   // of each answer
	PathPrefix  string        // before all paths, such as /rabbitmq
	BodyMax     int64         // bytes of a request; zero: 10 MiB

	NoBasicAuth             bool // passwords are refused
	NoStatistics            bool // definitions are shown, statistics only where they are asked for
	NoOperatorPolicyChanges bool
	// who works with dead letters needs tags besides permissions, see docs/handling-dead-letters.md
	StrictOffice bool
}

// Metrics is what Prometheus gets, on its own port and beside the management API. The zero value is as RabbitMQ has it.
type Metrics struct {
	Path      string // of the totals on its own port, the other pages are below; empty: /metrics
	PerObject bool   // single objects are at Path, too
	LogIn     bool   // for users with the tag monitoring alone
}

// Shown is what tools are told of the configuration.
type Shown struct {
	Settings              func() string // the settings in force as the text of a configuration file, without secrets
	ConfigFiles, LogFiles []string
	Tool                  string        // path of the program that is given out as rabbitmqadmin; empty: none is
	Book                  *logging.Book // the log, whose levels tools may set; nil: they may not
}

// index are the options of the dead-letter index.
func (c *Config) index(e *engine.Engine) search.Options {
	o := search.Options{Broker: e, MaxBytes: c.IndexBytes, Log: c.Log}
	if c.Data != "" && !c.NoIndex {
		o.Dir = filepath.Join(c.Data, "index")
	}
	if size := e.Resources().DiskSize; o.MaxBytes == 0 && size > 0 {
		o.MaxBytes = min(search.MaxBytes, size/indexShare)
	}
	return o
}

// clients are the options of the AMQP server.
func (b *Broker) clients() amqpserver.Options {
	o := amqpserver.Defaults()
	if b.config.Clients != nil {
		o = *b.config.Clients
	}
	o.Log, o.Platform = b.config.Log, "Bartleby "+Version
	o.Node = b.nodeName()
	o.Connections = share(filesMax(), amqpSixteenths)
	b.boundUnfinished(&o)
	return o
}

// unfinishedShare is the part of the memory watermark for unfinished messages: a quarter.
const unfinishedShare = 4

// boundUnfinished fills in what was not configured.
func (b *Broker) boundUnfinished(o *amqpserver.Options) {
	most := engine.Budget{Node: o.UnfinishedMax, User: o.UnfinishedMaxUser, Connection: o.UnfinishedMaxConnection}
	most = most.Or(b.engine.Resources(), unfinishedShare)
	o.UnfinishedMax, o.UnfinishedMaxUser, o.UnfinishedMaxConnection = most.Node, most.User, most.Connection
}

// web are the options of the management API.
func (b *Broker) web(secret string) management.Options {
	c := &b.config
	clients := b.clients()
	o := management.Options{
		Engine: b.engine, Index: b.index, Roster: roster{b.amqp, b.signing}, Listeners: b.shown, Secret: secret, Node: b.nodeName(),
		Product: c.ProductName, Version: cmp.Or(c.ProductVersion, Version), ClusterTags: c.ClusterTags, NodeTags: c.NodeTags,
		LoopbackUsers: append([]string{}, clients.LoopbackUsers...),
		Suspend:       b.suspendListeners, Suspended: b.listenersSuspended,
		Data: c.Data, Log: c.Log, Mechanisms: clients.Mechanisms, ConnectionsMax: clients.ConnectionMax,
		Passwords: c.Passwords,
		CORS:      management.CORS{AllowOrigins: c.Web.CORSOrigins, MaxAge: c.Web.CORSMaxAge},
		Headers:   c.Web.Headers, PathPrefix: c.Web.PathPrefix, BodyBytesMax: c.Web.BodyMax,
		Metrics:     metrics.Options(c.Metrics),
		NoBasicAuth: c.Web.NoBasicAuth, NoOperatorPolicyChanges: c.Web.NoOperatorPolicyChanges, StrictOffice: c.Web.StrictOffice,
		NoStatistics: c.Web.NoStatistics, LoggedIn: loggedIn,
	}
	o.KeepReadings = c.Data != ""
	if c.Shown != nil {
		o.Effective, o.ConfigFiles, o.LogFiles, o.Book = c.Shown.Settings, c.Shown.ConfigFiles, c.Shown.LogFiles, c.Shown.Book
		o.Tool = c.Shown.Tool
	}
	return o
}

// nodeName is what clients and tools are told, in RabbitMQ's form.
func (b *Broker) nodeName() string { return cmp.Or(b.config.NodeName, NodeName()) }
