package management

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Metrics returns what answers Prometheus: totals of the node, in the text format, under RabbitMQ's names, and what
// has no name there under ours. Anybody may read them. Source: RabbitMQ prometheus.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if hr.Method != http.MethodGet && hr.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		text := s.scrape(hr)
		h := w.Header()
		h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if acceptsGzip(hr.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			text = compress(text)
		}
		if hr.Method == http.MethodHead {
			return
		}
		if _, err := w.Write(text); err != nil {
			s.options.Log.Debug("metrics not taken", "error", err)
		}
	})
}

// exposition is a page in Prometheus' text format.
type exposition struct{ bytes.Buffer }

// family begins the series of one name.
func (x *exposition) family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// add writes one series; labels are name, value, name, value.
func (x *exposition) add(name string, value any, labels ...string) {
	x.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		x.WriteByte("{,"[min(i, 1)])
		escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(labels[i+1])
		fmt.Fprintf(x, `%s="%s"`, labels[i], escaped)
	}
	if len(labels) > 0 {
		x.WriteByte('}')
	}
	fmt.Fprintf(x, " %v\n", value)
}

func (x *exposition) one(name, kind, help string, value any) {
	x.family(name, kind, help)
	x.add(name, value)
}

const (
	gauge   = "gauge"
	counter = "counter"
)

func (s *Server) scrape(hr *http.Request) []byte {
	x := &exposition{}
	r := &request{Request: hr, server: s, view: s.engine.Access()}
	o := s.options
	x.family("rabbitmq_build_info", gauge, "RabbitMQ & Erlang/OTP version info")
	x.add("rabbitmq_build_info", 1, "rabbitmq_version", api.RabbitMQVersion, "prometheus_plugin_version", api.RabbitMQVersion,
		"prometheus_client_version", o.Version, "erlang_version", runtime.Version(), "product_name", o.Product, "product_version", o.Version)
	x.family("rabbitmq_identity_info", gauge, "RabbitMQ node & cluster identity info")
	x.add("rabbitmq_identity_info", 1, "rabbitmq_node", o.Node, "rabbitmq_cluster", r.clusterName(),
		"rabbitmq_cluster_permanent_id", o.Node, "rabbitmq_endpoint", "aggregated")

	var all tally
	lost := map[string]*vhost.QueueStats{}
	for _, h := range r.view.VHosts() {
		t := s.sum(hr.Context(), h)
		lost[h.Name] = &t.stats
		all.add(t)
	}
	s.nodeMetrics(x)
	s.totalMetrics(x, &all)
	deadLetterMetrics(x, &all)
	x.family("bartleby_lost_letters_total", counter, "Dead letters that found no place, by cause")
	for _, h := range r.view.VHosts() {
		for cause, n := range lost[h.Name].Lost {
			if c := vhost.Cause(cause); c >= vhost.LostExchange {
				x.add("bartleby_lost_letters_total", n, "vhost", h.Name, "cause", c.String())
			}
		}
	}
	return x.Bytes()
}

func (s *Server) nodeMetrics(x *exposition) {
	m := readMachine(s.options.Data)
	x.one("rabbitmq_process_open_fds", gauge, "Open file descriptors", m.filesOpen)
	x.one("rabbitmq_process_max_fds", gauge, "Open file descriptors limit", m.filesMax)
	x.one("rabbitmq_process_resident_memory_bytes", gauge, "Memory used in bytes", m.memoryUsed)
	x.one("rabbitmq_resident_memory_limit_bytes", gauge, "Memory of the machine in bytes", m.memoryMax)
	x.one("rabbitmq_disk_space_available_bytes", gauge, "Disk space available in bytes", m.diskFree)
	x.one("rabbitmq_disk_space_available_limit_bytes", gauge, "Free disk space low watermark in bytes", s.options.DiskFreeMin)
	x.one("rabbitmq_erlang_uptime_seconds", gauge, "Node uptime", time.Since(s.started).Seconds())
	x.one("rabbitmq_erlang_processes_used", gauge, "Goroutines", runtime.NumGoroutine())
	full := 0
	if s.engine.Full() {
		full = 1
	}
	x.one("rabbitmq_alarms_free_disk_space_watermark", gauge, "Is 1 while the free disk space alarm is in effect", full)
	x.one("rabbitmq_alarms_memory_used_watermark", gauge, "Is 1 while the memory alarm is in effect", 0)
}

func (s *Server) totalMetrics(x *exposition, all *tally) {
	connections := s.options.Roster.Connections()
	channels := 0
	for _, c := range connections {
		channels += c.Channels
	}
	x.one("rabbitmq_connections", gauge, "Connections currently open", len(connections))
	x.one("rabbitmq_channels", gauge, "Channels currently open", channels)
	x.one("rabbitmq_queues", gauge, "Queues available", all.queues)
	x.one("rabbitmq_consumers", gauge, "Consumers currently connected", all.consumers)
	x.one("rabbitmq_queue_messages_ready", gauge, "Messages ready to be delivered to consumers", all.ready)
	x.one("rabbitmq_queue_messages_unacked", gauge, "Messages delivered to consumers but not yet acknowledged", all.unacked)
	x.one("rabbitmq_queue_messages", gauge, "Sum of ready and unacknowledged messages", all.ready+all.unacked)
	x.one("rabbitmq_queue_consumers", gauge, "Consumers on queues", all.consumers)
}

// deadLetterMetrics counts deaths by reason: those of queues without a dead-letter exchange have the strategy
// "disabled". Source: RabbitMQ prometheus; reference metrics 3.
func deadLetterMetrics(x *exposition, all *tally) {
	for _, d := range []struct {
		word   string
		reason vhost.Reason
		gone   vhost.Cause
	}{
		{"expired", vhost.Expired, vhost.GoneExpired},
		{"rejected", vhost.Rejected, vhost.GoneRejected},
		{"maxlen", vhost.MaxLen, vhost.GoneMaxLen},
		{"delivery_limit", vhost.DeliveryLimit, vhost.GoneLimit},
	} {
		name := "rabbitmq_global_messages_dead_lettered_" + d.word + "_total"
		gone := all.books.Ended[d.gone]
		sent := all.stats.Died[d.reason] - min(gone, all.stats.Died[d.reason])
		x.family(name, counter, "Messages that died, reason "+d.reason.String())
		x.add(name, gone, "queue_type", "rabbit_classic_queue", "dead_letter_strategy", "disabled")
		x.add(name, sent, "queue_type", "rabbit_classic_queue", "dead_letter_strategy", "at_most_once")
	}
	x.family("bartleby_copies_ended_total", counter, "Copies of messages that left their queues, by cause")
	for _, c := range []vhost.Cause{vhost.Acked, vhost.Moved, vhost.GonePurged, vhost.GoneDeleted} {
		x.add("bartleby_copies_ended_total", all.books.Ended[c], "cause", c.String())
	}
}
