package main

const clusterDir = "internal/cluster/"

// faultsOfCluster returns the faults in what makes replicas agree.
func faultsOfCluster() []fault {
	return []fault{
		{ // says that batches and votes are stored when they are only given out to be
			name: "cluster: answer before the sync",
			edits: []edit{{
				file: clusterDir + "ready.go",
				at:   `	out.Writes = append(out.Writes, w)`,
				before: `	if r := w.responses; isPlanted(FAULT) {
		w.responses = nil
		if err := g.respond(r, out); err != nil { return err }
	}
`,
			}},
			checks: []check{lives("no such batch", 0, 500)},
		},
		{ // stores the term, and not whom it has voted for in it
			name: "cluster: forget the vote",
			edits: []edit{{
				file:  clusterDir + "ready.go",
				at:    `s.Vote != g.stored.Vote`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{test("internal/cluster", "TestAVoteIsStoredBeforeItIsGiven", "is written")},
		},
		{ // begins without the vote that it has given
			name: "cluster: forget the vote at a start",
			edits: []edit{{
				file:  clusterDir + "log.go",
				at:    `	l.runs = []run{{machine.At, machine.Term}}`,
				after: `; if isPlanted(FAULT) { l.state.Vote = 0 }`,
			}},
			checks: []check{test("internal/cluster", "TestAVoteIsStoredBeforeItIsGiven", "another one in the same term")},
		},
		{ // appends batches of a new leader behind those of the old one
			name: "cluster: replace nothing",
			edits: []edit{{
				file:  clusterDir + "ready.go",
				at:    `w.Cuts = w.First <= g.log.last`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{lives("out of order", 0, 500)},
		},
		{ // takes batches for those of the term before
			name: "cluster: overlook where a term begins",
			edits: []edit{{
				file: clusterDir + "log.go",
				at:   `			if kind != termKind {`,
				before: `			if isPlanted(FAULT) && i%3 == 0 { kind = 0 }
`,
			}},
			checks: []check{lives("", 0, 500)},
		},
		{ // keeps the terms of batches that were replaced
			name: "cluster: terms of replaced batches",
			edits: []edit{{
				file:  clusterDir + "log.go",
				at:    `n > 1 && l.runs[n-1].first >= i`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{lives("", 0, 500)},
		},
		{ // decides before what leaders before it have left is committed
			name: "cluster: lead before the own term",
			edits: []edit{{
				file:    clusterDir + "ready.go",
				at:      `e.GetTerm() == g.term {`,
				instead: `(isPlanted(FAULT) || e.GetTerm() == g.term) {`,
			}},
			checks: []check{lives("decides from", 0, 500)},
		},
		{ // shows what it has decided although another may lead
			name: "cluster: no lease",
			edits: []edit{{
				file:    clusterDir + "group.go",
				at:      `g.lease.Holds(`,
				instead: `isPlanted(FAULT) || g.Leads() && g.lease.Holds(`,
			}},
			checks: []check{lives("confirmed", 0, 500)},
		},
		{ // asks another member to take over, and goes on
			name: "cluster: keep the lease in a transfer",
			edits: []edit{{
				file:    clusterDir + "group.go",
				at:      `	g.lease.Give()`,
				instead: `	if !isPlanted(FAULT) { g.lease.Give() }`,
			}},
			checks: []check{lives("lease", 0, 2000)},
		},
		{ // helps to elect a leader when it has forgotten its promises
			name: "cluster: vote at once",
			edits: []edit{{
				file:    clusterDir + "lease.go",
				at:      `return now >= p.started+p.timing.Silence && p.Session(leader, now) == 0`,
				instead: `return (isPlanted(FAULT) || now >= p.started+p.timing.Silence) && p.Session(leader, now) == 0`,
			}},
			checks: []check{test("internal/cluster", "TestWhoHasJustStartedDoesNotVote", "first second")},
		},
		{ // votes for another leader in spite of a promise
			name: "cluster: break a promise",
			edits: []edit{{
				file: clusterDir + "group.go",
				at:   `	return !g.leading && g.node.promises.MayElect(supported`,
				before: `	if isPlanted(FAULT) { supported = 0 }
`,
			}},
			checks: []check{lives("lease", 0, 2000)},
		},
		{ // counts on a promise for longer than it is kept
			name: "cluster: count from the answer",
			edits: []edit{{
				file: clusterDir + "lease.go",
				at:   `	until := sent + s.timing.Promise - s.timing.Margin`,
				before: `	if isPlanted(FAULT) { sent = now }
`,
			}},
			checks: []check{lives("confirmed", 0, 500)},
		},
		{ // goes on to promise to a node whose replica does not lead any more
			name: "cluster: support who is silent",
			edits: []edit{{
				file:  clusterDir + "group.go",
				at:    `silent := g.node.now-g.heardAt > g.node.timing.Promise`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{lives("calm", 0, 2000)},
		},
		{ // gives up batches that a member lacks
			name: "cluster: compact what a member lacks",
			edits: []edit{{
				file: clusterDir + "group.go",
				at: `	to = min(to, g.applied)
	if g.leading`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{lives("calm", 0, 2000)},
		},
		{ // counts learners among those who decide
			name: "cluster: count learners",
			edits: []edit{{
				file: clusterDir + "state.go",
				at:   `	sets := [][]NodeID{c.nodesOf(c.Voters)}`,
				after: `
	if isPlanted(FAULT) { sets[0] = append(sets[0], c.nodesOf(c.Learners)...) }`,
			}},
			checks: []check{test("internal/cluster", "TestWhoseSupportCounts", "learners")},
		},
		{ // asks only the members of after a change, while it is under way
			name: "cluster: forget the outgoing members",
			edits: []edit{{
				file:  clusterDir + "state.go",
				at:    `	if len(c.Outgoing) > 0`,
				after: ` && !isPlanted(FAULT)`,
			}},
			checks: []check{test("internal/cluster", "TestWhoseSupportCounts", "outgoing")},
		},
	}
}
