package management

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/management/metrics"
)

// everything is all names that some page exports.
func everything(d *door) map[string]bool {
	all := map[string]bool{}
	query := ""
	for _, name := range metrics.FamilyNames() {
		query += "&family=" + name
	}
	for _, path := range []string{"/metrics", "/metrics/per-object", "/metrics/detailed?" + query[1:], "/metrics/memory-breakdown"} {
		p := scrapePage(d, path)
		for name := range p.kinds {
			all[name] = true
		}
		for name := range p.names() {
			all[name] = true
		}
	}
	return all
}

var metricName = regexp.MustCompile(`\b(rabbitmq|bartleby|go|process)_[a-z_]*[a-z]\b`)

// notMetrics are names that look like those of metrics in dashboards and rules.
var notMetrics = []string{"rabbitmq_cluster", "rabbitmq_node", "rabbitmq_endpoint"}

func TestShippedNames(t *testing.T) {
	// If this fails, a dashboard or an alert that comes with the broker asks for a metric that there is not.
	t.Parallel()
	exported := everything(busy(t))
	files, err := filepath.Glob("../../contrib/*/*")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file, ".json") && !strings.HasSuffix(file, ".yml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			used[name] = true
			if !exported[name] && !slices.Contains(notMetrics, name) {
				t.Errorf("%s uses %s", filepath.Base(file), name)
			}
		}
	}
	if len(used) < 80 {
		t.Errorf("only %d names are used: they were not found", len(used))
	}
}

func TestPublishedNames(t *testing.T) {
	// If this fails, a panel of RabbitMQ-Overview (10991), or a rule of the cluster operator, has nothing to show.
	t.Parallel()
	exported := everything(busy(t))
	for _, name := range strings.Fields(`
		rabbitmq_identity_info rabbitmq_build_info
		rabbitmq_connections rabbitmq_channels rabbitmq_queues rabbitmq_consumers rabbitmq_channel_consumers
		rabbitmq_connections_opened_total rabbitmq_connections_closed_total rabbitmq_channels_opened_total rabbitmq_channels_closed_total
		rabbitmq_queues_declared_total rabbitmq_queues_created_total rabbitmq_queues_deleted_total
		rabbitmq_process_open_fds rabbitmq_process_max_fds rabbitmq_process_open_tcp_sockets rabbitmq_process_max_tcp_sockets
		rabbitmq_process_resident_memory_bytes rabbitmq_resident_memory_limit_bytes
		rabbitmq_disk_space_available_bytes rabbitmq_disk_space_available_limit_bytes
		rabbitmq_erlang_uptime_seconds rabbitmq_erlang_processes_used rabbitmq_erlang_processes_limit
		rabbitmq_erlang_gc_runs_total rabbitmq_erlang_gc_reclaimed_bytes_total rabbitmq_erlang_scheduler_run_queue
		rabbitmq_erlang_scheduler_context_switches_total rabbitmq_erlang_net_ticktime_seconds
		rabbitmq_queue_messages_ready rabbitmq_queue_messages_unacked rabbitmq_queue_messages rabbitmq_queue_consumers
		rabbitmq_queue_messages_published_total
		rabbitmq_global_messages_received_total rabbitmq_global_messages_received_confirm_total rabbitmq_global_messages_routed_total
		rabbitmq_global_messages_unroutable_dropped_total rabbitmq_global_messages_unroutable_returned_total
		rabbitmq_global_messages_confirmed_total rabbitmq_global_publishers rabbitmq_global_consumers
		rabbitmq_global_messages_delivered_total rabbitmq_global_messages_delivered_consume_manual_ack_total
		rabbitmq_global_messages_delivered_consume_auto_ack_total rabbitmq_global_messages_delivered_get_manual_ack_total
		rabbitmq_global_messages_delivered_get_auto_ack_total rabbitmq_global_messages_get_empty_total
		rabbitmq_global_messages_redelivered_total rabbitmq_global_messages_acknowledged_total
		rabbitmq_global_messages_dead_lettered_expired_total rabbitmq_global_messages_dead_lettered_rejected_total
		rabbitmq_global_messages_dead_lettered_maxlen_total rabbitmq_global_messages_dead_lettered_delivery_limit_total
		rabbitmq_global_messages_dead_lettered_confirmed_total
		rabbitmq_message_size_bytes_bucket rabbitmq_message_size_bytes_sum rabbitmq_message_size_bytes_count
		rabbitmq_channel_messages_published_total rabbitmq_channel_messages_confirmed_total rabbitmq_channel_messages_unconfirmed
		rabbitmq_channel_messages_unroutable_dropped_total rabbitmq_channel_messages_unroutable_returned_total
		rabbitmq_channel_messages_delivered_total rabbitmq_channel_messages_delivered_ack_total
		rabbitmq_channel_messages_redelivered_total rabbitmq_channel_messages_acked_total
		rabbitmq_channel_get_total rabbitmq_channel_get_ack_total rabbitmq_channel_get_empty_total
		rabbitmq_alarms_memory_used_watermark rabbitmq_alarms_free_disk_space_watermark rabbitmq_alarms_file_descriptor_limit
		rabbitmq_io_read_bytes_total rabbitmq_io_write_bytes_total rabbitmq_io_sync_ops_total rabbitmq_io_sync_time_seconds_total
		rabbitmq_auth_attempts_total rabbitmq_auth_attempts_succeeded_total rabbitmq_auth_attempts_failed_total
		rabbitmq_detailed_queue_consumers rabbitmq_detailed_queue_messages rabbitmq_detailed_queue_messages_ready
		rabbitmq_detailed_queue_messages_unacked rabbitmq_detailed_queue_messages_bytes rabbitmq_detailed_queue_consumer_capacity
		rabbitmq_detailed_queue_info rabbitmq_detailed_queue_messages_delivered_total rabbitmq_detailed_exchange_messages_published_total
		rabbitmq_cluster_vhost_status rabbitmq_cluster_exchange_bindings rabbitmq_cluster_exchange_name
		process_start_time_seconds process_open_fds process_cpu_seconds_total go_goroutines go_info`) {
		if !exported[name] {
			t.Errorf("%s is not exported", name)
		}
	}
	sizes := scrapePage(busy(t), "/metrics")
	for _, bound := range []string{"100.0", "1000.0", "10000.0", "100000.0", "1e+06", "1e+07", "5e+07", "1e+08", "+Inf"} {
		if _, there := sizes.values[`rabbitmq_message_size_bytes_bucket{protocol="amqp091",le="`+bound+`"}`]; !there {
			t.Errorf("no bucket of sizes up to %s", bound)
		}
	}
}
