package management

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
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

	all := newTally()
	vhosts := map[string]tally{}
	for _, h := range r.view.VHosts() {
		vhosts[h.Name] = s.sum(hr.Context(), h)
		all.add(vhosts[h.Name])
	}
	s.nodeMetrics(x)
	s.totalMetrics(x, &all)
	deadLetterMetrics(x, &all)
	letterMetrics(x, vhosts)
	s.timeMetrics(hr.Context(), x, r.view.VHosts())
	s.storageMetrics(hr.Context(), x)
	return x.Bytes()
}

func (s *Server) nodeMetrics(x *exposition) {
	files := readFiles()
	x.one("rabbitmq_process_open_fds", gauge, "Open file descriptors", files.open)
	x.one("rabbitmq_process_max_fds", gauge, "Open file descriptors limit", files.most)
	s.resourceMetrics(x)
	s.clockMetrics(x)
	x.one("rabbitmq_erlang_uptime_seconds", gauge, "Node uptime", time.Since(s.started).Seconds())
	x.one("rabbitmq_erlang_processes_used", gauge, "Goroutines", runtime.NumGoroutine())
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
	x.one("rabbitmq_queue_messages", gauge, "Messages in queues: ready, unacknowledged, waiting for a retry or held", all.totals().Messages)
	x.one("rabbitmq_queue_consumers", gauge, "Consumers on queues", all.consumers)
}
