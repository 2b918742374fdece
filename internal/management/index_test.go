package management

import (
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/search"
)

func TestIndex(t *testing.T) {
	// If this fails, nobody can see how far the index is, or have it made anew.
	t.Parallel()
	d := withLostLetters(t)
	const off = `{"enabled":false,"letters":0,"behind":0,"bytes":0,"lag_ms":0,"indexed":0}`
	if got := d.want(200, "GET", "/api/x/index", "").Body.String(); got != off {
		t.Errorf("without an index: %s", got)
	}
	d.refused(400, "bad_request", "dead letters are not indexed", "POST", "/api/x/index/%2F/rebuild", "")
	d.want(404, "POST", "/api/x/index/none/rebuild", "")
	x := search.Open(search.Options{Broker: d.server.Engine, Dir: t.TempDir(), Log: quiet()})
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	d = d.with(func(o *Options) { o.Index = x })
	for ends := time.Now().Add(20 * time.Second); x.Stats().Messages != 4; <-time.After(time.Millisecond) {
		if time.Now().After(ends) {
			t.Fatalf("%+v", x.Stats())
		}
	}
	d.want(204, "POST", "/api/x/index/%2F/rebuild", "")
	for ends := time.Now().Add(20 * time.Second); x.Stats().Indexed != 8; <-time.After(time.Millisecond) {
		if time.Now().After(ends) {
			t.Fatalf("made anew: %+v", x.Stats())
		}
	}
}
