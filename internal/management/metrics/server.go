package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/regex"
	"github.com/bartleby-mq/bartleby/internal/search"
)

// Options say how metrics are served on a port of their own.
type Options struct {
	Path      string // of the first page, others are below; empty: /metrics. Source: RabbitMQ prometheus.path
	PerObject bool   // the first page shows single objects. Source: RabbitMQ prometheus.return_per_object_metrics
	// not for everybody, but for users who may watch. Source: RabbitMQ prometheus.authentication.enabled
	LogIn bool
}

// A Server serves pages of metrics.
type Server struct {
	*web.Shared
	options Options
	from    Sources
	scraper *scraper
}

// Sources are what metrics are read from.
type Sources struct {
	Shared           *web.Shared
	Product, Version string
	Started          time.Time
	Roster           stats.Roster
	Index            *search.Index
	Reader           *stats.Reader
	Admit            func(*http.Request) error // refuses who may not read metrics
	Streams          func() int                // how many event streams are open
}

// New returns a server of metrics.
func New(o Options, from Sources) *Server {
	return &Server{Shared: from.Shared, options: o, from: from, scraper: newScraper()}
}

// NoteAnswer counts an answer of the API.
func (s *Server) NoteAnswer(route, method string, status int, took time.Duration) {
	s.scraper.answers.note(route, method, status, took)
}

// Handler is what answers Prometheus under RabbitMQ's names, and what has no name there under ours, in four pages:
// totals; below, /per-object, /detailed with the families that the query names, and /memory-breakdown.
// Source: RabbitMQ prometheus; docs/compat/metrics.md#1.
func (s *Server) Handler() http.Handler {
	o := s.options
	o.Path = cmp.Or(o.Path, usualMetrics)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) { s.serveMetrics(w, hr, hr.URL.Path, o) })
}

// usualMetrics is the path of the first page. Source: RabbitMQ prometheus.path.
const usualMetrics = "/metrics"

// ServeBesideAPI serves the pages of metrics at the port of the API, and reports whether the path is of one.
func (s *Server) ServeBesideAPI(w http.ResponseWriter, hr *http.Request) bool {
	path := s.Below(hr)
	if path != usualMetrics && !strings.HasPrefix(path, usualMetrics+"/") {
		return false
	}
	o := s.options
	o.Path = usualMetrics
	s.serveMetrics(w, hr, path, o)
	return true
}

// endpoint names are what rabbitmq_identity_info tells apart.
const (
	aggregated = "aggregated"
	perObject  = "per-object"
	detailed   = "detailed"
	breakdown  = "memory-breakdown"
)

func (s *Server) serveMetrics(w http.ResponseWriter, hr *http.Request, path string, o Options) {
	p, err := s.metricsPage(hr, path, o)
	switch {
	case err == nil && hr.Method == http.MethodOptions:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		return
	case err == nil && hr.Method != http.MethodGet && hr.Method != http.MethodHead:
		err = &web.MethodNotAllowedError{Allow: "GET, HEAD, OPTIONS"}
	}
	if err != nil {
		web.Send(w, &web.Request{Request: hr, Shared: s.Shared, Writer: w, View: s.Engine.Accounts()}, web.Refusal(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if p.open {
		h.Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	}
	h.Set("Vary", "Accept, Accept-Encoding")
	zipped := web.AcceptsGzip(hr.Header.Values("Accept-Encoding"))
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	if hr.Method == http.MethodHead {
		return
	}
	text, err := s.scraper.share(hr.Context(), p)
	if err != nil {
		h.Del("Content-Encoding")
		h.Del("Content-Type")
		web.Send(w, &web.Request{Request: hr, Shared: s.Shared, Writer: w, View: s.Engine.Accounts()}, web.Refusal(err))
		return
	}
	defer text.leave()
	if err := text.write(w, zipped); err != nil {
		s.Log.Debug("client closed the connection before the metrics were sent", "error", err)
	}
}

// page is one page of metrics.
type page struct {
	server   *Server
	endpoint string
	open     bool // OpenMetrics
	families []string
	detail   stats.Detail
	cluster  string

	permanent string // what tells the cluster from others for ever
	narrowed  string // what of the query narrows it
}

// key tells pages apart that show different things.
func (p *page) key() string {
	return fmt.Sprintf("%s %t %q %s", p.endpoint, p.open, p.families, p.narrowed)
}

// metricsPage finds out what is asked for.
func (s *Server) metricsPage(hr *http.Request, path string, o Options) (*page, error) {
	if o.LogIn {
		if err := s.from.Admit(hr); err != nil {
			return nil, err
		}
	}
	view := s.Engine.Accounts()
	p := &page{server: s, cluster: cmp.Or(view.ClusterName(), s.Node), permanent: clusterID(view, s.Node), open: acceptsOpenMetrics(hr.Header.Values("Accept"))}
	query := hr.URL.Query()
	switch below, ok := strings.CutPrefix(path, o.Path); {
	case !ok:
		return nil, web.ErrNotFound
	case below == "" && !o.PerObject, below == "/default":
		p.endpoint = aggregated
	case below == "", below == "/"+perObject:
		p.endpoint = perObject
		p.detail = stats.Detail{Queues: true, Inflows: true, Exchanges: true, Channels: true}
	case below == "/"+detailed:
		p.endpoint, p.families = detailed, query["family"]
		p.detail = detailOf(p.families)
	case below == "/"+breakdown:
		p.endpoint = breakdown
	default:
		return nil, web.ErrNotFound
	}
	if p.endpoint == aggregated {
		p.detail.Channels, p.detail.Lint = true, true // they are counted
	}
	return p, p.narrow(query)
}

// narrow takes the virtual hosts and queues that a query wants, all if it names none.
func (p *page) narrow(query url.Values) error {
	p.narrowed = fmt.Sprintf("%q %q", query["vhost"], query.Get("queue"))
	if names := query["vhost"]; len(names) > 0 && p.endpoint != aggregated {
		p.detail.VHosts = func(name string) bool { return slices.Contains(names, name) }
	}
	pattern := query.Get("queue")
	if pattern == "" || p.endpoint == aggregated {
		return nil
	}
	if len(pattern) > web.PatternBytesMax {
		return web.BadRequest("queue must not exceed %d bytes", web.PatternBytesMax)
	}
	if err := regex.Check(pattern, web.PatternSizeMax); err != nil {
		return web.BadRequest("queue is not a regular expression: %v", err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return web.BadRequest("queue is not a regular expression: %v", err)
	}
	p.detail.Queue = re.MatchString
	return nil
}

// write makes the page.
func (p *page) write(ctx context.Context, to io.Writer) error {
	s := p.server
	x := newExposition(to, p.open)
	p.identity(x)
	switch p.endpoint {
	case breakdown:
		memoryMetrics(x)
		return x.end()
	case detailed:
		if len(p.families) == 0 {
			return x.end()
		}
	}
	g := s.gather(ctx, p.detail)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	now := &scrape{exposition: x, gathered: g, page: p, once: map[string]bool{}}
	for _, f := range metricFamilies() {
		if p.endpoint == detailed && !slices.Contains(p.families, f.name) || p.endpoint == aggregated && f.objects {
			continue
		}
		f.write(now)
	}
	return x.end()
}

// identity is what queries of dashboards join on. Source: RabbitMQ prometheus; docs/compat/metrics.md#2.
func (p *page) identity(x *exposition) {
	o := p.server.from
	x.family("rabbitmq_build_info", gauge, "RabbitMQ & Erlang/OTP version info")
	add(x, "rabbitmq_build_info", 1, "rabbitmq_version", api.RabbitMQVersion, "prometheus_plugin_version", api.RabbitMQVersion,
		"prometheus_client_version", o.Version, "erlang_version", stats.GoVersion(), "product_name", o.Product, "product_version", o.Version)
	x.family("rabbitmq_identity_info", gauge, "RabbitMQ node & cluster identity info")
	add(x, "rabbitmq_identity_info", 1, "rabbitmq_node", p.server.Node, "rabbitmq_cluster", p.cluster,
		"rabbitmq_cluster_permanent_id", p.permanent, "rabbitmq_endpoint", p.endpoint)
}

// clusterIDParameter is the global parameter that holds what tells a cluster from others for ever: definitions of a
// RabbitMQ bring it along. Source: RabbitMQ internal_cluster_id.
const clusterIDParameter = "internal_cluster_id"

// clusterID is what was set, or else the node's name.
func clusterID(view *accounts.View, node string) string {
	if g, ok := view.GlobalParameter(clusterIDParameter); ok {
		var id string
		if err := json.Unmarshal(g.Value, &id); err == nil && id != "" {
			return id
		}
	}
	return node
}

// acceptsOpenMetrics reports whether a scraper that says what it takes, takes OpenMetrics.
func acceptsOpenMetrics(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "application/openmetrics-text") && !web.ZeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}
