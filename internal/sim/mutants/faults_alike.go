package main

import "github.com/bartleby-mq/bartleby/internal/sim"

// faultsOfDeathsAlike returns the faults in how a message dies like one before it.
func faultsOfDeathsAlike() []fault {
	alike := func(name, at, instead string, checks ...check) fault {
		return fault{
			name:   "alike: " + name,
			edits:  []edit{{file: vhostDir + "alike.go", at: at, instead: instead}},
			checks: checks,
		}
	}
	return []fault{
		alike("what is not persistent goes into a quorum queue unread, without its body",
			`stores := t != nil`, `stores := !s.planted(FAULT) && t != nil`, by(sim.Readable)),
		alike("a message goes where one went before a binding was removed",
			`w.version == s.topo.Version()`, `(w.version == s.topo.Version() || s.planted(FAULT))`, by(sim.Moves), oracle()),
		alike("a message goes where one went before the dead-letter exchange was changed",
			`w.settings == q.settings`, `(w.settings == q.settings || s.planted(FAULT))`,
			test(vhostPkg, "TestScenarios", "death-alike-policy")),
		alike("a message has the history of another step",
			`w.index != s.Index || w.wall != s.Wall`,
			`w.index == 0 || !s.planted(FAULT) && (w.index != s.Index || w.wall != s.Wall)`,
			test(vhostPkg, "TestScenarios", "death-alike")),
	}
}
