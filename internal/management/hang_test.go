package management

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestHangingVHost(t *testing.T) {
	// If this fails, one virtual host whose disk hangs keeps all lists and rates of the broker waiting for ever.
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t)
		d.want(201, "PUT", "/api/vhosts/well", "")
		d.want(201, "PUT", "/api/queues/well/q", "")
		hung, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- d.engine.Query(context.Background(), "/", func(vhost.Reader) { close(hung); <-goOn })
		}()
		<-hung
		began := time.Now()
		d.refused(503, "service_unavailable", "did not respond in time", "GET", "/api/queues", "")
		if took := time.Since(began); took > 2*web.LookPatience {
			t.Errorf("took %v", took)
		}
		d.want(200, "GET", "/api/queues/well", "")
		d.want(200, "GET", "/api/overview", "")
		d.want(200, "GET", "/api/health/checks/is-in-service", "")
		for i := range 3 {
			d.server.sampler.Read(time.Now().Add(time.Duration(i) * 5 * time.Second))
		}
		if q := d.want(200, "GET", "/api/queues/well/q?columns=idle_since", "").Body.String(); q == "{}" {
			t.Errorf("the other virtual host is not read: %s", q)
		}
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
