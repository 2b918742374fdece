package management

import (
	"bytes"
	"encoding/base64"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const linesType = "application/x-ndjson"

// A carried letter is a copy of one on its way into an export.
type carried struct {
	letter           api.Letter
	properties, body []byte
}

// An exporter writes letters, a line each. What it has taken in the virtual host's loop it writes outside.
type exporter struct {
	request *request
	how     *showing
	begun   bool
	taken   []carried
	bytes   int
	written int
}

// exportLetters sends the letters of a queue, the lost ones or all of a virtual host as lines of JSON that can be imported.
func exportLetters(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	if err := r.caller.NeedWith(authz.Payload); err != nil {
		return answer{}, err
	}
	query := r.URL.Query()
	f, err := r.siftBy(query.Get("filter"))
	if err != nil {
		return answer{}, err
	}
	newest, err := newestFirst(query, false)
	if err != nil {
		return answer{}, err
	}
	s, err := r.exportFrom(query)
	if err != nil {
		return answer{}, err
	}
	if err := r.take(4 * exportPortion); err != nil {
		return answer{}, err
	}
	e := &exporter{request: r, how: &showing{host: r.names[0], ahead: r.server.ahead(r.names[0])}}
	if r.Method == http.MethodHead {
		return answer{status: http.StatusOK, header: http.Header{"Content-Type": {linesType}}}, nil
	}
	if err := r.server.note(r, http.StatusOK, nil); err != nil { // it carries letters away, and may be cut off when it has
		return answer{}, err
	}
	if s != nil {
		err = e.place(s, f, newest)
	} else {
		err = e.all(f, newest)
	}
	if err == nil {
		err = e.write()
	}
	switch {
	case err == nil:
		e.begin()
		r.writer.Header().Set(http.TrailerPrefix+api.ExportTrailer, strconv.Itoa(e.written))
		return answer{sent: true}, nil
	case e.begun:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
	return answer{}, err
}

// exportFrom reads which place is meant; nil is all of them.
func (r *request) exportFrom(query url.Values) (*spot, error) {
	s := &spot{host: r.names[0], Where: vhost.Where{Queue: query.Get("queue"), Lost: r.flag("lost")}}
	switch {
	case s.Lost && s.Queue != "":
		return nil, badRequest("give either 'queue' or 'lost', not both")
	case s.Lost:
		return s, nil
	case s.Queue == "":
		return nil, nil
	}
	found := false
	if err := r.look(s.host, func(v *vhost.VHost) { _, found = v.Topology().Queue(s.Queue) }); err != nil {
		return nil, err
	}
	if !found {
		return nil, errNotFound
	}
	if err := r.caller.NeedRead(s.host, s.Queue); err != nil {
		return nil, err
	}
	return s, nil
}

// place exports the messages of one place.
func (e *exporter) place(s *spot, f *sift.Filter, newest bool) error {
	w := e.request.walkThrough(s, f, 0, newest)
	for !w.ended {
		w.budget, w.most = e.request.turn.Budget(walkPatience), math.MaxInt
		var failed error
		err := w.each(func(v *vhost.VHost, x *vhost.Seen) bool {
			o, _ := v.Options()
			e.how.dialect = o.Dialect
			failed = e.take(x)
			return failed == nil && e.bytes < exportPortion
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			err = e.write()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all exports the letters of all places.
func (e *exporter) all(f *sift.Filter, newest bool) error {
	r := e.request
	may := r.seeAt(r.names[0])
	q := search.Query{VHost: r.names[0], Filter: f, Limit: exportLetterMax, May: func(at vhost.Where, lastQueue string) bool {
		return at.Schedule == "" && may(at, lastQueue) // what waits there has its instant, which no import gives back
	}}
	if !newest {
		q.Order = search.Oldest
	}
	for {
		var failed error
		a, err := r.server.options.Index.Search(r.Context(), q, func(x *vhost.Seen, _ *sift.Message) {
			if failed == nil {
				failed = e.take(x)
			}
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			err = e.write()
		}
		if err != nil || a.Next == "" {
			return err
		}
		q.After = a.Next
	}
}

// take copies a letter, inside the virtual host's loop.
func (e *exporter) take(x *vhost.Seen) error {
	l, err := e.how.letter(x)
	content := x.Content()
	c := carried{letter: l, properties: bytes.Clone(content.Properties), body: bytes.Clone(content.Body)}
	e.taken, e.bytes = append(e.taken, c), e.bytes+len(c.properties)+len(c.body)+carriedBytes
	return err
}

func (e *exporter) begin() {
	if !e.begun {
		e.begun = true
		h := e.request.writer.Header()
		h.Set("Content-Type", linesType)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Disposition", `attachment; filename="letters.ndjson"`)
		e.request.writer.WriteHeader(http.StatusOK)
	}
}

// send sends a line. It waits for who reads slowly.
func (e *exporter) send(line []byte) error {
	e.begin()
	e.request.takesLong(takeWithin)
	_, err := e.request.writer.Write(line)
	return err
}

// write sends what was taken.
func (e *exporter) write() error {
	for i := range e.taken {
		c := &e.taken[i]
		line := api.Exported{Letter: c.letter, PropertiesRaw: base64.StdEncoding.EncodeToString(c.properties)}
		payload := base64.StdEncoding.EncodeToString(c.body)
		line.Payload, line.PayloadEncoding = &payload, "base64"
		text, err := encode(line)
		if err != nil {
			return err
		}
		if err := e.request.turn.Away(func() error { return e.send(append(text, '\n')) }); err != nil {
			return err
		}
		e.written++
		if err := e.request.turn.Rest(e.request.Context()); err != nil {
			return err
		}
	}
	e.taken, e.bytes = e.taken[:0], 0
	return nil
}
