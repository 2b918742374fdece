package management

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// An answer is what an endpoint found out, before it is JSON.
type answer struct {
	status int
	body   any                  // nil: none, or it is in text
	text   []byte               // JSON, of the columns that were asked for
	stream func(*listing) error // writes JSON while it makes it; then body and text are nil
	sent   bool                 // already
	header http.Header
	paged  bool // body is a page: columns are those of its items
}

func ok(body any) (answer, error) { return answer{status: http.StatusOK, body: body}, nil }

// nothing is the answer to what was done and has no more to say.
func nothing() (answer, error) { return answer{status: http.StatusNoContent}, nil }

// put tells what was made from what was there.
func put(created bool) (answer, error) {
	if created {
		return answer{status: http.StatusCreated}, nil
	}
	return nothing()
}

// send renders a and sends it.
func send(w http.ResponseWriter, r *request, a answer) {
	if a.sent {
		return
	}
	h := w.Header()
	if a.body == nil && a.text == nil {
		setHeader(w, &a)
		r.ready()
		if a.status != http.StatusNoContent {
			h.Set("Content-Length", "0")
		}
		w.WriteHeader(a.status)
		return
	}
	text, err := render(r, a)
	if err != nil {
		r.server.options.Log.Error("cannot encode the response", "path", r.URL.Path, "error", err)
		http.Error(w, `{"error":"internal_server_error","reason":"the cannot encode the response"}`, http.StatusInternalServerError)
		return
	}
	if len(text) >= largeAnswer {
		if err := r.takeAnswer(int64(cap(text))); err != nil {
			send(w, r, refusal(err))
			return
		}
	}
	setHeader(w, &a)
	if len(text) >= gzipBytesMin && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = compress(text, gzip.BestSpeed) // a long list is worth the network's time but not the client's
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	r.ready()
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		if err := writePieces(w, text); err != nil {
			r.server.options.Log.Debug("client closed the connection before the response was sent", "path", r.URL.Path, "error", err)
		}
	}
}

// setHeader sets what the header of an answer says, but for its length and coding.
func setHeader(w http.ResponseWriter, a *answer) {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "accept, accept-encoding, origin")
	if h.Get("Content-Type") == "" && (a.body != nil || a.text != nil || a.stream != nil) {
		h.Set("Content-Type", "application/json")
	}
}

// writePieces writes an answer. Whoever asked has takeWithin for each piece of it, so that what is not read does not stay in
// memory.
func writePieces(w http.ResponseWriter, text []byte) error {
	var to io.Writer = w
	if len(text) > answerPiece {
		to = &pacedWriter{w: w, control: http.NewResponseController(w)}
	}
	_, err := to.Write(text)
	return err
}

// render makes JSON of an answer, of the columns that were asked for only.
func render(r *request, a answer) ([]byte, error) {
	switch {
	case a.text != nil:
		return a.text, nil
	case a.stream != nil:
		var whole bytes.Buffer
		l := newListing(r, &a)
		l.to = &whole
		err := a.stream(l)
		return append(whole.Bytes(), l.piece...), err
	}
	text, err := encode(a.body)
	columns := columnsOf(cmp.Or(r.URL.Query().Get("columns"), r.fields))
	if err != nil || columns == nil || a.status != http.StatusOK {
		return text, err
	}
	if !a.paged {
		return appendFields(nil, text, columns), nil
	}
	items := fieldOf(text, []string{"items"})
	at := bytes.LastIndex(text, items)
	return append(appendFields(slices.Clone(text[:at]), items, columns), text[at+len(items):]...), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func compress(text []byte, level int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level) // neither a level that there is nor writing to a buffer can fail
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

// acceptsJSON reports whether a client that says what it takes, takes JSON.
func acceptsJSON(headers []string) bool {
	asked := false
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			if kind == "" {
				continue
			}
			asked = true
			switch kind {
			case "*/*", "application/*", "application/json":
				if !zeroQuality(parameters) {
					return true
				}
			}
		}
	}
	return !asked
}

func acceptsGzip(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			coding, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") && !zeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}

// zeroQuality reports whether the parameters say q=0: not acceptable at all.
func zeroQuality(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if q, err := strconv.ParseFloat(value, 64); strings.EqualFold(name, "q") && err == nil && q == 0 {
			return true
		}
	}
	return false
}
