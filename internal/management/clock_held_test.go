package management

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestAdvancingTriesHeldDeadLettersFewTimes(t *testing.T) {
	// If this fails, a test clock that is moved by a year tries held dead letters again for each minute of it, so that
	// the broker is busy for hours; or dead letters stay held that have a target.
	t.Parallel()
	d := open(t)
	d.want(http.StatusCreated, "PUT", "/api/queues/%2F/work", `{"durable":true,"arguments":{"x-queue-type":"quorum","x-message-ttl":1000,`+
		`"x-dead-letter-strategy":"at-least-once","x-overflow":"reject-publish","x-dead-letter-exchange":"dlx"}}`)
	d.queueWith("dead", "")
	d.want(http.StatusCreated, "PUT", "/api/exchanges/%2F/dlx", `{"type":"topic","durable":true}`)
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/dlx/q/dead", `{"routing_key":"other"}`)
	d.publish("amq.default", "work", "held")
	const year = 365 * 24 * 60 * 60 * 1000
	advance := func() vhost.QueueView {
		t.Helper()
		d.want(http.StatusOK, "POST", "/api/x/clock/advance", fmt.Sprintf(`{"ms":%d}`, int64(year)))
		var q vhost.QueueView
		if err := d.engine.Query(t.Context(), "/", func(v vhost.Reader) { q, _ = v.Queue("work") }); err != nil {
			t.Fatal(err)
		}
		return q
	}
	tried := uint64(0)
	for range 3 {
		q, sum := advance(), uint64(0)
		for _, n := range q.Stats.Retried {
			sum += n
		}
		if q.Held != 1 || sum == tried || sum > tried+3 {
			t.Fatalf("%d dead letters are held, after %d attempts and %d in this year", q.Held, tried, sum-tried)
		}
		tried = sum
	}
	d.want(http.StatusCreated, "POST", "/api/bindings/%2F/e/dlx/q/dead", `{"routing_key":"#"}`)
	if q := advance(); q.Held != 0 || d.queue("dead").MessagesReady != 1 {
		t.Errorf("%d dead letters are held still", q.Held)
	}
}
