package management

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/management/console"
	"github.com/bartleby-mq/bartleby/internal/management/deadletter"
	"github.com/bartleby-mq/bartleby/internal/management/definitions"
	"github.com/bartleby-mq/bartleby/internal/management/metrics"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// Server serves the management API below /api, the metrics at /metrics, and the web console at /. Its methods may be
// called by any goroutine. The options' Engine must be open until Close has returned.
type Server struct {
	*web.Shared
	options     Options
	started     time.Time
	routes      *node
	sampler     *stats.Sampler
	auditor     *auditor
	origins     *http.CrossOriginProtection
	attempts    attempts
	resources   *resources.API
	definitions *definitions.API
	deadletter  *deadletter.API
	reader      *stats.Reader
	metrics     *metrics.Server
	console     *console.Console
	sessions    sessions
	streams     streams
	openAPI     func() (openAPIText, error)
	strangers   chan struct{} // holds one for each request under way that needs no login
}

// New returns a server that is ready to serve. It reads the broker's counters now and then until it is closed.
func New(o Options) *Server {
	o.complete()
	common := web.NewShared(web.SharedOptions{
		Engine: o.Engine, Log: o.Log, Node: o.Node, PathPrefix: o.PathPrefix, BodyBytesMax: o.BodyBytesMax, HideStatistics: o.NoStatistics,
	})
	s := &Server{
		Shared: common, options: o, started: time.Now(), routes: &node{},
		sampler: stats.NewSampler(o.Engine, o.Roster, o.KeepReadings, o.Log),
		auditor: newAuditor(o.Engine), origins: o.CORS.protection(),
	}
	common.Audit = s.note
	s.openAPI = sync.OnceValues(s.makeOpenAPI)
	s.strangers = make(chan struct{}, strangersAtOnce)
	s.reader = stats.NewReader(common, s.sampler)
	s.metrics = metrics.New(o.Metrics, metrics.Sources{
		Shared: common, Product: o.Product, Version: o.Version, Started: s.started, Roster: o.Roster, Index: o.Index,
		Reader: s.reader, Streams: s.streams.count,
		Admit: func(hr *http.Request) error {
			r := &web.Request{Request: hr, Shared: common, View: common.Engine.Accounts()}
			return s.logIn(r, authz.Monitoring)
		},
	})
	s.resources = resources.New(resources.Options{
		Shared: common, Roster: o.Roster, Sampler: s.sampler, Reader: s.reader, Passwords: o.Passwords,
		NoOperatorPolicies: o.NoOperatorPolicyChanges,
	})
	s.definitions = definitions.New(definitions.Options{
		Shared: common, Resources: s.resources, Passwords: o.Passwords, Product: o.Product, Version: o.Version,
		NoOperatorPolicies: o.NoOperatorPolicyChanges,
	})
	s.deadletter = deadletter.New(common, o.Index, s.sampler, s.reader)
	s.console = console.New(o.PathPrefix, o.Log)
	for _, e := range s.endpoints() {
		if o.NoOperatorPolicyChanges && e.Changes() && strings.HasPrefix(e.Path(), "operator-policies/") {
			continue // 405
		}
		e.Serve = s.wrapped(&e)
		s.routes.add(&e)
	}
	s.restoreSessions()
	go s.sampler.Run()
	return s
}

// Metrics is what answers Prometheus on a port of its own.
func (s *Server) Metrics() http.Handler { return s.metrics.Handler() }

// Close ends the reading of counters. Requests under way are the http.Server's to wait for; do that first.
func (s *Server) Close() {
	s.sampler.Close()
	s.storeSessions(true)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	maps.Copy(w.Header(), s.options.Headers)
	if s.Engine.Waiting() != nil { // what is shown may not be safe yet
		w.Header().Set("X-Bartleby-State", stateWaiting)
	}
	s.options.CORS.allow(w.Header(), hr)
	r := &web.Request{Request: hr, Shared: s.Shared, Writer: w, View: s.Engine.Accounts()}
	if s.metrics.ServeBesideAPI(w, hr) || s.serveTool(w, hr) || s.console.Serve(w, hr) {
		return
	}
	began := time.Now()
	defer func() { // an export may panic
		r.Ready()
		r.Account.End()
	}()
	a, err := s.answer(r)
	if err == nil && a.Stream != nil {
		err = web.NewStream(r, &a).Run()
		a.Sent = true
	}
	if err != nil && !errors.Is(err, web.ErrCutShort) {
		err = r.AfterDeletion(err)
		a = web.Refusal(err)
		if a.Status >= http.StatusInternalServerError && !errors.Is(err, fairshare.ErrTooManyTasks) && !errors.Is(err, web.ErrNoMemory) {
			s.Log.Error("management request failed", "method", hr.Method, "path", hr.URL.Path, "error", err)
		}
	}
	web.Send(w, r, a)
	route := ""
	if r.Endpoint != nil {
		route = r.Endpoint.Route()
	}
	s.metrics.NoteAnswer(route, r.Method, a.Status, time.Since(began))
	if errors.Is(err, web.ErrCutShort) {
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
}

// answer finds the endpoint that the path names, and has it serve.
func (s *Server) answer(r *web.Request) (web.Answer, error) {
	below := s.Below(r.Request)
	path, ok := strings.CutPrefix(below, "/api/")
	switch {
	case !ok && below == "" && strings.HasPrefix(r.URL.Path, "/api/"): // whoever knows no prefix asks so
		return web.Answer{}, &api.Error{Status: http.StatusNotFound, Kind: web.ErrNotFound.Kind, Reason: "Not Found: the API is below " + s.PathPrefix}
	case !ok:
		return web.Answer{}, web.ErrNotFound
	}
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, escaped := range segments {
		name, err := url.PathUnescape(escaped)
		if err != nil {
			return web.Answer{}, web.BadRequest("malformed escape in '%s'", escaped)
		}
		segments[i] = name
	}
	found := s.routes.find(segments)
	if found == nil {
		return web.Answer{}, web.ErrNotFound
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method == http.MethodOptions {
		header := http.Header{"Allow": {found.allowed()}}
		s.options.CORS.preflight(r.Writer.Header(), r.Request, found.allowed())
		return web.Answer{Status: http.StatusOK, Header: header}, nil
	}
	to, ok := found.methods[method]
	if !ok {
		return web.Answer{}, &web.MethodNotAllowedError{Allow: found.allowed()}
	}
	r.Endpoint = to
	r.SetPathValues(segments)
	return to.Serve(r)
}
