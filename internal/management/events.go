package management

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) eventEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/events", Tag: authz.Management, Serve: s.getEvents, Media: "text/event-stream", Scope: web.AllNodes,
			Summary: "Changes as server-sent events: topics=overview,queues,jobs,messages,alarms",
		},
	}
}

// Streams of events tell consoles what changed, so that they need not ask again and again.
const (
	// streamsMax bounds them, userStreamsMax those of one user; who finds no space asks now and then instead.
	streamsMax, userStreamsMax = 200, 40
	// streamEvery is how often what a stream tells is looked at, and streamShare how many times longer than that took
	// it pauses at least: with very many queues, streams cost little of a processor all the same.
	streamEvery = time.Second
	streamShare = 20
	// streamSharedFor is for how long what was found out for one stream serves others of the same user.
	streamSharedFor = 900 * time.Millisecond
	// streamSilenceMax is how long a stream says nothing before a heartbeat.
	streamSilenceMax = 15 * time.Second
	// streamPatience is how long a client has to take an event.
	streamPatience = 30 * time.Second
)

// A topic finds out what is told to a caller, as it would for the request of an endpoint.
type topic func(r *web.Request) (web.Answer, error)

// topics are what may be asked for.
func (s *Server) topics() map[string]topic {
	return map[string]topic{
		"overview": s.getOverview, "queues": s.getQueueDigest, "jobs": s.getJobDigest, "letters": s.getDeadLetterDigest, "alarms": getAlarmDigest,
	}
}

// streams are those that are open.
type streams struct {
	mu struct {
		sync.Mutex
		ended chan struct{} // closed when no more are wanted; nil: nobody asked yet
		over  bool
		open  int
		users map[string]int                    // of open
		said  map[string]map[string]cachedEvent // by caller, who has a stream, and topic
	}
}

// A cachedEvent is what a topic had to say at an instant.
type cachedEvent struct {
	at   time.Time
	text []byte
}

// enter makes space for a stream; done is closed when it has to end.
func (s *streams) enter(user string) (done <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.over || s.mu.open >= streamsMax || s.mu.users[user] >= userStreamsMax {
		return nil, false
	}
	if s.mu.ended == nil {
		s.mu.ended, s.mu.users, s.mu.said = make(chan struct{}), map[string]int{}, map[string]map[string]cachedEvent{}
	}
	s.mu.open++
	s.mu.users[user]++
	return s.mu.ended, true
}

func (s *streams) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.open--
	if s.mu.users[user]--; s.mu.users[user] == 0 {
		delete(s.mu.users, user)
		delete(s.mu.said, user)
	}
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.open
}

func (s *streams) recent(user, topic string, now time.Time) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.mu.said[user][topic]
	return t.text, ok && now.Sub(t.at) < streamSharedFor
}

func (s *streams) keep(user, topic string, t cachedEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.said[user] == nil {
		s.mu.said[user] = map[string]cachedEvent{}
	}
	s.mu.said[user][topic] = t
}

// EndStreams ends the streams of events, which would go on for ever, and lets no more begin. Call it when the HTTP
// server shuts down; more than once is no harm.
func (s *Server) EndStreams() {
	m := &s.streams.mu
	m.Lock()
	defer m.Unlock()
	if !m.over && m.ended != nil {
		close(m.ended)
	}
	m.over = true
}

// getEvents tells what changes until the caller leaves. Each event has the name of a topic, and as data what that says
// now; it comes when that differs from what the stream told last, so that an event that was missed is made up for by
// the next. The id counts the events of a stream: a browser that connects again says the last one, and is told
// everything anew.
func (s *Server) getEvents(r *web.Request) (web.Answer, error) {
	asked, err := s.topicsOf(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	user := r.Caller.Name()
	done, ok := s.streams.enter(user)
	if !ok {
		return web.Answer{}, &api.Error{Status: http.StatusServiceUnavailable, Kind: "service_unavailable", Reason: "too many event streams: poll instead"}
	}
	defer s.streams.leave(user)
	to := &stream{Request: r, server: s, control: http.NewResponseController(r.Writer), last: map[string][]byte{}}
	h := r.Writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	// of the request as a whole; a server without deadlines has none to lift
	_ = to.control.SetReadDeadline(time.Time{})
	r.Writer.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		to.run(asked, done)
	}
	return web.Answer{Status: http.StatusOK, Sent: true}, nil
}

func (s *Server) topicsOf(query url.Values) ([]string, error) {
	asked := strings.Split(query.Get("topics"), ",")
	for _, name := range asked {
		if s.topics()[name] == nil {
			return nil, web.BadRequest("unknown topic '%s': use overview, queues, jobs, messages or alarms", name)
		}
	}
	slices.Sort(asked)
	return slices.Compact(asked), nil
}

// A stream is what one caller is told.
type stream struct {
	*web.Request
	server  *Server
	control *http.ResponseController
	last    map[string][]byte // by topic, what was told last
	spoke   time.Time
	id      int
}

// run tells until the caller leaves, may no longer listen, or done is closed.
func (s *stream) run(asked []string, done <-chan struct{}) {
	if s.write("retry: 3000\n\n") != nil {
		return
	}
	for {
		began := time.Now()
		for _, name := range asked {
			if s.tell(name) != nil {
				return
			}
		}
		if time.Since(s.spoke) >= streamSilenceMax && s.write(": still here\n\n") != nil {
			return
		}
		select {
		case <-time.After(max(streamEvery, streamShare*time.Since(began))):
		case <-done:
			return
		case <-s.Context().Done():
			return
		}
		if s.View = s.server.Engine.Accounts(); s.server.logIn(s.Request, authz.Management) != nil {
			return
		}
	}
}

// tell sends an event if there is news.
func (s *stream) tell(name string) error {
	text, err := s.find(name)
	if err != nil { // a virtual host that stands still, say: the next look may have more luck
		return s.Context().Err()
	}
	if bytes.Equal(text, s.last[name]) {
		return nil
	}
	s.last[name] = text
	s.id++
	return s.write(fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", name, s.id, text))
}

// find finds out what a topic says, or what it said a moment ago to the same user.
func (s *stream) find(name string) ([]byte, error) {
	user, now := s.Caller.Name(), time.Now()
	if text, ok := s.server.streams.recent(user, name, now); ok {
		return text, nil
	}
	ctx, cancel := context.WithTimeout(s.Context(), web.LookPatience)
	defer cancel()
	asks := inside(s.Request, ctx)
	defer asks.Ready()
	a, err := s.server.topics()[name](asks)
	if err != nil {
		return nil, err
	}
	text, err := web.Render(asks, a)
	if err == nil {
		s.server.streams.keep(user, name, cachedEvent{now, text})
	}
	return text, err
}

// inside is a request of the same caller for something else, without a query.
func inside(r *web.Request, ctx context.Context) *web.Request {
	plain := r.Clone(ctx)
	plain.URL = &url.URL{Path: r.URL.Path}
	return &web.Request{Request: plain, Shared: r.Shared, Writer: r.Writer, View: r.View, Caller: r.Caller}
}

func (s *stream) write(text string) error {
	s.spoke = time.Now()
	_ = s.control.SetWriteDeadline(s.spoke.Add(streamPatience)) // likewise
	if _, err := s.Writer.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
