package management

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// BenchmarkScrape says how long a page of metrics takes with 10,000 queues, which have dead-letter exchanges, and 10
// million messages, and for how long at most somebody else waits for the virtual host meanwhile (stall-ms).
func BenchmarkScrape(b *testing.B) {
	const queues, messages = 10_000, 10_000_000
	s := crowdedServer(b, queues, messages)
	for _, path := range []string{"/metrics", "/metrics/detailed?family=queue_coarse_metrics&family=queue_metrics", "/metrics/per-object"} {
		b.Run(path, func(b *testing.B) {
			longest := waits(b, s.Engine)
			n := int64(0)
			for b.Loop() {
				w := &discard{header: http.Header{}}
				s.Metrics().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				n = w.n
			}
			b.ReportMetric(float64(longest().Microseconds())/1000, "stall-ms")
			b.ReportMetric(float64(n)/1e6, "MB/page")
		})
	}
}

// discard takes a page and counts its bytes.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(b []byte) (int, error) {
	d.n += int64(len(b))
	return len(b), nil
}

// crowdedServer is a server on a broker with many queues that share many messages.
func crowdedServer(b *testing.B, queues, messages int) *Server {
	b.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	e, err := engine.Open(engine.Options{
		FS: vfs.NewMem(1), Journal: journal.Options{SegmentBytes: 64 << 20, ReserveBytes: -1}, Log: quiet, Machine: machine{},
	})
	if err != nil {
		b.Fatal(err)
	}
	s := New(Options{Engine: e, Node: "rabbit@test", Version: "1.2.3", Log: quiet})
	b.Cleanup(func() {
		s.Close()
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	commands := []vhost.Command{
		{Kind: vhost.DeclareExchange, Definition: &vhost.Definition{Name: "all", Type: "fanout", Durable: true}},
		{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "dead", Durable: true}},
	}
	for i := range queues {
		name := fmt.Sprintf("queue-%05d", i)
		commands = append(commands,
			vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: name, Durable: true, Arguments: amqp.Table{
				{Name: "x-dead-letter-exchange", Value: amqp.String("")}, {Name: "x-dead-letter-routing-key", Value: amqp.String("dead")},
				{Name: "x-message-ttl", Value: amqp.Int64(86_400_000)},
			}}},
			vhost.Command{Kind: vhost.BindQueue, Definition: &vhost.Definition{Source: "all", Name: name}})
	}
	if _, err := e.Do(b.Context(), "/", authz.Broker(), commands...); err != nil {
		b.Fatal(err)
	}
	mode := amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: 2})
	for range messages / queues {
		publish := vhost.Command{Kind: vhost.Publish, Exchange: []byte("all"), Key: []byte("k"), Properties: mode, Body: []byte("a message")}
		if _, err := e.Do(b.Context(), "/", authz.Broker(), publish); err != nil {
			b.Fatal(err)
		}
	}
	return s
}
