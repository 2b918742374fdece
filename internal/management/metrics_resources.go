package management

import "github.com/bartleby-mq/bartleby/internal/engine"

// resourceMetrics shows memory, disk and the alarms over them, in RabbitMQ's words, and ours.
// Source: RabbitMQ prometheus; reference metrics 3, 4.
func (s *Server) resourceMetrics(x *exposition) {
	m := s.engine.Resources()
	x.one("rabbitmq_process_resident_memory_bytes", gauge, "Memory used in bytes", m.MemoryUsed)
	x.one("rabbitmq_resident_memory_limit_bytes", gauge, "Memory high watermark in bytes", m.MemoryLimit)
	x.one("rabbitmq_disk_space_available_bytes", gauge, "Disk space available in bytes", max(m.DiskFree, 0))
	x.one("rabbitmq_disk_space_available_limit_bytes", gauge, "Free disk space low watermark in bytes", m.DiskLimit)
	one := func(some engine.Alarms) int {
		if m.Alarms.Has(some) {
			return 1
		}
		return 0
	}
	x.one("rabbitmq_alarms_memory_used_watermark", gauge, "Is 1 while the memory alarm is in effect", one(engine.LowMemory))
	x.one("rabbitmq_alarms_free_disk_space_watermark", gauge, "Is 1 while the free disk space alarm is in effect", one(engine.LowDisk|engine.JournalFull))
	x.one("rabbitmq_alarms_file_descriptor_limit", gauge, "Is 1 while the file descriptor limit alarm is in effect; clients wait here instead", 0)
	x.family("bartleby_alarm", gauge, "Is 1 while there is too little of a resource and publishers are held back")
	for a := range engine.EveryAlarm.Each() {
		x.add("bartleby_alarm", one(a), "resource", a.String())
	}
	x.family("bartleby_alarms_raised_total", counter, "How often an alarm was raised")
	for a := range engine.EveryAlarm.Each() {
		x.add("bartleby_alarms_raised_total", m.Raised[a], "resource", a.String())
	}
	blocked := 0
	for _, c := range s.options.Roster.Connections() {
		if c.State == "blocked" {
			blocked++
		}
	}
	x.one("bartleby_connections_blocked", gauge, "Connections whose publishes wait for the end of an alarm", blocked)
	x.one("bartleby_memory_available_bytes", gauge, "What the machine and its control groups let the process have", m.MemoryMax)
}
