package metrics

import (
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestMetricsAreMadeOnceForMany(t *testing.T) {
	// If this fails, strangers who ask for metrics and do not read them fill the memory, one page each.
	t.Parallel()
	s := open(t)
	s.scraper.turns <- struct{}{} // a page is being made
	p, err := s.metricsPage(httptest.NewRequest("GET", "/metrics/per-object", nil), "/metrics/per-object", Options{Path: usualMetrics})
	if err != nil {
		t.Fatal(err)
	}
	const clients = 20
	got := make(chan *sharedPage, clients)
	for range clients {
		go func() {
			x, err := s.scraper.share(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			got <- x
		}()
	}
	c := s.scraper
	waiting := func() int32 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if x := c.mu.pages[p.key()]; x != nil {
			return x.readers.Load()
		}
		return 0
	}
	for waiting() < clients+1 {
		runtime.Gosched()
	}
	<-s.scraper.turns
	first := <-got
	for range clients - 1 {
		if x := <-got; x != first {
			t.Fatal("two who asked while another page was made got a page each")
		}
	}
	w := httptest.NewRecorder()
	if err := first.write(w, false); err != nil || !strings.Contains(w.Body.String(), `rabbitmq_queue_messages{vhost="/",queue="q"} 0`) {
		t.Errorf("%v: %s", err, w.Body.String())
	}
	next, err := s.scraper.share(t.Context(), p)
	if err != nil || next == first {
		t.Errorf("who asks later gets the page of before: %v", err)
	}
}

// open serves the metrics of a broker in memory, which has a queue q.
func open(t *testing.T) *Server {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	e, err := engine.Open(engine.Options{FS: vfs.NewMem(1), Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	q := vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "q"}}
	if _, err := e.Do(t.Context(), "/", authz.Broker(), q); err != nil {
		t.Fatal(err)
	}
	roster := stats.NoRoster{}
	common := web.NewShared(web.SharedOptions{Engine: e, Log: quiet, Node: "rabbit@test", BodyBytesMax: 10 << 20})
	return New(Options{}, Sources{
		Shared: common, Roster: roster, Index: search.Open(search.Options{Broker: e}),
		Reader:  stats.NewReader(common, stats.NewSampler(e, roster, false, quiet)),
		Streams: func() int { return 0 },
	})
}
