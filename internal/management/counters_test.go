package management

import (
	"encoding/json"
	"strings"
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
	d.server.sampler.Read(start)
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
	d.server.sampler.Read(start.Add(5 * time.Second))

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
	d.want(201, "PUT", "/api/vhosts/brief", "")
	d.want(201, "PUT", "/api/queues/brief/q", "")
	d.want(200, "POST", "/api/exchanges/brief/amq.default/publish", `{"properties":{},"routing_key":"q","payload":"x","payload_encoding":"string"}`)
	d.want(204, "DELETE", "/api/vhosts/brief", "")
	if s := read[api.Overview](d, "/api/overview").MessageStats; s.Publish.Total != 8 {
		t.Errorf("after a vhost has gone %+v", s)
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

func TestNodeStats(t *testing.T) {
	// If this fails, exporters show a node at which nothing ever happens, or strict clients miss a field.
	t.Parallel()
	d := open(t)
	start := time.Now().Add(time.Hour)
	d.server.sampler.Read(start)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.want(201, "PUT", "/api/queues/%2F/"+name, `{"durable":true}`)
	}
	d.want(204, "PUT", "/api/queues/%2F/a", `{"durable":true}`)
	d.want(204, "DELETE", "/api/queues/%2F/a", "")
	d.server.sampler.Read(start.Add(5 * time.Second))
	n := read[api.Node](d, "/api/nodes/rabbit@test?node_stats_age=10&node_stats_incr=5")
	for what, c := range map[string]api.ChurnRates{"node": n.ChurnRates, "overview": read[api.Overview](d, "/api/overview").ChurnRates} {
		if c.QueueDeclared != 6 || c.QueueCreated != 5 || c.QueueDeleted != 1 || c.QueueCreatedDetails.Rate != 1 {
			t.Errorf("%s %+v", what, c)
		}
	}
	if s := n.QueueCreatedDetails.Samples; len(s) != 3 || s[0].Sample != 5 || s[1].Sample != 0 {
		t.Errorf("samples %+v", s)
	}
	if n.IOSyncCount == 0 || n.IOWriteBytes == 0 || n.GCBytesReclaimed == 0 {
		t.Errorf("%+v", n.NodeStats)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(d.want(200, "GET", "/api/nodes/rabbit@test", "").Body.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`name type running os_pid uptime run_queue processors being_drained rates_mode enabled_plugins
		fd_used fd_total sockets_used sockets_total proc_used proc_total mem_used mem_limit mem_alarm mem_calculation_strategy disk_free
		disk_free_limit disk_free_alarm gc_num gc_bytes_reclaimed context_switches io_read_count io_read_avg_time io_read_bytes
		io_write_count io_write_avg_time io_write_bytes io_sync_count io_sync_avg_time io_seek_count io_seek_avg_time io_reopen_count
		msg_store_read_count msg_store_write_count queue_index_read_count queue_index_write_count connection_created connection_closed
		channel_created channel_closed queue_declared queue_created queue_deleted queue_deleted_details net_ticktime db_dir config_files
		log_files exchange_types auth_mechanisms applications contexts listeners partitions cluster_links metrics_gc_queue_length
		rabbitmq_version erlang_version crypto_lib_version mem_used_details fd_used_details`) {
		if v := string(fields[name]); v == "" || v == "null" {
			t.Errorf("%s is %q", name, v)
		}
	}
}
