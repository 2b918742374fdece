package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// endless answers with a status and a body that has no end, and counts what is read of it.
type endless struct {
	status int
	read   int64
}

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: e.status, Body: io.NopCloser(e), ContentLength: -1}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestAnswersAreBounded(t *testing.T) {
	// If this fails, a server that never ends its answer, or a proxy in front of it, fills the memory of the machine on
	// which the command line runs.
	for _, c := range []struct {
		status int
		most   int64
		says   string
	}{
		{http.StatusOK, 128 << 20, "more than 128 MiB"}, {http.StatusBadRequest, 1 << 20, "400 Bad Request: xxx"},
	} {
		body := &endless{status: c.status}
		client := &Client{Base: "http://broker", HTTP: &http.Client{Transport: body}}
		var out []any
		asked := map[string]error{"Get": client.Get(t.Context(), &out, "queues")}
		_, asked["Text"] = client.Text(t.Context(), "config")
		for name, err := range asked {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d, %s: %.100v", c.status, name, err)
			}
		}
		if most := 2 * (c.most + 64<<10); body.read > most {
			t.Errorf("%d: read %d bytes of two answers, want at most %d", c.status, body.read, most)
		}
		var refused *Error
		if errors.As(asked["Get"], &refused) && len(refused.Reason) > 1000 {
			t.Errorf("a reason of %d bytes", len(refused.Reason))
		}
	}
}
