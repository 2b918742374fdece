package management

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

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// MetricsOptions say how metrics are served on a port of their own.
type MetricsOptions struct {
	Path      string // of the first page, others are below; empty: /metrics. Source: RabbitMQ prometheus.path
	PerObject bool   // the first page shows single objects. Source: RabbitMQ prometheus.return_per_object_metrics
	LogIn     bool   // not for everybody, but for users who may watch. Source: RabbitMQ prometheus.authentication.enabled
}

// Metrics returns what answers Prometheus under RabbitMQ's names, and what has no name there under ours, in four pages: totals;
// below, /per-object, /detailed with the families that the query names, and /memory-breakdown.
// Source: RabbitMQ prometheus; reference metrics 1.
func (s *Server) Metrics() http.Handler {
	o := s.options.Metrics
	o.Path = cmp.Or(o.Path, usualMetrics)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) { s.serveMetrics(w, hr, hr.URL.Path, o) })
}

// usualMetrics is the path of the first page. Source: RabbitMQ prometheus.path.
const usualMetrics = "/metrics"

// besideAPI serves the pages of metrics at the port of the API, and reports whether the path is of one.
func (s *Server) besideAPI(w http.ResponseWriter, hr *http.Request) bool {
	path := s.below(hr)
	if path != usualMetrics && !strings.HasPrefix(path, usualMetrics+"/") {
		return false
	}
	o := s.options.Metrics
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

func (s *Server) serveMetrics(w http.ResponseWriter, hr *http.Request, path string, o MetricsOptions) {
	p, err := s.metricsPage(hr, path, o)
	switch {
	case err == nil && hr.Method == http.MethodOptions:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		return
	case err == nil && hr.Method != http.MethodGet && hr.Method != http.MethodHead:
		err = &methodNotAllowed{allow: "GET, HEAD, OPTIONS"}
	}
	if err != nil {
		send(w, &request{Request: hr, server: s, writer: w, view: s.engine.Access()}, refusal(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if p.open {
		h.Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	}
	h.Set("Vary", "Accept, Accept-Encoding")
	zipped := acceptsGzip(hr.Header.Values("Accept-Encoding"))
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
		send(w, &request{Request: hr, server: s, writer: w, view: s.engine.Access()}, refusal(err))
		return
	}
	defer text.leave()
	if err := text.write(w, zipped); err != nil {
		s.options.Log.Debug("client closed the connection before the metrics were sent", "error", err)
	}
}

// page is one page of metrics.
type page struct {
	server   *Server
	endpoint string
	open     bool // OpenMetrics
	families []string
	detail   detail
	cluster  string

	permanent string // what tells the cluster from others for ever
	narrowed  string // what of the query narrows it
}

// key tells pages apart that show different things.
func (p *page) key() string {
	return fmt.Sprintf("%s %t %q %s", p.endpoint, p.open, p.families, p.narrowed)
}

// metricsPage finds out what is asked for.
func (s *Server) metricsPage(hr *http.Request, path string, o MetricsOptions) (*page, error) {
	r := &request{Request: hr, server: s, view: s.engine.Access()}
	if o.LogIn {
		if err := r.logIn(monitoring); err != nil {
			return nil, err
		}
	}
	p := &page{server: s, cluster: r.clusterName(), permanent: r.clusterID(), open: acceptsOpenMetrics(hr.Header.Values("Accept"))}
	query := hr.URL.Query()
	switch below, ok := strings.CutPrefix(path, o.Path); {
	case !ok:
		return nil, errNotFound
	case below == "" && !o.PerObject, below == "/default":
		p.endpoint = aggregated
	case below == "", below == "/"+perObject:
		p.endpoint = perObject
		p.detail = detail{queues: true, inflows: true, exchanges: true, channels: true}
	case below == "/"+detailed:
		p.endpoint, p.families = detailed, query["family"]
		p.detail = detailOf(p.families)
	case below == "/"+breakdown:
		p.endpoint = breakdown
	default:
		return nil, errNotFound
	}
	if p.endpoint == aggregated {
		p.detail.channels, p.detail.lint = true, true // they are counted
	}
	return p, p.narrow(query)
}

// narrow takes the virtual hosts and queues that a query wants, all if it names none.
func (p *page) narrow(query url.Values) error {
	p.narrowed = fmt.Sprintf("%q %q", query["vhost"], query.Get("queue"))
	if names := query["vhost"]; len(names) > 0 && p.endpoint != aggregated {
		p.detail.vhosts = func(name string) bool { return slices.Contains(names, name) }
	}
	pattern := query.Get("queue")
	if pattern == "" || p.endpoint == aggregated {
		return nil
	}
	if len(pattern) > patternBytesMax {
		return badRequest("queue must not exceed %d bytes", patternBytesMax)
	}
	if err := regex.Check(pattern, patternSizeMax); err != nil {
		return badRequest("queue is not a regular expression: %v", err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return badRequest("queue is not a regular expression: %v", err)
	}
	p.detail.queue = re.MatchString
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

// identity is what queries of dashboards join on. Source: RabbitMQ prometheus; reference metrics 2.
func (p *page) identity(x *exposition) {
	o := p.server.options
	x.family("rabbitmq_build_info", gauge, "RabbitMQ & Erlang/OTP version info")
	add(x, "rabbitmq_build_info", 1, "rabbitmq_version", api.RabbitMQVersion, "prometheus_plugin_version", api.RabbitMQVersion,
		"prometheus_client_version", o.Version, "erlang_version", goVersion(), "product_name", o.Product, "product_version", o.Version)
	x.family("rabbitmq_identity_info", gauge, "RabbitMQ node & cluster identity info")
	add(x, "rabbitmq_identity_info", 1, "rabbitmq_node", o.Node, "rabbitmq_cluster", p.cluster,
		"rabbitmq_cluster_permanent_id", p.permanent, "rabbitmq_endpoint", p.endpoint)
}

// clusterIDParameter is the global parameter that holds what tells a cluster from others for ever: definitions of a RabbitMQ bring it
// along. Source: RabbitMQ internal_cluster_id.
const clusterIDParameter = "internal_cluster_id"

// clusterID is what was set, or else the node's name.
func (r *request) clusterID() string {
	if g, ok := r.view.GlobalParameter(clusterIDParameter); ok {
		var id string
		if err := json.Unmarshal(g.Value, &id); err == nil && id != "" {
			return id
		}
	}
	return r.server.options.Node
}

// acceptsOpenMetrics reports whether a scraper that says what it takes, takes OpenMetrics.
func acceptsOpenMetrics(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "application/openmetrics-text") && !zeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}
