package metrics

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// alarms is what rules look at first. Source: RabbitMQ prometheus, alarms; docs/compat/metrics.md#4.
func (s *scrape) alarms() {
	if s.page.endpoint == detailed {
		return
	}
	x := s.exposition
	m := s.server.Engine.Resources()
	one(x, "rabbitmq_alarms_file_descriptor_limit", gauge, "is 1 if file descriptor limit alarm is in effect", stats.BoolInt(stats.ReadFiles().Scarce()))
	one(x, "rabbitmq_alarms_free_disk_space_watermark", gauge, "is 1 if free disk space watermark alarm is in effect", stats.BoolInt(m.Alarms.Has(resource.LowDisk|resource.JournalFull)))
	one(x, "rabbitmq_alarms_memory_used_watermark", gauge, "is 1 if VM memory watermark alarm is in effect", stats.BoolInt(m.Alarms.Has(resource.LowMemory)))
	s.resourceMetrics(x, &m)
	s.server.clockMetrics(x)
	s.server.indexMetrics(x)
}

// churnMetrics is what comes and goes. Source: RabbitMQ prometheus, connection_churn_metrics.
func (s *scrape) churnMetrics() {
	t := &s.sum.Traffic
	for _, m := range []struct {
		name, help string
		value      uint64
	}{
		{"connections_opened_total", "Total number of connections opened", s.churn.ConnectionsOpened},
		{"connections_closed_total", "Total number of connections closed or terminated", s.churn.ConnectionsClosed},
		{"channels_opened_total", "Total number of channels opened", s.churn.ChannelsOpened},
		{"channels_closed_total", "Total number of channels closed", s.churn.ChannelsClosed},
		{"queues_declared_total", "Total number of queues declared", t.QueuesDeclared},
		{"queues_created_total", "Total number of queues created", t.QueuesCreated},
		{"queues_deleted_total", "Total number of queues deleted", t.QueuesDeleted},
	} {
		one(s.exposition, s.named(m.name), counter, m.help, m.value)
	}
}

// nodeCoarse is what the process uses. Source: RabbitMQ prometheus, node_coarse_metrics; goroutines stand for Erlang
// processes.
func (s *scrape) nodeCoarse() {
	x, files, m, r := s.exposition, stats.ReadFiles(), s.server.Engine.Resources(), stats.ReadRuntime()
	one(x, s.named("process_open_fds"), gauge, "Open file descriptors", files.Open)
	one(x, s.named("process_open_tcp_sockets"), gauge, "Open TCP sockets", len(s.live))
	one(x, s.named("process_resident_memory_bytes"), gauge, "Memory used in bytes", m.MemoryUsed)
	one(x, s.named("disk_space_available_bytes"), gauge, "Disk space available in bytes", max(m.DiskFree, 0))
	one(x, s.named("erlang_processes_used"), gauge, "Goroutines", r.At("/sched/goroutines:goroutines"))
	one(x, s.named("erlang_gc_runs_total"), counter, "Total number of garbage collector runs", r.At("/gc/cycles/total:gc-cycles"))
	one(x, s.named("erlang_gc_reclaimed_bytes_total"), counter, "Total number of bytes of memory reclaimed by garbage collector", r.At("/gc/heap/frees:bytes"))
	one(x, s.named("erlang_scheduler_context_switches_total"), counter, "Total number of context switches of the process", stats.ContextSwitches())
}

// processesMax stands for the limit of goroutines, which have none: rules divide by it. Source: RabbitMQ's default.
const processesMax = 1 << 20

// nodeMetrics is what the process may use. Source: RabbitMQ prometheus, node_metrics.
func (s *scrape) nodeMetrics() {
	x, files, m, r := s.exposition, stats.ReadFiles(), s.server.Engine.Resources(), stats.ReadRuntime()
	one(x, s.named("process_max_fds"), gauge, "Open file descriptors limit", files.Most)
	one(x, s.named("process_max_tcp_sockets"), gauge, "Open TCP sockets limit", files.Most)
	one(x, s.named("resident_memory_limit_bytes"), gauge, "Memory high watermark in bytes", m.MemoryLimit)
	one(x, s.named("disk_space_available_limit_bytes"), gauge, "Free disk space low watermark in bytes", m.DiskLimit)
	one(x, s.named("erlang_processes_limit"), gauge, "Limit of Erlang processes; goroutines have no limit", processesMax)
	one(x, s.named("erlang_scheduler_run_queue"), gauge, "Goroutines waiting for a processor", r.At("/sched/goroutines/runnable:goroutines"))
	one(x, s.named("erlang_net_ticktime_seconds"), gauge, "Inter-node heartbeat interval", 60)
	one(x, s.named("erlang_uptime_seconds"), gauge, "Node uptime", time.Since(s.server.from.Started).Seconds())
}

// persister is what the disk does. Source: RabbitMQ prometheus, node_persister_metrics.
func (s *scrape) persister() {
	x, st := s.exposition, &s.storage
	written := int64(0)
	for _, w := range stats.WrittenBytes(st) {
		written += w.Bytes
	}
	one(x, s.named("io_read_ops_total"), counter, "Total number of I/O read operations", st.Reads.Count)
	one(x, s.named("io_read_bytes_total"), counter, "Total number of I/O bytes read", st.Reads.Bytes)
	one(x, s.named("io_read_time_seconds_total"), counter, "Total I/O read time", st.Reads.Took.Seconds())
	one(x, s.named("io_write_ops_total"), counter, "Total number of I/O write operations", st.Writes.Count)
	one(x, s.named("io_write_time_seconds_total"), counter, "Total I/O write time", st.Writes.Took.Seconds())
	one(x, s.named("io_write_bytes_total"), counter, "Total number of I/O bytes written", written)
	one(x, s.named("io_sync_ops_total"), counter, "Total number of I/O sync operations", st.Syncs.Count)
	one(x, s.named("io_sync_time_seconds_total"), counter, "Total I/O sync time", st.Syncs.Sum.Seconds())
	for _, name := range nothingOf {
		one(x, s.named(name), counter, "Always 0: this operation of RabbitMQ's storage does not exist here", 0)
	}
	one(x, s.named("msg_store_read_total"), counter, "Total number of Message Store read operations", st.Reads.Count)
	one(x, s.named("msg_store_write_total"), counter, "Total number of Message Store write operations", s.sum.Total.Stats.Written)
}

// nothingOf is what the log has nothing of: it reads and writes where it is told to, and needs no index or database
// beside it.
var nothingOf = []string{
	"io_seek_ops_total", "io_seek_time_seconds_total", "io_reopen_ops_total",
	"queue_index_read_ops_total", "queue_index_write_ops_total", "schema_db_ram_tx_total", "schema_db_disk_tx_total",
}

// logins counts who has logged in with a password, and who has not. Source: RabbitMQ prometheus, auth_attempt_metrics.
func (s *scrape) logins() {
	for _, m := range []struct {
		name, help string
		value      func(l engine.Logins) uint64
	}{
		{"auth_attempts_total", "Total number of authorization attempts", func(l engine.Logins) uint64 { return l.Succeeded + l.Failed }},
		{"auth_attempts_succeeded_total", "Total number of successful authentication attempts", func(l engine.Logins) uint64 { return l.Succeeded }},
		{"auth_attempts_failed_total", "Total number of failed authentication attempts", func(l engine.Logins) uint64 { return l.Failed }},
	} {
		name := s.named(m.name)
		s.family(name, counter, m.help)
		for p := range engine.LoginProtocols {
			add(s.exposition, name, m.value(s.server.Engine.Logins(p)), "protocol", p.String())
		}
	}
}

// totals counts what there is. Source: RabbitMQ prometheus.
func (s *scrape) totals() {
	if s.page.endpoint == detailed {
		return
	}
	x := s.exposition
	one(x, "rabbitmq_connections", gauge, "Connections currently open", len(s.live))
	one(x, "rabbitmq_channels", gauge, "Channels currently open", openChannels(s.live))
	one(x, "rabbitmq_consumers", gauge, "Consumers currently connected", s.sum.Total.Consumers)
	one(x, "rabbitmq_queues", gauge, "Queues available", s.sum.Queues)
	s.ofHosts("bartleby_large_arguments_bytes", gauge, "Memory used by arguments larger than 2 KiB, which is limited",
		func(h *stats.VHost) float64 { return float64(h.LargeTables) })
	if s.aggregated() {
		one(x, "rabbitmq_queue_consumers", gauge, "Consumers on a queue", s.sum.Total.Consumers)
		s.once["queue_consumers"] = true
	}
}

// protocols that clients may speak: the second one has no clients yet. Source: RabbitMQ prometheus, global counters.
var protocols = [...]string{"amqp091", "amqp10"}

// queueTypes that messages may come from: the last has no queues yet.
var queueTypes = [...]string{"classic", "quorum", "stream"}

// global counts what clients did, whatever becomes of their channels. Source: RabbitMQ prometheus, global counters.
func (s *scrape) global() {
	if s.page.endpoint == detailed {
		return
	}
	const prefix = "rabbitmq_global_"
	t := &s.sum.Traffic
	for _, m := range []struct {
		name, kind, help string
		value            uint64
	}{
		{"messages_received_total", counter, "Total number of messages received from publishers", t.Received},
		{"messages_received_confirm_total", counter, "Total number of messages received from publishers expecting confirmations", t.ReceivedConfirms},
		{"messages_routed_total", counter, "Total number of messages routed to queues or streams", t.Routed},
		{"messages_unroutable_dropped_total", counter, "Total number of messages published as non-mandatory into an exchange and dropped as unroutable", t.Dropped},
		{"messages_unroutable_returned_total", counter, "Total number of messages published as mandatory into an exchange and returned to the publisher as unroutable", t.Returned},
		{"messages_confirmed_total", counter, "Total number of messages confirmed to publishers", t.Confirmed},
		{"publishers", gauge, "Current number of publishers", uint64(max(t.Publishers, 0))},
		{"consumers", gauge, "Current number of consumers", uint64(s.sum.Total.Consumers + t.Repliers)},
	} {
		s.family(prefix+m.name, m.kind, m.help)
		add(s.exposition, prefix+m.name, m.value, "protocol", protocols[0])
		add(s.exposition, prefix+m.name, 0, "protocol", protocols[1])
	}
	one(s.exposition, "bartleby_direct_replies_dropped_total", counter,
		"Direct replies dropped because the client reads too slowly", t.RepliesDropped)
	for _, m := range []struct {
		name, help string
		value      func(n *vhost.QueueStats) uint64
	}{
		{"messages_delivered_total", "Total number of messages delivered to consumers", func(n *vhost.QueueStats) uint64 { return n.Delivered + n.Got }},
		{"messages_delivered_consume_manual_ack_total", "Total number of messages delivered to consumers using basic.consume with manual acknowledgment", func(n *vhost.QueueStats) uint64 { return n.Delivered - n.DeliveredNoAck }},
		{"messages_delivered_consume_auto_ack_total", "Total number of messages delivered to consumers using basic.consume with automatic acknowledgment", func(n *vhost.QueueStats) uint64 { return n.DeliveredNoAck }},
		{"messages_delivered_get_manual_ack_total", "Total number of messages delivered to consumers using basic.get with manual acknowledgment", func(n *vhost.QueueStats) uint64 { return n.Got - n.GotNoAck }},
		{"messages_delivered_get_auto_ack_total", "Total number of messages delivered to consumers using basic.get with automatic acknowledgment", func(n *vhost.QueueStats) uint64 { return n.GotNoAck }},
		{"messages_get_empty_total", "Total number of times basic.get operations fetched no message", func(n *vhost.QueueStats) uint64 { return n.GotNone }},
		{"messages_redelivered_total", "Total number of messages redelivered to consumers", func(n *vhost.QueueStats) uint64 { return n.Redelivered }},
		{"messages_acknowledged_total", "Total number of messages acknowledged by consumers", func(n *vhost.QueueStats) uint64 { return n.Acked }},
	} {
		s.family(prefix+m.name, counter, m.help)
		for i, protocol := range protocols {
			for _, kind := range queueTypes {
				n := vhost.QueueStats{}
				if i == 0 {
					n = s.sum.Types[kind]
				}
				add(s.exposition, prefix+m.name, m.value(&n), "protocol", protocol, "queue_type", queueModule(kind))
			}
		}
	}
}

// sizes counts messages by the sizes of their bodies. Source: RabbitMQ 4.1 prometheus, message_size_metrics.
func (s *scrape) sizes() {
	if s.page.endpoint == detailed {
		return
	}
	const name = "rabbitmq_message_size_bytes"
	s.family(name, histogram, "Size of messages received from publishers")
	bounds, z := wholes(vhost.SizeBounds[:]), &s.sum.Traffic.Sizes
	s.buckets(name, labelled("protocol", protocols[0]), bounds, z.Buckets[:], float64(z.Sum))
	s.buckets(name, labelled("protocol", protocols[1]), bounds, make([]uint64, len(z.Buckets)), 0)
}

// runtimeMetrics tells of the process under the names that Go programs have. Source: Prometheus, process and Go
// collectors.
func (s *scrape) runtimeMetrics() {
	x, r, files := s.exposition, stats.ReadRuntime(), stats.ReadFiles()
	x.family("go_info", gauge, "Information about the Go environment.")
	add(x, "go_info", 1, "version", stats.GoVersion())
	one(x, "go_goroutines", gauge, "Number of goroutines that currently exist.", r.At("/sched/goroutines:goroutines"))
	one(x, "go_threads", gauge, "Number of OS threads created.", r.At("/sched/threads/total:threads"))
	one(x, "go_gc_cycles_total", counter, "Garbage collections.", r.At("/gc/cycles/total:gc-cycles"))
	one(x, "go_gc_cpu_seconds_total", counter, "Processor time spent on garbage collection.", r.At("/cpu/classes/gc/total:cpu-seconds"))
	one(x, "go_memstats_alloc_bytes", gauge, "Number of bytes allocated in heap and currently in use.", r.At("/memory/classes/heap/objects:bytes"))
	one(x, "go_gc_heap_allocs_bytes_total", counter, "Total number of bytes allocated in heap until now, even if released already.", r.At("/gc/heap/allocs:bytes"))
	one(x, "go_memstats_next_gc_bytes", gauge, "Number of heap bytes when next garbage collection will take place.", r.At("/gc/heap/goal:bytes"))
	one(x, "go_memstats_sys_bytes", gauge, "Number of bytes obtained from system.", r.At("/memory/classes/total:bytes"))
	one(x, "process_cpu_seconds_total", counter, "Total user and system CPU time spent in seconds.", stats.ProcessorSeconds())
	one(x, "process_max_fds", gauge, "Maximum number of open file descriptors.", files.Most)
	one(x, "process_open_fds", gauge, "Number of open file descriptors.", files.Open)
	one(x, "process_resident_memory_bytes", gauge, "Resident memory size in bytes.", s.server.Engine.Resources().MemoryUsed)
	one(x, "process_start_time_seconds", gauge, "Start time of the process since unix epoch in seconds.", seconds(s.server.from.Started))
}

// memoryMetrics tells what memory is used for. Source: RabbitMQ prometheus, memory breakdown; the parts are the Go
// runtime's.
func memoryMetrics(x *exposition) {
	r := stats.ReadRuntime()
	for _, m := range []struct{ name, help, from string }{
		{"rabbitmq_memory_other_proc_bytes", "Objects on the heap", "/memory/classes/heap/objects:bytes"},
		{"rabbitmq_memory_connection_other_bytes", "Stacks of goroutines", "/memory/classes/heap/stacks:bytes"},
		{"rabbitmq_memory_other_system_bytes", "Runtime metadata", "/memory/classes/metadata/other:bytes"},
		{"rabbitmq_memory_allocated_unused_bytes", "Reserved for new objects", "/memory/classes/heap/unused:bytes"},
		{"rabbitmq_memory_free_bytes", "Free, not yet returned to the system", "/memory/classes/heap/free:bytes"},
		{"rabbitmq_memory_reserved_unallocated_bytes", "Returned to the system", "/memory/classes/heap/released:bytes"},
		{"rabbitmq_memory_total_bytes", "Obtained from the system and not returned", "/memory/classes/total:bytes"},
	} {
		value := r.At(m.from)
		if m.from == "/memory/classes/total:bytes" {
			value -= r.At("/memory/classes/heap/released:bytes")
		}
		one(x, m.name, gauge, m.help, value)
	}
}

func (s *Server) clockMetrics(x *exposition) {
	t := s.Engine.Time()
	one(x, "bartleby_clock_behind_seconds", gauge, "Time by which the wall clock is behind the virtual host that is furthest ahead", t.Behind().Seconds())
	one(x, "bartleby_clock_alarm", gauge, "Is 1 while the wall clock is so far behind that a resync is needed; does not block publishers", stats.BoolInt(t.Alarm()))
}

// indexMetrics shows the index of dead letters, if there is one.
func (s *Server) indexMetrics(x *exposition) {
	m := s.from.Index.Stats()
	if !m.Enabled {
		return
	}
	one(x, "bartleby_index_letters", gauge, "Indexed dead letters", m.Messages)
	one(x, "bartleby_index_behind", gauge, "Approximate number of messages not indexed yet", m.Behind)
	one(x, "bartleby_index_bytes", gauge, "Size of the index on disk", m.Bytes)
	one(x, "bartleby_index_lag_seconds", gauge, "Time since the index was last complete", m.Lag.Seconds())
	one(x, "bartleby_index_indexed_total", counter, "Total number of indexed dead letters", m.Indexed)
	one(x, "bartleby_index_work_seconds_total", counter, "Total time spent indexing", m.Worked.Seconds())
}

// consoleStreams shows how many consoles listen. Source: ours.
func (s *scrape) consoleStreams() {
	one(s.exposition, "bartleby_ui_sse_clients", gauge, "Open event streams", s.server.from.Streams())
}
