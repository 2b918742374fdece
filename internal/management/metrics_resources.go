package management

import "github.com/bartleby-mq/bartleby/internal/engine"

// resourceMetrics shows alarms over memory, disk and the log in our words. Source: ours.
func (s *scrape) resourceMetrics(x *exposition, m *engine.Resources) {
	x.family("bartleby_alarm", gauge, "Is 1 while there is too little of a resource and publishers are held back")
	for a := range engine.EveryAlarm.Each() {
		add(x, "bartleby_alarm", flag(m.Alarms.Has(a)), "resource", a.String())
	}
	x.family("bartleby_alarms_raised_total", counter, "How often an alarm was raised")
	for a := range engine.EveryAlarm.Each() {
		add(x, "bartleby_alarms_raised_total", m.Raised[a], "resource", a.String())
	}
	one(x, "bartleby_storage_waiting", gauge, "Is 1 while nothing can be written, and so nothing be confirmed, for want of disk space", flag(s.server.engine.Waiting() != nil))
	blocked := 0
	for i := range s.live {
		if s.live[i].State == "blocked" {
			blocked++
		}
	}
	one(x, "bartleby_connections_blocked", gauge, "Connections whose publishes wait for the end of an alarm", blocked)
	doors := s.server.options.Roster.Doors()
	one(x, "bartleby_unfinished_message_bytes", gauge, "Memory of messages that have not arrived whole", doors.UnfinishedBytes)
	one(x, "bartleby_unfinished_message_waiting", gauge, "Connections that wait until there is room for messages that have not arrived whole", doors.UnfinishedWaiting)
	one(x, "bartleby_unfinished_message_ended_total", counter,
		"Connections that ended because a message or frame did not come on, or found no room", doors.UnfinishedEnded)
	held := s.server.engine.Uncommitted()
	one(x, "bartleby_uncommitted_transaction_bytes", gauge, "Memory of transactions that are not committed", held.Bytes)
	one(x, "bartleby_uncommitted_transaction_refused_total", counter,
		"Connections that ended because their transactions would have held too much memory", held.Refused)
	one(x, "bartleby_send_timeouts_total", counter, "Connections that ended because their clients did not read", doors.SendTimeouts)
	one(x, "bartleby_memory_available_bytes", gauge, "What the machine and its control groups let the process have", m.MemoryMax)
}
