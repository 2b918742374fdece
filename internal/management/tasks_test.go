package management

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
)

// occupy has a user ask for as much as he may at once, until end: so many places he had taken already.
func (d *door) occupy(name string) (had int, end func()) {
	var all []*fairshare.Task
	for {
		_, task, err := d.server.Share.Begin(d.t.Context(), name)
		if err != nil {
			break
		}
		all = append(all, task)
	}
	return fairshare.UserTasks - len(all), func() {
		for _, task := range all {
			task.End()
		}
	}
}

// holds is how many places a user has taken.
func (d *door) holds(name string) int {
	n, end := d.occupy(name)
	end()
	return n
}

func TestWhatTakesNoTurn(t *testing.T) {
	// If this fails, what stops a job waits for searches, or what looks through messages does so beside the messages
	// without a rest.
	t.Parallel()
	d := withDeadLetters(t, 3)
	delayed := `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"direct"}}`
	d.want(http.StatusCreated, "PUT", "/api/exchanges/%2F/late", delayed)
	d.operator("ok", "management", "", "", ".*")
	id := read[api.MessagePage](d, deadLetters).Items[0].ID
	job := d.redrive(`{"source":{"queue":"dead"},"filter":"header.n:1","target":{"to":"queue","queue":"work"},"options":{"rate":1}}`)
	named := redrives + "/" + strconv.FormatInt(job.ID, 10)

	_, end := d.occupy("guest")
	const search, late = "/api/x/letters/%2F", "/api/x/scheduled/%2F/late"
	for _, c := range []struct{ method, path, body string }{
		{"GET", search, ""}, {"GET", search + "/groups", ""}, {"GET", search + "/export?queue=dead", ""}, {"HEAD", search, ""},
		{"GET", search + "/summary", ""}, {"GET", "/api/x/letters", ""}, {"GET", deadLetters, ""}, {"GET", "/api/x/lost-letters/%2F", ""},
		{"GET", "/api/x/lost-letters/%2F/messages", ""}, {"GET", "/api/x/held/%2F/dead", ""}, {"GET", "/api/x/waiting/%2F/dead", ""},
		{"GET", "/api/x/scheduled", ""}, {"GET", "/api/x/scheduled/%2F", ""}, {"GET", late, ""}, {"GET", "/api/x/lint", ""},
		{"GET", "/api/x/lint/%2F", ""}, {"GET", "/api/x/topology/%2F", ""}, {"GET", "/api/x/paths/%2F/dead", ""},
		{"PUT", "/api/x/dry-run/policies/%2F/p", `{"pattern":".","definition":{"max-length":1}}`}, {"DELETE", "/api/x/dry-run/policies/%2F/p", ""},
		{"POST", redrives, `{"source":{"queue":"dead"},"dry_run":true,"ids":["` + id + `"]}`},
		{"POST", search + "/import?queue=work&once=true", ""},
	} {
		if w := d.want(503, c.method, c.path, c.body); w.Header().Get("Retry-After") != "1" ||
			c.method != "HEAD" && !strings.Contains(w.Body.String(), "32 of your searches, scans") {
			t.Errorf("%s %s: %v %s", c.method, c.path, w.Header(), w.Body)
		}
	}
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{200, "GET", redrives, ""}, {200, "GET", named, ""}, {200, "POST", named + "/pause", ""}, {200, "PATCH", named, `{"rate":5}`},
		{200, "POST", named + "/resume", ""}, {200, "POST", named + "/cancel", ""}, {204, "DELETE", named, ""},
		{202, "POST", redrives, `{"source":{"queue":"dead"},"filter":"header.n:2","max":1}`},
		{202, "POST", redrives, `{"source":{"queue":"dead"},"ids":["` + id + `"],"target":{"to":"queue","queue":"work"}}`},
		{404, "GET", deadLetters + "/99", ""}, {404, "GET", deadLetters + "/99/payload", ""}, {404, "POST", deadLetters + "/99/resend", "{}"},
		{200, "DELETE", "/api/x/lost-letters/%2F", ""}, {404, "DELETE", "/api/x/lost-letters/%2F/1", ""},
		{404, "GET", late + "/1-1", ""}, {404, "DELETE", late + "/1-1", ""}, {404, "POST", late + "/1-1/fire", ""}, {404, "DELETE", late + "/key/k", ""},
		{404, "GET", late + "/key/k", ""}, {200, "DELETE", late, ""}, {200, "POST", search + "/import?queue=work", ""}, {200, "GET", "/api/whoami", ""},
	} {
		if w := d.send(c.method, c.path, c.body); w.Code != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, w.Code, w.Body, c.status)
		}
	}
	d.as("ok:p").want(200, "GET", search, "")
	end()
	d.want(200, "GET", search, "")
	d.want(400, "GET", search+"?limit=x", "")
	d.want(400, "POST", redrives, `{"source":{"queue":"none"},"filter":"header.n:2"}`)
	if n := d.holds("guest"); n != 0 {
		t.Errorf("%d places are taken when all is answered", n)
	}
}

// A slow is a body that comes when it is let.
type slow struct {
	asked chan struct{}
	comes io.Reader
}

// Read implements io.Reader.
func (s *slow) Read(b []byte) (int, error) {
	s.asked <- struct{}{}
	return s.comes.Read(b)
}

func TestWhoSendsNothingHoldsNoPlace(t *testing.T) {
	// If this fails, bodies that come slowly count as work, for which all others wait.
	t.Parallel()
	d := withDeadLetters(t, 1)
	for _, c := range [][3]string{
		{"POST", redrives, `{"source":{"queue":"dead"},"dry_run":true}`},
		{"PUT", "/api/x/dry-run/policies/%2F/p", `{"pattern":".","definition":{"max-length":1}}`},
		{"PUT", "/api/x/dry-run/operator-policies/%2F/p", `{"pattern":".","definition":{"max-length":1}}`},
		{"POST", "/api/x/letters/%2F/import?queue=dead&once=true", ""},
	} {
		body := &slow{make(chan struct{}), strings.NewReader(c[2])}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequest(c[0], c[1], body)
			r.RemoteAddr = d.from
			r.SetBasicAuth("guest", "guest")
			w := httptest.NewRecorder()
			if d.server.ServeHTTP(w, r); w.Code != 200 {
				t.Errorf("%v: %d %s", c, w.Code, w.Body)
			}
		}()
		<-body.asked
		if n := d.holds("guest"); n != 0 {
			t.Errorf("%v whose body has not come holds %d places", c, n)
		}
		go func() {
			for range body.asked {
			}
		}()
		<-ended
		close(body.asked)
	}
}

// A stuck is a client that does not read its answer.
type stuck struct {
	http.ResponseWriter
	writes, reads chan struct{}
	err           error
}

// Write implements http.ResponseWriter.
func (s *stuck) Write(b []byte) (int, error) {
	s.writes <- struct{}{}
	<-s.reads
	return len(b), s.err
}

func TestWhoReadsNothingHoldsNoPlace(t *testing.T) {
	// If this fails, clients that do not read what they asked for use up the places of a user.
	t.Parallel()
	d := withDeadLetters(t, 1)
	for _, path := range []string{deadLetters, "/api/x/letters/%2F/export?queue=dead"} {
		for _, err := range []error{nil, context.Canceled} {
			s := &stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{}), err}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() { _ = recover() }() // an export that is not read is cut off
				r := httptest.NewRequest("GET", path, nil)
				r.RemoteAddr = d.from
				r.SetBasicAuth("guest", "guest")
				d.server.ServeHTTP(s, r)
			}()
			<-s.writes
			if n := d.holds("guest"); n != 0 {
				t.Errorf("%s that nobody reads holds %d places", path, n)
			}
			close(s.reads)
			<-ended
			if n := d.holds("guest"); n != 0 {
				t.Errorf("%s has ended and holds %d places", path, n)
			}
		}
	}
}

func TestStrangersAreServedOneAtATime(t *testing.T) {
	// If this fails, somebody without a login keeps all processor cores busy with requests that need none, or keeps
	// those who log in waiting. It is not parallel: it counts what the process allocates.
	d := open(t)
	for len(d.server.strangers) < strangersAtOnce {
		d.server.strangers <- struct{}{}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, path := range []string{"/api/version", "/api/x/openapi.json", "/api/x/session", "/api/health/checks/is-in-service"} {
		w := httptest.NewRecorder()
		d.server.ServeHTTP(w, httptest.NewRequest("GET", path, nil).WithContext(gone))
		if w.Code == http.StatusOK {
			t.Errorf("%s was served beside another", path)
		}
	}
	d.want(http.StatusOK, "GET", "/api/whoami", "")
	<-d.server.strangers
	get := func() *bytes.Buffer { return d.send("GET", "/api/x/openapi.json", "", "Accept-Encoding", "gzip").Body }
	first := get()
	if again := get(); again.String() != first.String() || first.Len() == 0 {
		t.Errorf("the document has %d bytes, then %d", first.Len(), again.Len())
	}
	if n := allocated(func() { get() }); n > 1<<20 {
		t.Errorf("to send the document allocates %d bytes: it is made each time", n)
	}
}
