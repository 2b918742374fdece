package deadletter

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) exportEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/letters/{vhost}/export", Tag: authz.Management, Serve: s.exportMessages, Audit: web.AuditByHandler, Slow: true, Media: "application/x-ndjson", Scope: web.Leader,
			Summary: "Exports dead letters as JSON Lines: of queue=NAME, lost=true, or all; filter, order",
			Out:     api.Exported{},
		},
	}
}

const linesType = "application/x-ndjson"

// An exporter writes messages, one line each. It copies them inside the virtual host's loop and writes them outside.
type exporter struct {
	index   *search.Index
	request *web.Request
	how     *renderer
	begun   bool
	taken   []carried
	bytes   int
	written int
}

// exportMessages sends the messages of a queue, the lost letters or all dead letters of a virtual host as lines of JSON
// that can be imported.
func (s *API) exportMessages(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	if err := r.Caller.NeedWith(authz.Payload); err != nil {
		return web.Answer{}, err
	}
	query := r.URL.Query()
	f, err := r.ParseFilter(query.Get("filter"))
	if err != nil {
		return web.Answer{}, err
	}
	newest, err := newestFirst(query, false)
	if err != nil {
		return web.Answer{}, err
	}
	from, err := exportFrom(r, query)
	if err != nil {
		return web.Answer{}, err
	}
	if err := r.Take(4 * exportPortion); err != nil {
		return web.Answer{}, err
	}
	e := &exporter{index: s.index, request: r, how: wholeRenderer(r, r.PathValue("vhost"))}
	if r.Method == http.MethodHead {
		return web.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {linesType}}}, nil
	}
	if err := r.Audit(r, http.StatusOK, nil); err != nil { // before the export: the connection may break after it
		return web.Answer{}, err
	}
	if from != nil {
		err = e.exportSource(from, f, newest)
	} else {
		err = e.all(f, newest)
	}
	if err == nil {
		err = e.write()
	}
	switch {
	case err == nil:
		e.begin()
		r.Writer.Header().Set(http.TrailerPrefix+api.ExportTrailer, strconv.Itoa(e.written))
		return web.Answer{Sent: true}, nil
	case e.begun:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
	return web.Answer{}, err
}

// exportFrom reads the source of an export; nil means all.
func exportFrom(r *web.Request, query url.Values) (*messageSource, error) {
	s := &messageSource{host: r.PathValue("vhost"), Where: vhost.Where{Queue: query.Get("queue"), Lost: r.Flag("lost")}}
	switch {
	case s.Lost && s.Queue != "":
		return nil, web.BadRequest("give either 'queue' or 'lost', not both")
	case s.Lost:
		return s, nil
	case s.Queue == "":
		return nil, nil
	}
	found := false
	if err := r.Look(s.host, func(v vhost.Reader) { _, found = v.Topology().Queue(s.Queue) }); err != nil {
		return nil, err
	}
	if !found {
		return nil, web.ErrNotFound
	}
	if err := r.Caller.NeedRead(s.host, s.Queue); err != nil {
		return nil, err
	}
	return s, nil
}

// exportSource exports the messages of one source.
func (e *exporter) exportSource(s *messageSource, f *filter.Filter, newest bool) error {
	w := walkThrough(e.request, s, f, 0, newest)
	for !w.ended {
		w.budget, w.most = e.request.Task.Budget(walkPatience), math.MaxInt
		var failed error
		err := w.each(func(v vhost.Reader, x *vhost.Seen) bool {
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

// all exports the dead letters of all sources.
func (e *exporter) all(f *filter.Filter, newest bool) error {
	r := e.request
	may := seeAt(r, r.PathValue("vhost"))
	q := search.Query{VHost: r.PathValue("vhost"), Filter: f, Limit: exportSearchMax, May: func(at vhost.Where, lastQueue string) bool {
		return at.Schedule == "" && may(at, lastQueue) // what waits there has its instant, which no import gives back
	}}
	if !newest {
		q.Order = search.Oldest
	}
	for {
		var failed error
		a, err := e.index.Search(r.Context(), q, func(x *vhost.Seen, _ *filter.Message) {
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

// take copies a message, inside the virtual host's loop. What does not fit into the portion is copied when its line is
// written.
func (e *exporter) take(x *vhost.Seen) (err error) {
	c := e.how.carry(x, true)
	if e.bytes+int(c.cost) <= exportPortion {
		err = e.how.copy(&c, x)
		e.bytes += int(c.cost)
	} else {
		e.bytes += carriedBytes
	}
	e.taken = append(e.taken, c)
	return err
}

func (e *exporter) begin() {
	if !e.begun {
		e.begun = true
		h := e.request.Writer.Header()
		h.Set("Content-Type", linesType)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Disposition", `attachment; filename="letters.ndjson"`)
		h.Set("Trailer", api.ExportTrailer) // else net/http sends what is short with its length, without a trailer
		e.request.Writer.WriteHeader(http.StatusOK)
	}
}

// Write sends a piece of a line. It waits if the client reads slowly.
func (e *exporter) Write(p []byte) (int, error) {
	e.begin()
	e.request.AllowLong(web.TakeWithin)
	return e.request.Writer.Write(p)
}

// write sends the portion.
func (e *exporter) write() error {
	for i := range e.taken {
		if err := e.writeOne(&e.taken[i]); err != nil {
			return err
		}
		e.taken[i] = carried{}
		if err := e.request.Task.Rest(e.request.Context()); err != nil {
			return err
		}
	}
	e.taken, e.bytes = e.taken[:0], 0
	return nil
}

// writeOne sends one message, unless it has gone since it was found.
func (e *exporter) writeOne(c *carried) error {
	if !c.here {
		before := e.request.Account.Taken
		defer func() { e.request.Account.GiveBack(before) }()
		source := &messageSource{host: e.how.host, Where: c.at, id: formatID(c.id)}
		err := foundWithin(e.request, source, e.request.Take, func(_ vhost.Reader, x *vhost.Seen) error {
			return e.how.copy(c, x)
		})
		if errors.Is(err, web.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	line := api.Exported{StoredMessage: c.message, PropertiesRaw: base64.StdEncoding.EncodeToString(c.properties)}
	line.PayloadEncoding = "base64"
	text, err := web.Encode(line)
	if err != nil {
		return err
	}
	e.written++
	return e.request.Task.Away(func() error { return e.send(text, c.body) })
}

// send sends a line, to which it adds the payload piece by piece: a whole one takes many times its size.
func (e *exporter) send(line, body []byte) error {
	w := bufio.NewWriterSize(e, linePiece)
	_, _ = w.Write(bytes.TrimSuffix(bytes.TrimSpace(line), []byte{'}'})) // Flush reports the error
	_, _ = w.WriteString(`,"payload":"`)
	text := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := text.Write(body); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	_, _ = w.WriteString("\"}\n")
	return w.Flush()
}
