package main

import "github.com/bartleby-mq/bartleby/internal/sim"

const queueDir = "internal/queue/"

// faultsOfQueue returns the faults of queues, in memory and in pages.
func faultsOfQueue() []fault {
	return []fault{
		{ // leaves out of a checkpoint which messages of a chunk have gone since its page was written
			name: "queue: save what has gone",
			edits: []edit{{
				file:   queueDir + "checkpoint.go",
				at:     `b := appendSlot(p.saving.buf[:0], s, page, gone)`,
				before: `if p.planted(FAULT) { gone = nil }; `,
			}},
			checks: []check{by(sim.Replay)},
		},
		{ // changes a chunk before the running checkpoint has saved it
			name: "queue: change what is not saved yet",
			edits: []edit{{
				file: queueDir + "pool.go",
				at: `func (p *Pool) warm(s *slot) *chunk {
	if s.epoch != p.epoch`,
				after: ` && !p.planted(FAULT)`,
			}},
			checks: []check{by(sim.Replay)},
		},
		{ // lets a chunk that has changed go cold with the page that it had
			name: "queue: keep a page that is stale",
			edits: []edit{{
				file:    queueDir + "pool.go",
				at:      `if c.dirty || s.page.IsZero()`,
				instead: `if c.dirty && !p.planted(FAULT) || s.page.IsZero()`,
			}},
			checks: []check{by(sim.Readable)},
		},
		{ // a restart forgets when clients published dead letters
			name: "queue: forget in a page when a dead letter arrived",
			edits: []edit{{
				file: queueDir + "pool.go",
				at: `		p.fault(page, err)
	}
`,
				after: `	for i := range c.sides {
		if p.planted(FAULT) {
			c.sides[i].Arrived = 0
		}
	}
`,
			}},
			checks: []check{by(sim.Replay), by(sim.Arrivals)},
		},
		{ // offers what was returned only after everything else
			name: "vhost: requeue at the end",
			edits: []edit{{
				file: queueDir + "lane.go",
				at:   `	for len(l.returned) > 0 {`,
				before: `	if l.queue.pool.planted(FAULT) {
		if n := l.nextReady(l.cursor); n < l.next {
			l.cursor = n
			c, i := l.at(n)
			return n, &c.entries[i]
		}
	}
`,
			}},
			checks: []check{by(sim.Order), oracle()},
		},
	}
}
