package management

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/logging"
	"github.com/bartleby-mq/bartleby/internal/management/console"
	"github.com/bartleby-mq/bartleby/internal/management/metrics"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/search"
)

// Options configure a Server. Engine is required, the rest has defaults.
type Options struct {
	Engine    *engine.Engine
	Roster    stats.Roster      // nil: no connection is ever shown
	Listeners func() []Listener // nil: none is shown
	Index     *search.Index     // finds dead letters; nil: each search reads all messages
	// Secret, sent as bearer token, makes the caller an administrator to whom no permission is denied; empty:
	// nobody.
	Secret        string
	LoopbackUsers []string // who may log in from this machine only; nil: guest
	Node          string   // empty: rabbit@ and the host's name
	Product       string   // empty: Bartleby
	Version       string   // of the product
	Data          string   // the data directory; empty: in memory
	KeepReadings  bool     // statistics and sessions outlive a restart, in the data directory
	// ClusterTags and NodeTags are shown in the overview. Source: RabbitMQ cluster_tags, node_tags.
	ClusterTags, NodeTags map[string]string
	Log                   *slog.Logger

	ConnectionsMax int // of clients, from which on they are refused; 0: no limit

	ConfigFiles, LogFiles []string // as GET /api/nodes shows them
	Mechanisms            []string // SASL mechanisms of the listeners for clients; nil: PLAIN and AMQPLAIN
	// Effective returns the configuration in force as the text of a configuration file, secrets left out; nil: it is
	// not known.
	Effective func() string
	// Book is the log, whose levels are set here; nil: it is somebody else's.
	Book *logging.Book

	Passwords resources.Passwords
	CORS      CORS
	Metrics   metrics.Options // at /metrics beside the API they hold as well, but for the path
	// Headers are added to every answer, such as Strict-Transport-Security. Content-Security-Policy has a default.
	Headers    http.Header
	Suspend    func(on bool) error // shuts the ports of AMQP for a while; nil: they are somebody else's
	Suspended  func() bool         // whether they are shut; nil: they are not
	Tool       string              // path of the program that is given out as rabbitmqadmin; empty: none is
	PathPrefix string              // before /api and everything else, such as /rabbit; empty: nothing
	// BodyBytesMax bounds a request body, in bytes; 0: 10 MiB. Source: RabbitMQ management.http.max_body_size.
	BodyBytesMax int64
	// LoggedIn is told of each request whose sender has logged in, before its body is read; nil: nobody is.
	LoggedIn func(*http.Request)
	// NoStatistics shows definitions without statistics unless a query says disable_stats=false.
	// Source: RabbitMQ management.disable_stats.
	NoStatistics bool
	// NoBasicAuth refuses passwords: only the secret is taken. Source: RabbitMQ management.disable_basic_auth.
	NoBasicAuth bool
	// NoOperatorPolicyChanges refuses to change operator policies with 405.
	// Source: RabbitMQ management.restrictions.operator_policy_changes.disabled.
	NoOperatorPolicyChanges bool
	// StrictOffice requires a tag to see payloads, and to redrive, discard or edit messages, besides the permissions on
	// queues and exchanges: see docs/handling-dead-letters.md.
	StrictOffice bool
}

// A Listener is a listener of the broker.
type Listener struct {
	Protocol string // amqp, amqp/ssl, http, https, http/prometheus, …
	Address  string // IP address
	Port     int
	TLS      bool
	// Certificate is the file of its certificate, and CertificateExpires when that is no longer valid; zero without
	// TLS.
	Certificate        string
	CertificateExpires time.Time
}

func (o *Options) complete() {
	if o.Roster == nil {
		o.Roster = stats.NoRoster{}
	}
	if o.Index == nil {
		o.Index = search.Open(search.Options{Broker: o.Engine})
	}
	if o.Listeners == nil {
		o.Listeners = func() []Listener { return nil }
	}
	if o.LoopbackUsers == nil {
		o.LoopbackUsers = []string{"guest"}
	}
	if o.Mechanisms == nil {
		o.Mechanisms = []string{"PLAIN", "AMQPLAIN"}
	}
	if o.CORS.MaxAge == 0 {
		o.CORS.MaxAge = corsMaxAgeUsual
	}
	if o.LoggedIn == nil {
		o.LoggedIn = func(*http.Request) {}
	}
	if o.BodyBytesMax == 0 {
		o.BodyBytesMax = bodyBytesMax
	}
	o.PathPrefix = strings.TrimRight(o.PathPrefix, "/")
	headers := http.Header{"Content-Security-Policy": {console.APIPolicy}}
	for name, values := range o.Headers {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	o.Headers = headers
	if o.Product == "" {
		o.Product = "Bartleby"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		o.Node = "rabbit@" + host
	}
}
