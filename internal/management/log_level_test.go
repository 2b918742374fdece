package management

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/logging"
)

func TestLogLevels(t *testing.T) {
	// If this fails, an operator cannot have more said while something goes wrong, or cannot stop it again.
	t.Parallel()
	d := open(t)
	d.want(404, "PUT", "/api/x/log-level", `{"level":"debug"}`)
	var console strings.Builder
	book, err := logging.Open(logging.Options{}, &console)
	if err != nil {
		t.Fatal(err)
	}
	d.server.options.Book = book
	d.want(204, "PUT", "/api/x/log-level", `{"level":"debug"}`)
	d.want(204, "PUT", "/api/x/log-level", `{"level":"error","category":"connection"}`)
	var levels map[string]string
	if err := json.Unmarshal(d.want(200, "GET", "/api/x/log-level", "").Body.Bytes(), &levels); err != nil {
		t.Fatal(err)
	}
	if levels["default"] != "debug" || levels["connection"] != "error" || levels["queue"] != "debug" {
		t.Errorf("%v", levels)
	}
	for _, body := range []string{`{}`, `{"level":"loud"}`, `{"level":"info","category":"cats"}`, `{"level":3}`} {
		d.want(400, "PUT", "/api/x/log-level", body)
	}
	d.want(204, "POST", "/api/x/rotate-logs", "")
}
