package metrics

import (
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// resourceMetrics shows alarms over memory, disk and the log in our words. Source: ours.
func (s *scrape) resourceMetrics(x *exposition, m *resource.Status) {
	x.family("bartleby_alarm", gauge, "Is 1 while a resource alarm blocks publishers")
	for a := range resource.EveryAlarm.Each() {
		add(x, "bartleby_alarm", stats.BoolInt(m.Alarms.Has(a)), "resource", a.String())
	}
	x.family("bartleby_alarms_raised_total", counter, "Total number of alarms raised")
	for a := range resource.EveryAlarm.Each() {
		add(x, "bartleby_alarms_raised_total", m.Raised[a], "resource", a.String())
	}
	one(x, "bartleby_storage_waiting", gauge, "Is 1 while the disk is full and no message can be confirmed", stats.BoolInt(s.server.Engine.Waiting() != nil))
	blocked := 0
	for i := range s.live {
		if s.live[i].State == "blocked" {
			blocked++
		}
	}
	one(x, "bartleby_connections_blocked", gauge, "Publishing connections blocked by an alarm", blocked)
	doors := s.server.from.Roster.Doors()
	one(x, "bartleby_unfinished_message_bytes", gauge, "Memory used by incomplete messages", doors.UnfinishedBytes)
	one(x, "bartleby_unfinished_message_waiting", gauge, "Connections waiting for memory for incomplete messages", doors.UnfinishedWaiting)
	one(x, "bartleby_unfinished_message_ended_total", counter,
		"Connections closed because of a stalled message or frame, or the memory limit of incomplete messages", doors.UnfinishedEnded)
	windows := s.server.Engine.Windows()
	one(x, "bartleby_delivery_windows_grown", gauge,
		"Connections that may have more than 32 KiB of unread deliveries", windows.Grown)
	one(x, "bartleby_delivery_windows_bytes", gauge,
		"Unread deliveries that these connections may have beyond 32 KiB each", windows.Bytes)
	objects := s.server.Engine.Objects()
	one(x, "bartleby_declared_objects_bytes", gauge,
		"Memory used by queues, exchanges and bindings, without messages", objects.Bytes)
	one(x, "bartleby_declared_objects_max_bytes", gauge, "Maximum of bartleby_declared_objects_bytes", objects.Max)
	one(x, "bartleby_declared_objects_refused_total", counter,
		"Declarations and bindings refused because of that maximum", objects.Refused)
	held := s.server.Engine.Uncommitted()
	one(x, "bartleby_uncommitted_transaction_bytes", gauge, "Memory used by uncommitted transactions", held.Bytes)
	one(x, "bartleby_uncommitted_transaction_refused_total", counter,
		"Connections closed because of the memory limit of uncommitted transactions", held.Refused)
	subscribed := s.server.Engine.Subscribed()
	one(x, "bartleby_channels_and_consumers_bytes", gauge, "Memory used by channels and consumers", subscribed.Bytes)
	one(x, "bartleby_channels_and_consumers_refused_total", counter,
		"Connections closed because of the memory limit of channels and consumers", subscribed.Refused)
	paced := s.server.Engine.Pacing()
	one(x, "bartleby_publishers_paced_batches", gauge,
		"Batches of messages whose publishers wait for the consumers of a long queue", paced.Now)
	one(x, "bartleby_publisher_waits_total", counter,
		"Batches of messages whose publishers waited for the consumers of a long queue", paced.Batches)
	one(x, "bartleby_send_timeouts_total", counter, "Connections closed because the client did not read", doors.SendTimeouts)
	one(x, "bartleby_idle_frame_pauses_total", counter,
		"Pauses in reading because the client sent too many frames without effect, such as heartbeats", doors.IdleFramePauses)
	one(x, "bartleby_tls_handshake_waits_total", counter,
		"TLS handshakes that waited because the private keys were in use for others", doors.HandshakesWaited)
	one(x, "bartleby_memory_scarce", gauge, "Is 1 while queues that hold dead letters hold no more of them, to save memory", stats.BoolInt(m.Scarce))
	one(x, "bartleby_memory_available_bytes", gauge, "Memory available to the process, limited by the machine and its control groups", m.MemoryMax)
}
