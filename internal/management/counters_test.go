package management

import (
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestMessageStats(t *testing.T) {
	// If this fails, a console shows zero where messages are confirmed, returned, redelivered, or taken without acks.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/q", "")
	d.want(201, "PUT", "/api/exchanges/%2F/x", `{"type":"fanout"}`)
	d.want(201, "POST", "/api/bindings/%2F/e/x/q/q", "{}")
	start := time.Now().Add(time.Hour)
	d.publish("x", "", "first")
	d.server.sampler.read(start)
	for range 4 {
		d.publish("x", "", "more")
	}
	d.publish("amq.default", "q", "direct")
	d.publish("amq.default", "nowhere", "lost")
	take := func(mode string) {
		t.Helper()
		d.want(200, "POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"`+mode+`","encoding":"auto"}`)
	}
	take("ack_requeue_true")
	take("ack_requeue_true")
	take("ack_requeue_false")
	d.server.sampler.read(start.Add(5 * time.Second))

	q := d.queue("q").MessageStats
	if q.Publish.Total != 6 || q.Publish.Rate.Rate != 1 || q.Get.Total != 2 || q.GetNoAck.Total != 1 || q.GetNoAck.Rate.Rate != 0.2 ||
		q.DeliverGet.Total != 3 || q.Redeliver.Total != 2 || q.Deliver.Total != 0 {
		t.Errorf("queue %+v", q)
	}
	for what, s := range map[string]api.MessageStats{
		"overview": read[api.Overview](d, "/api/overview").MessageStats, "vhost": read[api.VHost](d, "/api/vhosts/%2F").MessageStats,
	} {
		if s.Publish.Total != 7 || s.Confirm.Total != 7 || s.ReturnUnroutable.Total != 1 || s.GetNoAck.Total != 1 || s.Confirm.Rate.Rate != 1.2 || s.Redeliver.Total != 2 {
			t.Errorf("%s %+v", what, s)
		}
	}
	one := read[api.Exchange](d, "/api/exchanges/%2F/x")
	if s := one.MessageStats; s.PublishIn.Total != 5 || s.PublishOut.Total != 5 || s.PublishIn.Rate.Rate != 0.8 || s.PublishOut.Rate.Rate != 0.8 {
		t.Errorf("exchange %+v", s)
	}
	if out := *one.Outgoing; len(out) != 1 || out[0].Queue.Name != "q" || out[0].Stats.Publish.Total != 5 {
		t.Errorf("outgoing %+v", out)
	}
	for _, x := range read[[]api.Exchange](d, "/api/exchanges/%2F") {
		if want := map[string]uint64{"": 2, "x": 5}[x.Name]; x.MessageStats.PublishIn.Total != want || x.Outgoing != nil {
			t.Errorf("in a list %+v", x)
		}
	}
	if in := *d.queue("q").Incoming; len(in) != 2 || in[0].Exchange.Name != "" || in[0].Stats.Publish.Total != 1 || in[1].Stats.Publish.Total != 5 {
		t.Errorf("incoming %+v", in)
	}
}
