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
	blocked := 0
	for i := range s.live {
		if s.live[i].State == "blocked" {
			blocked++
		}
	}
	one(x, "bartleby_connections_blocked", gauge, "Connections whose publishes wait for the end of an alarm", blocked)
	one(x, "bartleby_memory_available_bytes", gauge, "What the machine and its control groups let the process have", m.MemoryMax)
}
