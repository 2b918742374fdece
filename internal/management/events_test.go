package management

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var at0 = time.Unix(1_700_000_000, 0)

// listener reads a stream of events.
type listener struct {
	t      *testing.T
	events chan [2]string // name, data
	ended  chan struct{}
}

func (d *door) listen(t *testing.T, base, topics string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/x/events?topics="+topics, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(d.user)))
	r.Header.Set("Last-Event-ID", "17")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", answer.Status, answer.Header)
	}
	l := &listener{t, make(chan [2]string, 100), make(chan struct{})}
	go func() {
		defer close(l.ended)
		name := ""
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				l.events <- [2]string{name, data}
			}
		}
	}()
	return l
}

// await waits for an event of a topic with a text in it.
func (l *listener) await(name, text string) {
	l.t.Helper()
	patience := time.After(20 * time.Second)
	for {
		select {
		case e := <-l.events:
			if e[0] == name && strings.Contains(e[1], text) {
				return
			}
		case <-l.ended:
			l.t.Fatalf("the stream ended before %s said %s", name, text)
		case <-patience:
			l.t.Fatalf("%s never said %s", name, text)
		}
	}
}

func TestEvents(t *testing.T) {
	// If this fails, consoles are not told what changes, are told what they may not see, or keep a broker from shutting
	// down.
	t.Parallel()
	d := open(t)
	web := httptest.NewServer(d.server)
	t.Cleanup(web.Close)
	d.want(201, "PUT", "/api/users/clerk", `{"password":"p","tags":"management"}`)
	d.want(201, "PUT", "/api/vhosts/secret", "")
	d.want(201, "PUT", "/api/permissions/%2F/clerk", `{"configure":".*","write":".*","read":".*"}`)
	all, some := d.listen(t, web.URL, "overview,queues,letters,alarms,jobs"), d.as("clerk:p").listen(t, web.URL, "letters,queues")
	all.await("letters", `"secret"`)
	all.await("queues", `"queues":0`)
	e := <-some.events
	if e[0] != "letters" || strings.Contains(e[1], "secret") || !strings.Contains(e[1], `"vhost":"/"`) {
		t.Errorf("a user with fewer rights is told %v", e)
	}
	d.want(201, "PUT", "/api/queues/secret/q", `{"durable":true}`)
	all.await("queues", `"queues":1`)
	if metrics := d.want(200, "GET", "/metrics", "").Body.String(); !strings.Contains(metrics, "bartleby_ui_sse_clients 2\n") {
		t.Error("the metric does not count streams")
	}
	d.want(201, "PUT", "/api/queues/secret/dead", `{"durable":true}`)
	d.want(200, "POST", "/api/exchanges/secret/amq.default/publish",
		`{"routing_key":"dead","payload":"","payload_encoding":"string",
		"properties":{"headers":{"x-exception-message":"no"}}}`)
	all.await("letters", `"dead":1`)
	d.want(204, "DELETE", "/api/queues/secret/dead/contents", "")
	all.await("letters", `"vhost":"secret","dead":0`)
	d.want(204, "DELETE", "/api/users/clerk", "")
	<-some.ended
	d.server.EndStreams()
	d.server.EndStreams()
	<-all.ended
	d.refused(503, "service_unavailable", "too many", "GET", "/api/x/events?topics=jobs", "")
	d.refused(400, "bad_request", "unknown topic 'news'", "GET", "/api/x/events?topics=jobs,news", "")
}

func TestStreamsAreBounded(t *testing.T) {
	// If this fails, consoles that are left open use up the broker.
	t.Parallel()
	var s streams
	for i := range streamsMax {
		if _, ok := s.enter(fmt.Sprint("user", i/userStreamsMax)); !ok {
			t.Fatal("no room for as many as there may be")
		}
	}
	if _, ok := s.enter("another"); ok {
		t.Error("there is room for one more")
	}
	s.keep("user0", "queues", cachedEvent{})
	for range userStreamsMax {
		s.leave("user0")
	}
	if len(s.mu.said) != 0 || len(s.mu.users) != streamsMax/userStreamsMax-1 {
		t.Errorf("of who left is kept %v, %v", s.mu.said, s.mu.users)
	}
	if _, ok := s.enter("user1"); ok {
		t.Error("one user takes all the room")
	}
	if _, ok := s.enter("another"); !ok {
		t.Error("those that left leave no room")
	}
}
