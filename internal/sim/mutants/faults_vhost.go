package main

import "github.com/bartleby-mq/bartleby/internal/sim"

const (
	vhostDir = "internal/vhost/"
	vhostPkg = "internal/vhost"
)

// oracle is the test that compares a virtual host with the oracle of its rules.
func oracle() check { return test(vhostPkg, "TestOracle", "replay: go test") }

// walks is the test that walks at random, and looks at the books of a virtual host and at what a restart makes of it.
func walks() check { return test(vhostPkg, "TestRandomWalk", "VHOST_SEED") }

// faultsOfVHost returns the faults in what decides.
func faultsOfVHost() []fault {
	return []fault{
		{ // forgets it in a restart, of queues
			name: "vhost: forget which policies apply",
			edits: []edit{{
				file:    vhostDir + "rules.go",
				at:      `	case q == nil:`,
				instead: `	case q == nil || v.planted(FAULT):`,
			}},
			checks: []check{
				by(sim.Replay),
				test(vhostPkg, "TestCheckpointsSayWhichPoliciesApply", "the checkpoint leads to another state"),
			},
		},
		{ // while there is no space for that
			name:   "full disk: let dead letters move all the same",
			edits:  []edit{{file: vhostDir + "diskspace.go", at: `return v.cramped`, after: ` && !v.planted(FAULT)`}},
			checks: []check{in(sim.Options{FullDisk: true}, sim.Drains)},
		},
		{
			name: "pacing: publishers wait for consumers that are not there",
			edits: []edit{{
				file:    vhostDir + "pacing.go",
				at:      `q.consumers.Len() > 0`,
				instead: `(q.consumers.Len() > 0 || v.planted(FAULT))`,
			}},
			checks: []check{by(sim.Paced)},
		},
		{
			name:   "low memory: hold dead letters all the same",
			edits:  []edit{{file: vhostDir + "diskspace.go", at: `|| v.lowMemory`, after: ` && !v.planted(FAULT)`}},
			checks: []check{by(sim.Held)},
		},
		{
			name:   "low memory: a queue that holds no dead letters any more does not go on",
			edits:  []edit{{file: vhostDir + "diskspace.go", at: `if !s.cramped`, after: ` && !s.planted(FAULT)`}},
			checks: []check{by(sim.Moves)},
		},
		{
			name: "low memory: hand over however many were put off",
			edits: []edit{{
				file: vhostDir + "diskspace.go", at: `return int(q.off) >= v.offMax`, after: ` && !v.planted(FAULT)`,
			}},
			checks: []check{test(vhostPkg, "TestHeldDeadLettersWaitForMemory", "handed over")},
		},
		{
			name:   "vhost: confirm depends on nothing",
			edits:  []edit{{file: vhostDir + "publish.go", at: `if x.durable`, after: ` && !s.planted(FAULT)`}},
			checks: []check{by(sim.Release)},
		},
		{ // ends a dead letter without making the copy in its last target
			name: "vhost: lose a move's second half",
			edits: []edit{{
				file: vhostDir + "deadletter.go",
				at: `		case !q.refuses(m):
			s.moveTo(q, m, a.depth)`,
				before: `		case s.planted(FAULT) && id == ids[len(ids)-1]:
			p.placed = true
`,
			}},
			checks: []check{by(sim.Moves), oracle()},
		},
		{ // of which only the head was read
			name:  "vhost: store a message again without its body",
			edits: []edit{{file: vhostDir + "record.go", at: `if !b.at.IsZero()`, after: ` && !v.planted(FAULT)`}},
			checks: []check{
				by(sim.Readable), oracle(),
				test(vhostPkg, "TestBodiesAreStoredAnew", "bytes were read to store"),
			},
		},
		{ // keeps the deadlines of single messages out of the set
			name: "vhost: forget an expiry",
			edits: []edit{{
				file: vhostDir + "expire.go",
				at: `	case queue.Ready:
		if !q.settings.ExpiryHead`,
				after: ` && !v.planted(FAULT)`,
			}},
			checks: []check{by(sim.Expiry), oracle(), walks()},
		},
		{
			name: "vhost: count an end twice",
			edits: []edit{{
				file:  vhostDir + "apply.go",
				at:    `v.books.Ended[cause]++`,
				after: `; if v.planted(FAULT) { v.books.Ended[cause]++ }`,
			}},
			checks: []check{by(sim.Books), oracle(), walks()},
		},
		{
			name: "vhost: forget to log an end",
			edits: []edit{
				{
					file:  vhostDir + "emit.go",
					at:    `durable := q.messages.Entry(seq).Flags&queue.Persistent != 0`,
					after: ` && !s.planted(FAULT)`,
				},
				{file: vhostDir + "pending_free.go", at: `durable := g.Persistent > 0`, after: ` && !s.planted(FAULT)`},
			},
			checks: []check{by(sim.Replay), walks()},
		},
		{ // that has space again
			name: "vhost: forget to wake a consumer",
			edits: []edit{{
				file:   vhostDir + "settle.go",
				at:     `d.queue.consumers.Settled(d.consumer)`,
				before: `if !v.planted(FAULT) { `,
				after:  ` }`,
			}},
			checks: []check{by(sim.Served), oracle()},
		},
		{ // sends a dead letter on with the history that it had
			name: "vhost: forget a death",
			edits: []edit{{
				file:  vhostDir + "deadletter.go",
				at:    `h := old.Died(d)`,
				after: `; if s.planted(FAULT) && m.history != nil { h = old }`,
			}},
			checks: []check{by(sim.Deaths), oracle()},
		},
		{ // lets queues grow beyond their length
			name: "vhost: keep what is too much",
			edits: []edit{{
				file:  vhostDir + "length.go",
				at:    `if !set.Overflow.DropsHead() || s.putsOff(q, fact.MaxLen)`,
				after: ` || s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Limits), oracle()},
		},
		{ // hands over without taking credit
			name: "vhost: ignore the prefetch",
			edits: []edit{{file: vhostDir + "dispatch.go", at: `	x.Own.Used++
	x.Shared.Used++`, before: `	if !s.planted(FAULT) {
`, after: `
	}`}},
			checks: []check{by(sim.Prefetch), oracle(), walks()},
		},
		{
			name: "vhost: go on with deliveries to a connection that ends",
			edits: []edit{{
				file: vhostDir + "channel.go", at: `		n.window.Max = windowShut`, before: `		if v.planted(FAULT) {
			return
		}
`,
			}},
			checks: []check{by(sim.Prefetch), test(vhostPkg, "TestScenarios/consume-stopped", "deliver")},
		},
		{ // as if it were as large as before
			name: "vhost: keep the window that is to be smaller",
			edits: []edit{{
				file: vhostDir + "channel.go", at: `	if c.WindowMax > 0 {`,
				instead: `	if c.WindowMax > 0 && !(v.planted(FAULT) && c.WindowMax < n.most) {`,
			}},
			checks: []check{by(sim.Prefetch), test(vhostPkg, "TestScenarios/consume-window-changes", "deliver")},
		},
		{ // of their channel, when it is used up
			name: "vhost: let consumers without acks pass the prefetch",
			edits: []edit{{
				file:   vhostDir + "dispatch.go",
				at:     `ch.attach(x)`,
				before: `if d.NoAck && s.planted(FAULT) { x.Shared = &queue.Limit{} }; `,
			}},
			checks: []check{by(sim.Prefetch)},
		},
		{ // returns with basic.recover what the channel has settled in its transaction
			name: "vhost: recover what a transaction has settled",
			edits: []edit{{
				file:  vhostDir + "settle.go",
				at:    `if ch.tx.settles(d.tag)`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Answers)},
		},
		{ // does not log it
			name: "portions: forget how far a committed transaction has come",
			edits: []edit{
				{file: vhostDir + "spread.go", at: `if id != 0 {
			s.reached`, instead: `if id != 0 && (!s.planted(FAULT) || len(rest) == 0) {
			s.reached`},
				{file: vhostDir + "staged.go", at: `		steps = steps[n:]
		s.emit(&fact.Fact{Kind: fact.TxApplied, Durable: true, N: x.id, Seq: queue.Seq(n)})`,
					instead: `		if steps = steps[n:]; !s.planted(FAULT) || len(steps) == 0 {
			s.emit(&fact.Fact{Kind: fact.TxApplied, Durable: true, N: x.id, Seq: queue.Seq(n)})
		}`},
			},
			checks: []check{
				in(sim.Options{Portions: 200}, sim.Readable),
				test(vhostPkg, "TestWideSpreadsAreWhole", "restarted behind batch"),
				test(vhostPkg, "TestLargeCommitsAreWhole", "restarted behind batch"),
			},
		},
		{ // does not log on which queues a change of policies is in force
			name: "portions: forget how far a change of policies has come",
			edits: []edit{{file: vhostDir + "rules.go", at: `		s.emit(&f)
		s.work += n * workOfRule`, instead: `		if s.planted(FAULT) && f.N != 0 {
			s.apply(&f)
		} else {
			s.emit(&f)
		}
		s.work += n * workOfRule`}},
			checks: []check{test(vhostPkg, "TestPoliciesForManyQueuesComeInPortions", "behind batch")},
		},
		{ // holds a dead letter without noting which targets have it
			name: "vhost: forget who has a held dead letter",
			edits: []edit{{
				file: vhostDir + "deadletter.go",
				at: `			p.placed = true
			if a.holds || a.wide {`,
				instead: `			p.placed = true
			if (a.holds || a.wide) && !s.planted(FAULT) {`,
			}},
			checks: []check{
				by(sim.Held),
				in(sim.Options{Portions: 200}, sim.Ends), // those who have a dead letter for very many queues
				oracle(), test(vhostPkg, "TestWideDeadLettersComeOnce", "it does not end"),
			},
		},
		{ // after a restart, that of a transient queue
			name: "vhost: give a number again that a held dead letter names",
			edits: []edit{{
				file: vhostDir + "apply.go",
				at: `	for _, id := range list {
		v.number(id, logged)
	}`,
				before: `	given := v.queueMax
`, after: `
	if v.planted(FAULT) {
		v.queueMax = given
	}`,
			}},
			checks: []check{by(sim.Held), test(vhostPkg, "TestSpreadsNameNoNewQueues", "new0/wide")},
		},
		{ // makes durable copies of it
			name: "vhost: refer to what only transient copies keep",
			edits: []edit{{
				file:  vhostDir + "record.go",
				at:    `borrowed := m.borrowed && m.record.Index != s.Index`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Replay)},
		},
		{ // though its queue holds dead letters
			name: "vhost: put a dead letter of a cycle into the lost store instead of holding it",
			edits: []edit{{
				file:    vhostDir + "deadletter.go",
				at:      `	case !a.holds:`,
				instead: `	case !a.holds || s.planted(FAULT):`,
			}},
			checks: []check{by(sim.Held)},
		},
		{ // leaves them to the clock when the topology changes
			name: "vhost: forget to try held dead letters again",
			edits: []edit{{
				file:  vhostDir + "hold.go",
				at:    `s.holding.swept != s.topo.Version()`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{oracle()}, // in simulations it takes 300 seeds
		},
		{
			name:   "vhost: forget in a restart what is held",
			edits:  forgets("fact.Held"),
			checks: []check{by(sim.Held)},
		},
		{
			name: "vhost: let the oldest lost letter go, whosever it is",
			edits: []edit{{file: vhostDir + "lost_store.go", at: `return v.shares.loser()`, before: `if v.planted(FAULT) {
		seq, _, ok = v.lost.messages.Head()
		return seq, ok
	}
	`}},
			checks: []check{by(sim.LostStore)},
		},
		{ // beyond its bytes
			name: "vhost: let the lost store grow",
			edits: []edit{{
				file:    vhostDir + "length.go",
				at:      ` || q.excess != 0 {`,
				instead: ` || q.excess != 0 || q == s.lost && s.planted(FAULT) {`,
			}},
			checks: []check{by(sim.LostStore), oracle()},
		},
		{ // says of every lost letter that its exchange led nowhere
			name: "vhost: put into the lost store for a wrong cause",
			edits: []edit{{
				file:  vhostDir + "lost_store.go",
				at:    `func (s *step) putInLost(m *message, cause fact.Cause, target string) {`,
				after: ` if s.planted(FAULT) { cause = fact.LostRoute }; `,
			}},
			checks: []check{by(sim.LostStore), oracle()},
		},
		{ // and leaves it there, too
			name: "vhost: send a copy on from the lost store",
			edits: []edit{{
				file:   vhostDir + "lost_store.go",
				at:     `s.end(s.lost, seq, fact.Redriven)`,
				before: `if !s.planted(FAULT) { `,
				after:  ` }`,
			}},
			checks: []check{by(sim.LostStore), oracle()},
		},
		{
			name:   "vhost: leave what a job sent back where it was",
			edits:  []edit{{file: vhostDir + "redrive_route.go", at: `if !keep`, after: ` && !s.planted(FAULT)`}},
			checks: []check{by(sim.Redrive)},
		},
		{ // counts and lists it as a dead letter while it is worked on
			name: "vhost: keep as a dead letter what was returned to work",
			edits: []edit{{
				file:  vhostDir + "redrive_route.go",
				at:    `atWork := returns && !slices.Contains(w.targets, source)`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Redrive), test(vhostPkg, "TestWhatIsADeadLetter", "a dead letter is true")},
		},
		{ // what is parked elsewhere vanishes from the lists
			name: "vhost: forget on the way elsewhere that a queue is marked",
			edits: []edit{{
				file:  vhostDir + "redrive_route.go",
				at:    `|| !m.isDeadLetter(source, &h)`,
				after: ` || s.planted(FAULT) && source.marked()`,
			}},
			checks: []check{test(vhostPkg, "TestScenarios", "dead-letter-queue-marked")},
		},
		{ // what is parked elsewhere seems to have failed then
			name: "vhost: forget on the way elsewhere when a dead letter arrived",
			edits: []edit{{
				file:    vhostDir + "record.go",
				at:      `m.arrived = q.messages.Side(seq).Arrived`,
				instead: `if !v.planted(FAULT) { m.arrived = q.messages.Side(seq).Arrived }`,
			}},
			checks: []check{by(sim.Arrivals)},
		},
		{ // a queue that its argument marks stays a dead-letter queue
			name: "vhost: let an argument override the mark of a queue",
			edits: []edit{{
				file: vhostDir + "policy.go",
				at:   `	q.settings = v.share(v.options.Apply(q.object.Name, by))`,
				instead: `	q.settings = v.share(v.options.Apply(q.object.Name, by))
	if v.planted(FAULT) {
		q.settings = v.share(by)
	}`,
			}},
			checks: []check{by(sim.Configured)},
		},
		{ // of the counts of its queue
			name: "vhost: forget that a message is worked on again",
			edits: []edit{{
				file:  vhostDir + "publish.go",
				at:    `f.Entry.Flags = m.historyFlags()`,
				after: `; if s.planted(FAULT) { f.Entry.Flags &^= queue.AtWork }`,
			}},
			checks: []check{by(sim.Books), test(vhostPkg, "TestWhatIsADeadLetter", "a dead letter is true")},
		},
		{
			name: "vhost: send a dead letter by its exchange, and not into its queue alone",
			edits: []edit{{
				file: vhostDir + "redrive_route.go",
				at: `	case name == "" && from.Told:
`,
				before: `	case s.planted(FAULT):
		return w, s.routeBack(m, h, &w)
`,
			}},
			checks: []check{by(sim.Redrive)},
		},
		{ // and not those of the first publish
			name: "vhost: show the exchange and key of a dead letter's way into its queue",
			edits: []edit{{
				file: vhostDir + "redrive_route.go",
				at: `		w.targets = []*queueState{q}
`,
				after: `		if s.planted(FAULT) {
			w.exchange, w.keys = "", []string{name}
		}
`,
			}},
			checks: []check{by(sim.Readable)},
		},
		{
			name: "vhost: end a record that is made of a body's memory before the body ends",
			edits: []edit{{
				file: vhostDir + "record.go",
				at: `	ref := s.volatile.adopt(h, octets)
`,
				after: `	if s.planted(FAULT) && !ref.IsZero() {
		ref.Size--
	}
`,
			}},
			checks: []check{by(sim.Readable)},
		},
		{
			name:   "vhost: send a dead letter to where it is, which nobody has forced",
			edits:  []edit{{file: vhostDir + "redrive_route.go", at: `why == 0 && !o.Force`, after: ` && !s.planted(FAULT)`}},
			checks: []check{by(sim.Redrive)},
		},
		{
			name: "vhost: let a job go as fast as it can",
			edits: []edit{{file: vhostDir + "redrive.go", at: `	if p.Rate == 0 {
		return may`, instead: `	if p.Rate == 0 || s.planted(FAULT) {
		return may`}},
			checks: []check{by(sim.Redrive)},
		},
		{ // after it began
			name: "vhost: let a job take what came later",
			edits: []edit{
				{file: vhostDir + "job.go", at: `type job struct {`, after: `
	greedy bool`},
				{
					file: vhostDir + "job.go",
					at:   `	j.filter, _ = filter.Parse(j.Filter, int64(j.Begun))`,
					before: `	j.greedy = v.planted(FAULT)
`},
				{file: vhostDir + "job.go", at: `uint64(seq) >= p.Bounds[lane]`, after: ` && !j.greedy`},
			},
			checks: []check{by(sim.Redrive)},
		},
		{ // that its user had when it began
			name: "vhost: let a job go on without the right to it",
			edits: []edit{{
				file:  vhostDir + "redrive.go",
				at:    `s.Rights.Job(&j.JobSpec) != nil`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Redrive)},
		},
		{
			name:   "vhost: let a job take what its user may not",
			edits:  []edit{{file: vhostDir + "redrive.go", at: `if rights == nil`, after: ` || v.planted(FAULT)`}},
			checks: []check{by(sim.Redrive)},
		},
		{ // does not count it
			name: "vhost: forget what came back",
			edits: []edit{{
				file:  vhostDir + "redrive.go",
				at:    `if j := s.jobs.find(by); j != nil`,
				after: ` && !s.planted(FAULT)`,
			}},
			checks: []check{by(sim.Redrive)},
		},
		{
			name: "vhost: let wait for ever",
			edits: []edit{{
				file: vhostDir + "expire.go",
				at: `	case queue.Waiting:
`,
				after: `		if v.planted(FAULT) {
			return e.ExpireAt
		}
`,
			}},
			checks: []check{by(sim.Waiting), oracle()},
		},
		{ // each time as the first time
			name: "vhost: let wait too short",
			edits: []edit{{
				file:   vhostDir + "settle.go",
				at:     `at := set.RetryAt(`,
				before: `if s.planted(FAULT) { count = 1 }; `,
			}},
			checks: []check{by(sim.Waiting), oracle()},
		},
		{
			name:   "vhost: forget to count a return",
			edits:  []edit{{file: vhostDir + "apply.go", at: `if q.settings.Counts`, after: ` && !v.planted(FAULT)`}},
			checks: []check{by(sim.Counts), oracle()},
		},
		{ // of those who had messages
			name: "vhost: forget that a crash is a failure",
			edits: []edit{{
				file:    vhostDir + "tick.go",
				at:      `s.returnOne(q, seq, true)`,
				instead: `s.returnOne(q, seq, !s.planted(FAULT))`,
			}},
			checks: []check{by(sim.Counts)},
		},
		{ // every delivery
			name:   "vhost: let hold for ever",
			edits:  []edit{{file: vhostDir + "timeout.go", at: `if timeout == 0`, after: ` || s.planted(FAULT)`}},
			checks: []check{by(sim.Timeout), oracle()},
		},
		{ // of what was taken back
			name: "vhost: refuse a late settlement",
			edits: []edit{{
				file:   vhostDir + "timeout.go",
				at:     `ch.late = append(ch.late, d.tag)`,
				before: `if !s.planted(FAULT) { `,
				after:  ` }`,
			}},
			checks: []check{by(sim.Timeout), oracle()},
		},
		{ // and not for ever
			name: "vhost: keep for a second",
			edits: []edit{{
				file: vhostDir + "apply.go",
				at:   `q.messages.Change(s).ExpireAt = 0`,
				after: `
			if v.planted(FAULT) {
				e := q.messages.Change(s)
				e.ExpireAt = v.logged + 1000
				v.schedule(q, s, e)
			}`,
			}},
			checks: []check{by(sim.Kept), oracle()},
		},
		{
			name:   "vhost: forget in a restart what was moved",
			edits:  forgets("fact.Deferred"),
			checks: []check{by(sim.Schedule)},
		},
		{
			name:   "vhost: forget in a restart what was cancelled",
			edits:  forgets("fact.Cancellations"),
			checks: []check{by(sim.Schedule)},
		},
		{
			name:   "vhost: forget the options in a restart",
			edits:  forgets("fact.Configured"),
			checks: []check{by(sim.Configured)},
		},
		{
			name:   "vhost: forget in a restart what ended in whole chunks",
			edits:  forgets("fact.PendingFree"),
			checks: []check{walks()},
		},
	}
}

// forgets leaves facts of a kind out when a log is read.
func forgets(kind string) []edit {
	return []edit{{
		file: vhostDir + "replay.go",
		at:   `		v.apply(&f)`,
		before: `		if v.planted(FAULT) && f.Kind == ` + kind + ` { continue }
`,
	}}
}
