package management

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/turns"
)

// Server serves the management API below /api, the metrics at /metrics, and the web console at /. Its methods may be called by any
// goroutine. The options' Engine must be open until Close has returned.
type Server struct {
	options  Options
	engine   *engine.Engine
	started  time.Time
	tree     *node
	sampler  *sampler
	auditor  *auditor
	origins  *http.CrossOriginProtection
	attempts attempts
	importer *importer
	scraper  *scraper
	surveys  chan struct{} // turns at looking through a survey
	paces    paces
	share    *turns.Share  // of the office
	memory   memoryBudget  // of requests
	gathers  chan struct{} // requests that hold a whole list
	rolls    rolls
	console  func() *console
	sessions sessions
	streams  streams
}

// New returns a server that is ready to serve. It reads the broker's counters now and then until it is closed.
func New(o Options) *Server {
	o.complete()
	s := &Server{
		options: o, engine: o.Engine, started: time.Now(), tree: &node{}, sampler: newSampler(o.Engine, o.Roster),
		auditor: newAuditor(o.Engine), origins: o.CORS.protection(), importer: newImporter(o.Engine, o.Log, o.Passwords),
		scraper: newScraper(), gathers: make(chan struct{}, gathersMax), surveys: make(chan struct{}, surveysMax), share: turns.New(o.Engine.Commands),
	}
	s.memory.each = max(userMemoryMin, 6*o.BodyBytesMax)
	s.memory.total, s.memory.patience = s.memory.each*3/2, memoryPatience
	s.importer.locked = o.NoOperatorPolicyChanges
	s.console = sync.OnceValue(s.openConsole)
	for _, r := range routes() {
		if o.NoOperatorPolicyChanges && r.method != get && strings.HasPrefix(r.path, "operator-policies/") {
			continue // 405
		}
		s.tree.add(r)
	}
	go s.sampler.run()
	return s
}

// Close ends the reading of counters. Requests under way are the http.Server's to wait for; do that first.
func (s *Server) Close() { s.sampler.close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	maps.Copy(w.Header(), s.options.Headers)
	if s.engine.Waiting() != nil { // what is shown may not be safe yet
		w.Header().Set("X-Bartleby-State", stateWaiting)
	}
	s.options.CORS.allow(w.Header(), hr)
	r := &request{Request: hr, server: s, writer: w, view: s.engine.Access()}
	if s.besideAPI(w, hr) || s.serveTool(w, hr) || s.serveConsole(w, hr) {
		return
	}
	began := time.Now()
	defer func() { // an export may panic
		r.ready()
		r.account.end()
	}()
	a, err := s.answer(r)
	if err == nil && a.stream != nil {
		err = newListing(r, &a).run()
		a.sent = true
	}
	if err != nil && !errors.Is(err, errCutShort) {
		a = refusal(err)
		if a.status >= http.StatusInternalServerError && !errors.Is(err, turns.ErrPlaces) && !errors.Is(err, errNoMemory) {
			s.options.Log.Error("management request failed", "method", hr.Method, "path", hr.URL.Path, "error", err)
		}
	}
	send(w, r, a)
	s.scraper.answers.note(r.route, r.Method, a.status, time.Since(began))
	if errors.Is(err, errCutShort) {
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
}

// below is the escaped path of a request behind the prefix, "" if it is not below that.
func (s *Server) below(hr *http.Request) string {
	path, ok := strings.CutPrefix(hr.URL.EscapedPath(), s.options.PathPrefix)
	if !ok {
		return ""
	}
	return path
}

// answer finds what the path names, makes sure that the caller may, and serves.
func (s *Server) answer(r *request) (answer, error) {
	below := s.below(r.Request)
	path, ok := strings.CutPrefix(below, "/api/")
	switch {
	case !ok && below == "" && strings.HasPrefix(r.URL.Path, "/api/"): // whoever knows no prefix asks so
		return answer{}, &api.Error{Status: http.StatusNotFound, Kind: errNotFound.Kind, Reason: "Not Found: the API is below " + s.options.PathPrefix}
	case !ok:
		return answer{}, errNotFound
	}
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, escaped := range segments {
		name, err := url.PathUnescape(escaped)
		if err != nil {
			return answer{}, badRequest("malformed escape in '%s'", escaped)
		}
		segments[i] = name
	}
	found := s.tree.find(segments, nil)
	if found == nil {
		return answer{}, errNotFound
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method == http.MethodOptions {
		header := http.Header{"Allow": {found.node.allowed()}}
		s.options.CORS.preflight(r.writer.Header(), r.Request, found.node.allowed())
		return answer{status: http.StatusOK, header: header}, nil
	}
	to, ok := found.node.methods[method]
	if !ok {
		return answer{}, &methodNotAllowed{allow: found.node.allowed()}
	}
	r.names, r.route = found.names, to.path
	if to.need != anybody {
		if err := r.logIn(to.need); err != nil {
			return answer{}, err
		}
		s.options.LoggedIn(r.Request)
	}
	if !slices.Contains(otherKinds, to.path) && !acceptsJSON(r.Header.Values("Accept")) {
		return answer{status: http.StatusNotAcceptable}, nil
	}
	if slices.Contains(atLength, to.method+" "+to.path) {
		if err := r.takeTurn(); err != nil {
			return answer{}, err
		}
	}
	return s.serve(to, r)
}
