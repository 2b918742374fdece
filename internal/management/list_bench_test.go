package management

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// benchQueues is how many queues a list of queues has to be quick with.
const benchQueues = 10_000

// BenchmarkQueues lists 10,000 queues, as the console does, as exporters do, and whole.
func BenchmarkQueues(b *testing.B) {
	d := openWith(b, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
	d.declare(benchQueues)
	b.Run("compressed", func(b *testing.B) {
		for b.Loop() {
			d.send("GET", "/api/queues", "", "Accept-Encoding", "gzip")
		}
	})
	for _, path := range []string{
		"/api/queues", "/api/queues/detailed", "/api/queues?columns=name,messages", "/api/queues?disable_stats=true",
		"/api/queues?page=3&page_size=100&sort=message_stats.publish_details.rate&sort_reverse=true",
		"/api/queues?page=1&name=77&use_regex=true", "/api/queues/%2F/q4711", "/api/overview", "/api/exchanges/%2F/amq.direct",
		"/api/bindings",
	} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				d.want(http.StatusOK, "GET", path, "")
			}
		})
	}
}

// BenchmarkWaitBesideLists measures how long others wait for a virtual host whose 10,000 queues are listed, and whose
// counters are read: the longest of all waits.
func BenchmarkWaitBesideLists(b *testing.B) {
	d := openWith(b, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
	d.declare(benchQueues)
	for _, path := range []string{"/api/queues", "/api/overview", "/api/bindings", "/api/exchanges", "/api/nodes"} {
		b.Run(path, func(b *testing.B) {
			longest := waits(b, d.engine)
			for b.Loop() {
				d.want(http.StatusOK, "GET", path, "")
				d.server.sampler.Read(time.Now())
			}
			b.ReportMetric(float64(longest().Microseconds())/1000, "ms-longest-wait")
		})
	}
}

// declare makes n queues with arguments and a policy.
func (d *door) declare(n int) {
	d.t.Helper()
	d.want(http.StatusCreated, "PUT", "/api/policies/%2F/all", `{"pattern":"^q","definition":{"max-length":1000,"dead-letter-exchange":"dlx"}}`)
	var commands []vhost.Command
	for i := range n {
		commands = append(commands, vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
			Name: fmt.Sprintf("q%d", i), Durable: true, Arguments: amqp.Table{{Name: "x-message-ttl", Value: amqp.Int64(60_000)}},
		}})
		if len(commands) == 500 || i == n-1 {
			if _, err := d.engine.Do(d.t.Context(), "/", authz.Broker(), commands...); err != nil {
				d.t.Fatal(err)
			}
			commands = nil
		}
	}
}

// waits looks at a virtual host again and again, until it is asked how long the longest of these looks had to wait.
func waits(b *testing.B, e *engine.Engine) (longest func() time.Duration) {
	stop, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			select {
			case <-stop:
				most <- longest
				return
			default:
			}
			began := time.Now()
			if err := e.Query(b.Context(), "/", func(vhost.Reader) {}); err != nil {
				b.Error(err)
			}
			longest = max(longest, time.Since(began))
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-most
	}
}
