package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// answerBytesMax bounds what the client takes from a broker as one answer: a hundred thousand queues are some 100 MiB.
// Backups and exports are streamed, and have no bound. errorBytesMax bounds what it takes of an error.
const (
	answerBytesMax = 128 << 20
	errorBytesMax  = 1 << 20
)

// Error is the body of every answer that is not a success. A Client returns it as error, with the status.
// Source: RabbitMQ management API, errors.
type Error struct {
	Status int    `json:"-"`      // of HTTP
	Kind   string `json:"error"`  // bad_request, not_authorised, Object Not Found, …
	Reason string `json:"reason"` // a sentence for people
	// what the user lacks, for programs, if that is why
	Missing *amqp.Missing `json:"lacks,omitempty"`
	Body    string        `json:"-"` // all of what was answered, of an Error of a Client
}

// Error is the reason, with the status.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Kind, e.Reason)
}

// A Client asks the management API of one broker. It may be used by several goroutines at once.
type Client struct {
	Base     string // http://host:port, with the path prefix if there is one
	User     string // with Password for Basic authentication, unless there is a Token
	Password string
	Token    string       // sent as bearer token; empty is none
	Reason   string       // told to connections that are closed; empty is the broker's own words
	HTTP     *http.Client // nil is http.DefaultClient
}

// Path joins the segments to a path below /api, each escaped: Path("queues", "/", "q") is /api/queues/%2F/q.
func Path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/api")
	for _, s := range segments {
		b.WriteByte('/')
		if s == "." || s == ".." { // which servers and proxies would take for steps of a walk
			b.WriteString(strings.ReplaceAll(s, ".", "%2E"))
			continue
		}
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// Do sends in as JSON, unless it is nil, and reads the answer into out, unless it is nil. The path is one made by
// Path, perhaps with a query. An answer other than 2xx is an *Error; what keeps the broker from being asked at all
// is a *url.Error. The status is 0 if there was no answer.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) (status int, err error) {
	response, err := c.ask(ctx, method, path, in)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := readAnswer(response, method, path)
	if err != nil || out == nil {
		return response.StatusCode, err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return response.StatusCode, fmt.Errorf("api: %s %s: %w", method, path, err)
	}
	return response.StatusCode, nil
}

// Copy writes what is at the path of the segments to w, and returns what the broker said behind it. Errors are those of
// Do, and of w; some of it may have been written then.
func (c *Client) Copy(ctx context.Context, w io.Writer, segments ...string) (trailer http.Header, err error) {
	return c.Download(ctx, w, Path(segments...))
}

// Download is Copy of a path from Path, perhaps with a query.
func (c *Client) Download(ctx context.Context, w io.Writer, path string) (trailer http.Header, err error) {
	response, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		_, err := readAnswer(response, http.MethodGet, path)
		return nil, err
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		return nil, fmt.Errorf("api: GET %s: %w", path, err)
	}
	return response.Trailer, nil
}

// Upload posts what r has, as it is, to a path from Path, perhaps with a query, and reads the answer into out.
func (c *Client) Upload(ctx context.Context, r io.Reader, kind string, out any, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.Base, "/")+path, r)
	if err != nil {
		return fmt.Errorf("api: POST %s: %w", path, err)
	}
	c.sign(request)
	request.Header.Set("Content-Type", kind)
	response, err := c.http().Do(request)
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer response.Body.Close()
	answer, err := readAnswer(response, http.MethodPost, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("api: POST %s: %w", path, err)
	}
	return nil
}

// errNoName is of an empty segment, with which a path would lead to something else than it means.
var errNoName = errors.New("a name must not be empty")

// ask sends a request and returns what begins to come back.
func (c *Client) ask(ctx context.Context, method, path string, in any) (*http.Response, error) {
	if plain, _, _ := strings.Cut(path, "?"); strings.HasSuffix(plain, "/") || strings.Contains(plain, "//") {
		return nil, errNoName
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("api: %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("api: %s %s: %w", method, path, err)
	}
	c.sign(request)
	if c.Reason != "" {
		request.Header.Set("X-Reason", c.Reason)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http().Do(request)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	return response, nil
}

// Text reads what is at the path of the segments as it is.
func (c *Client) Text(ctx context.Context, segments ...string) ([]byte, error) {
	path := Path(segments...)
	response, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return readAnswer(response, http.MethodGet, path)
}

// readAnswer takes an answer whole; of an error, the beginning.
func readAnswer(response *http.Response, method, path string) ([]byte, error) {
	if response.StatusCode/100 != 2 {
		answer, err := io.ReadAll(io.LimitReader(response.Body, errorBytesMax))
		if err != nil {
			return nil, fmt.Errorf("api: %s %s: %w", method, path, err)
		}
		return nil, readError(response.StatusCode, answer)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("api: %s %s: %w", method, path, err)
	case len(answer) > answerBytesMax:
		return nil, fmt.Errorf("api: %s %s: the response has more than %d MiB: request fewer columns, or pages",
			method, path, answerBytesMax>>20)
	}
	return answer, nil
}

// Get reads what is at the path of the segments into out.
func (c *Client) Get(ctx context.Context, out any, segments ...string) error {
	_, err := c.Do(ctx, http.MethodGet, Path(segments...), nil, out)
	return err
}

// Put sends in to the path of the segments; created tells 201 from 204.
func (c *Client) Put(ctx context.Context, in any, segments ...string) (created bool, err error) {
	status, err := c.Do(ctx, http.MethodPut, Path(segments...), in, nil)
	return status == http.StatusCreated, err
}

// Post sends in to the path of the segments and reads the answer into out, unless it is nil.
func (c *Client) Post(ctx context.Context, in, out any, segments ...string) error {
	_, err := c.Do(ctx, http.MethodPost, Path(segments...), in, out)
	return err
}

// Delete removes what is at the path of the segments.
func (c *Client) Delete(ctx context.Context, segments ...string) error {
	_, err := c.Do(ctx, http.MethodDelete, Path(segments...), nil, nil)
	return err
}

func (c *Client) sign(r *http.Request) {
	switch {
	case c.Token != "":
		r.Header.Set("Authorization", "Bearer "+c.Token)
	case c.User != "" || c.Password != "":
		r.SetBasicAuth(c.User, c.Password)
	}
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}

// readError takes the error body, or that of a failed health check; a proxy on the way may have answered otherwise.
func readError(status int, body []byte) *Error {
	e := &Error{}
	if err := json.Unmarshal(body, e); err != nil || e.Reason == "" {
		e.Reason = strings.TrimSpace(string(body[:min(len(body), 1000)]))
	}
	if e.Kind == "" {
		e.Kind = http.StatusText(status)
	}
	e.Status, e.Body = status, string(body)
	return e
}
