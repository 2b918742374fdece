package web

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

// An Answer is what an endpoint found out, before it is JSON.
type Answer struct {
	Status int
	Body   any                 // nil: none, or it is in text
	Text   []byte              // JSON, of the columns that were asked for
	Zipped []byte              // text as gzip has it, if that is known
	Stream func(*Stream) error // writes JSON while it makes it; then body and text are nil
	Sent   bool                // already
	Header http.Header
	Paged  bool // body is a page: columns are those of its items
}

func OK(body any) (Answer, error) { return Answer{Status: http.StatusOK, Body: body}, nil }

// NoContent is the answer to what was done and has no more to say.
func NoContent() (Answer, error) { return Answer{Status: http.StatusNoContent}, nil }

// PutAnswer answers 201 if something was created, else 204.
func PutAnswer(created bool) (Answer, error) {
	if created {
		return Answer{Status: http.StatusCreated}, nil
	}
	return NoContent()
}

// Send renders a and sends it.
func Send(w http.ResponseWriter, r *Request, a Answer) {
	if a.Sent {
		return
	}
	h := w.Header()
	if a.Body == nil && a.Text == nil {
		setHeader(w, &a)
		r.Ready()
		if a.Status != http.StatusNoContent {
			h.Set("Content-Length", "0")
		}
		w.WriteHeader(a.Status)
		return
	}
	text, err := Render(r, a)
	if err != nil && r.Context().Err() != nil {
		return // the client has gone
	}
	if err != nil {
		r.Log.Error("cannot encode the response", "path", r.URL.Path, "error", err)
		http.Error(w, `{"error":"internal_server_error","reason":"cannot encode the response"}`, http.StatusInternalServerError)
		return
	}
	if len(text) >= LargeAnswer {
		if err := r.TakeAnswer(int64(cap(text))); err != nil {
			Send(w, r, Refusal(err))
			return
		}
	}
	setHeader(w, &a)
	if len(text) >= gzipBytesMin && AcceptsGzip(r.Header.Values("Accept-Encoding")) && r.mayCompress(len(text)) {
		h.Set("Content-Encoding", "gzip")
		if a.Zipped != nil {
			text = a.Zipped
		} else {
			text = Compress(text, gzip.BestSpeed) // a long list is worth the network's time but not the client's
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	r.Ready()
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		if err := writePieces(r, w, text); err != nil {
			r.Log.Debug("client closed the connection before the response was sent", "path", r.URL.Path, "error", err)
		}
	}
}

// setHeader sets what the header of an answer says, but for its length and coding.
func setHeader(w http.ResponseWriter, a *Answer) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "accept, accept-encoding, origin")
	if h.Get("Content-Type") == "" && (a.Body != nil || a.Text != nil || a.Stream != nil) {
		h.Set("Content-Type", "application/json")
	}
}

// writePieces writes an answer. Whoever asked has takeWithin for each piece of it, so that what is not read does not
// stay in memory.
func writePieces(r *Request, w http.ResponseWriter, text []byte) error {
	var to io.Writer = w
	if len(text) > answerPiece {
		to = &pacedWriter{request: r, w: w, control: http.NewResponseController(w)}
	}
	_, err := to.Write(text)
	return err
}

// Render makes JSON of an answer, of the columns that were asked for only.
func Render(r *Request, a Answer) ([]byte, error) {
	switch {
	case a.Text != nil:
		return a.Text, nil
	case a.Stream != nil:
		var whole bytes.Buffer
		l := NewStream(r, &a)
		l.to = &whole
		err := a.Stream(l)
		return append(whole.Bytes(), l.piece...), err
	}
	if err := r.Work(); err != nil {
		return nil, err
	}
	text, err := Encode(a.Body)
	columns := columnsOf(cmp.Or(r.URL.Query().Get("columns"), r.fields))
	if err != nil || columns == nil || a.Status != http.StatusOK {
		return text, err
	}
	if !a.Paged {
		return appendFields(nil, text, columns), nil
	}
	items := FieldOf(text, []string{"items"})
	at := bytes.LastIndex(text, items)
	return append(appendFields(slices.Clone(text[:at]), items, columns), text[at+len(items):]...), nil
}

func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func Compress(text []byte, level int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level) // neither a level that there is nor writing to a buffer can fail
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

// AcceptsJSON reports whether a client that says what it takes, takes JSON.
func AcceptsJSON(headers []string) bool {
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
				if !ZeroQuality(parameters) {
					return true
				}
			}
		}
	}
	return !asked
}

func AcceptsGzip(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			coding, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") && !ZeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}

// ZeroQuality reports whether the parameters say q=0: not acceptable at all.
func ZeroQuality(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if q, err := strconv.ParseFloat(value, 64); strings.EqualFold(name, "q") && err == nil && q == 0 {
			return true
		}
	}
	return false
}
