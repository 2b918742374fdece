package web

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"time"
	"unicode/utf8"
)

// A Stream writes a long answer while the answer is made: rows are read in small portions, encoded, and sent
// when there are enough of them. It holds no more than one portion and one piece, however long the list is
// and however slowly the client reads. An answer that fits into one piece is sent with its length, and can
// still become a refusal before that.
//
// What a list in portions shows is not of one moment: each row is as it was when its portion was read. What
// is there all the while is shown once; what comes or goes meanwhile is shown or is not.
type Stream struct {
	request *Request
	answer  *Answer
	to      io.Writer // once the answer has begun: the client, or what compresses for it
	gzip    *gzip.Writer
	columns [][]string // of each row; nil: all
	chosen  *selection // of the type that the last row had

	piece []byte // not sent yet
	row   bytes.Buffer
	short []byte // a row's columns
	json  *json.Encoder
	held  int // bytes of row and short that are counted
	made  int // bytes of rows since the request's turn was looked at
	first bool
}

// errEnough ends a listing of which the client wants no more.
var errEnough = errors.New("the client closed the connection")

// ErrCutShort says that an answer has failed after its beginning was sent.
var ErrCutShort = errors.New("the response is incomplete")

// Streamed answers with a list: rows are what each passes on, which may be the same object again and again.
func (r *Request) Streamed(each func(row func(any) error) error) (Answer, error) {
	columns := r.columns()
	return Answer{Status: http.StatusOK, Stream: func(l *Stream) error {
		l.columns = columns
		return l.List(each)
	}}, nil
}

// StreamedPage answers with an object, page, whose first member is items: rows are what each passes on.
func (r *Request) StreamedPage(page any, each func(row func(any) error) error) (Answer, error) {
	text, err := Encode(page)
	if err != nil {
		return Answer{}, err
	}
	rest, ok := bytes.CutPrefix(text, []byte(noItems))
	if !ok {
		panic("management: a page does not begin with its items, which are none")
	}
	columns := r.columns()
	return Answer{Status: http.StatusOK, Stream: func(l *Stream) error {
		l.columns = columns
		if err := l.Text(noItems[:len(noItems)-2]); err != nil {
			return err
		}
		if err := l.List(each); err != nil {
			return err
		}
		_, err := l.Write(rest)
		return err
	}}, nil
}

const noItems = `{"items":[]`

// StreamedRow answers with one row.
func (r *Request) StreamedRow(row any) (Answer, error) {
	columns := r.columns()
	return Answer{Status: http.StatusOK, Stream: func(l *Stream) error {
		l.columns, l.first = columns, true
		return l.add(row)
	}}, nil
}

func NewStream(r *Request, a *Answer) *Stream {
	l := &Stream{request: r, answer: a}
	l.json = json.NewEncoder(&l.row)
	l.json.SetEscapeHTML(false)
	return l
}

// List writes a list of the rows that each passes on.
func (l *Stream) List(each func(row func(any) error) error) error {
	if err := l.Text("["); err != nil {
		return err
	}
	l.first = true
	if err := each(l.add); err != nil {
		return err
	}
	return l.Text("]")
}

// A PayloadRow is a row that ends with the payload of a message, which is encoded piece by piece: the JSON of a whole
// one takes many times its size.
type PayloadRow struct {
	Row     any // an object without payload and payload_encoding
	Payload []byte
	Base64  bool // else it is text
}

// add writes a row.
func (l *Stream) add(v any) error {
	l.row.Reset()
	long, _ := v.(*PayloadRow)
	if long != nil {
		v = long.Row
	}
	if l.made >= workBytes || !l.request.turn.Holds() {
		l.made = 0
		if err := l.request.Work(); err != nil {
			return err
		}
	}
	text, err := l.encode(v)
	if err != nil {
		return err
	}
	l.made += max(len(text), l.row.Len())
	if n := l.row.Cap() + cap(l.short); n > LargeAnswer && n > l.held {
		if err := l.request.Take(int64(n - l.held)); err != nil {
			return err
		}
		l.held = n
	}
	if !l.first {
		if err := l.Text(","); err != nil {
			return err
		}
	}
	l.first = false
	if long != nil {
		return l.addPayload(bytes.TrimSuffix(text, []byte("}")), long)
	}
	_, err = l.Write(text)
	return err
}

// encode makes JSON of a row, of the columns that are wanted.
func (l *Stream) encode(row any) (text []byte, err error) {
	if l.columns != nil {
		if text, ok, err := l.selected(row); ok || err != nil {
			return text, err
		}
		l.row.Reset()
	}
	if err := l.json.Encode(row); err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(l.row.Bytes(), []byte("\n"))
	if l.columns != nil {
		l.short = appendFields(l.short[:0], text, l.columns)
		text = l.short
	}
	return text, nil
}

// addPayload writes a row that lacks its closing brace, its payload, and the brace.
func (l *Stream) addPayload(row []byte, p *PayloadRow) error {
	_, err := l.Write(row)
	comma := len(row) > 1
	member := func(name string, value func() error) {
		wanted := l.columns == nil
		if !wanted {
			wanted, _ = descendColumns(l.columns, []byte(`"`+name+`"`))
		}
		if err != nil || !wanted {
			return
		}
		if comma {
			name = `,"` + name
		} else {
			name = `"` + name
		}
		comma = true
		if err = l.Text(name + `":"`); err == nil {
			err = value()
		}
		if err == nil {
			err = l.Text(`"`)
		}
	}
	if p.Base64 {
		member("payload", func() error { return l.base64(p.Payload) })
		member("payload_encoding", func() error { return l.Text("base64") })
	} else {
		member("payload", func() error { return l.text(p.Payload) })
		member("payload_encoding", func() error { return l.Text("string") })
	}
	if err != nil {
		return err
	}
	return l.Text("}")
}

func (l *Stream) base64(b []byte) error {
	w := base64.NewEncoder(base64.StdEncoding, l)
	if _, err := w.Write(b); err != nil {
		return err
	}
	return w.Close()
}

// text writes valid UTF-8 as the inside of a string.
func (l *Stream) text(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), textPiece)
		for n < len(b) && !utf8.RuneStart(b[n]) {
			n++
		}
		l.row.Reset()
		if err := l.json.Encode(string(b[:n])); err != nil {
			return err
		}
		quoted := bytes.TrimSuffix(l.row.Bytes(), []byte("\n"))
		if _, err := l.Write(quoted[1 : len(quoted)-1]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// Text writes JSON as it is.
func (l *Stream) Text(s string) error {
	_, err := l.Write([]byte(s))
	return err
}

// Write implements io.Writer.
func (l *Stream) Write(p []byte) (int, error) {
	if l.piece == nil {
		l.piece = make([]byte, 0, StreamPiece)
	}
	n := len(p)
	for len(p) > 0 {
		k := copy(l.piece[len(l.piece):cap(l.piece)], p)
		l.piece, p = l.piece[:len(l.piece)+k], p[k:]
		if len(l.piece) == cap(l.piece) {
			if err := l.send(); err != nil {
				return n - len(p), err
			}
		}
	}
	return n, nil
}

// send sends a piece, and before the first one the header.
func (l *Stream) send() error {
	r := l.request
	if l.to == nil {
		if err := r.Take(StreamBytes); err != nil {
			return err
		}
		setHeader(r.Writer, l.answer)
		paced := &pacedWriter{request: r, w: r.Writer, control: http.NewResponseController(r.Writer)}
		l.to = paced
		if AcceptsGzip(r.Header.Values("Accept-Encoding")) && r.Account.tries(streamGzipBytes) {
			l.gzip, _ = gzip.NewWriterLevel(paced, gzip.BestSpeed) // a level that there is
			l.to = l.gzip
			r.Writer.Header().Set("Content-Encoding", "gzip")
		}
		r.Ready()
		r.Writer.WriteHeader(l.answer.Status)
		if r.Method == http.MethodHead {
			return errEnough
		}
	}
	_, err := l.to.Write(l.piece)
	l.piece = l.piece[:0]
	return err
}

// Run makes the answer and sends it. An error other than errCutShort says that nothing was sent.
func (l *Stream) Run() error {
	err := l.answer.Stream(l)
	switch {
	case err == nil && l.to == nil:
		return l.whole()
	case err == nil:
		if err = l.send(); err == nil && l.gzip != nil {
			err = l.gzip.Close()
		}
	}
	switch {
	case err == nil, l.to == nil:
		return err
	case errors.Is(err, errEnough):
		return nil
	}
	l.request.Log.Debug("client closed the connection before the response was sent", "path", l.request.URL.Path, "error", err)
	return ErrCutShort
}

// whole sends an answer that fits into one piece.
func (l *Stream) whole() error {
	a := *l.answer
	a.Stream, a.Text = nil, l.piece
	Send(l.request.Writer, l.request, a)
	return nil
}

// A pacedWriter sends to a client that has takeWithin for each answerPiece.
// Meanwhile others have the turn of the request.
type pacedWriter struct {
	request *Request
	w       io.Writer
	control *http.ResponseController
	sent    int64
	until   int64 // bytes that may be sent before the deadline moves on
}

// Write implements io.Writer.
func (w *pacedWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if w.sent >= w.until {
			_ = w.control.SetWriteDeadline(time.Now().Add(TakeWithin)) // a server without deadlines has none to set
			w.until = w.sent + answerPiece
		}
		var k int
		err = w.request.Aside(func() (err error) {
			k, err = w.w.Write(p[:min(int64(len(p)), w.until-w.sent)])
			return err
		})
		w.sent, n, p = w.sent+int64(k), n+k, p[k:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// ItemsBytes is about what a slice of items takes.
func ItemsBytes[T any](n int) int64 { return int64(n) * int64(reflect.TypeFor[T]().Size()) }
