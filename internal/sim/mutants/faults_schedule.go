package main

import "github.com/bartleby-mq/bartleby/internal/sim"

// faultsOfSchedules returns the faults in what waits for its time.
func faultsOfSchedules() []fault {
	return []fault{
		{ // leaves a scheduled message where it is
			name: "vhost: fire twice",
			edits: []edit{{
				file: vhostDir + "schedule.go",
				at: `	s.end(q, seq, cause)
	s.closeSchedule(q.object.Name)`,
				instead: `	if !s.planted(FAULT) { s.end(q, seq, cause) }
	s.closeSchedule(q.object.Name)`,
			}},
			checks: []check{by(sim.Schedule)},
		},
		{ // before they are due
			name: "vhost: fire early",
			edits: []edit{{
				file: vhostDir + "expire.go",
				at:   `		if e.ExpireAt != 0 && e.ExpireAt < side.Until {`,
				before: `		if v.planted(FAULT) && q.schedule != nil {
			return side.Until - 20
		}
`,
			}},
			checks: []check{by(sim.Schedule)},
		},
		{ // says that a scheduled message is cancelled, and leaves it
			name: "vhost: forget to cancel",
			edits: []edit{{
				file: vhostDir + "schedule.go",
				at: `		s.cancelOne(q, seq)
		s.closeSchedule(q.object.Name)
		return outcomeCancelled`,
				before: `		if s.planted(FAULT) {
			s.closeSchedule(q.object.Name)
			return outcomeCancelled
		}
`,
			}},
			checks: []check{by(sim.Schedule)},
		},
		{ // and so takes a message that a consumer may still want to see again
			name: "vhost: cancel a retry",
			edits: []edit{{
				file: vhostDir + "schedule.go", at: `.Flags&queue.Redelivered != 0`, after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Schedule)},
		},
		{ // though it is to be delivered later
			name: "vhost: what was moved in its queue expires when it would have",
			edits: []edit{{
				file: vhostDir + "cancelled.go", at: `expiry != e.ExpireAt`, after: ` && !v.planted(FAULT)`,
			}},
			checks: []check{test(vhostPkg, "TestScenarios", "schedule-queue")},
		},
	}
}
