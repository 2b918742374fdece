package main

import "github.com/bartleby-mq/bartleby/internal/sim"

const simDir = "internal/sim/"

// faultsOfSim returns the faults in the part that the simulation plays itself, the engine's.
func faultsOfSim() []fault {
	return []fault{
		{ // effects wait for nothing
			name: "release: confirm early",
			edits: []edit{{
				file:    simDir + "client.go",
				at:      `ch.Waiting[0].Effect.After <= w.safe`,
				instead: `(ch.Waiting[0].Effect.After <= w.safe || w.planted(FAULT))`,
			}},
			checks: []check{by(sim.Release)},
		},
		{ // sparse segments go before what has ended meanwhile is safe
			name: "rewriting: adopt before ends are safe",
			edits: []edit{{
				file: simDir + "checkpoint.go",
				at: `func (w *world) adopt(z *checkpoint) error {
	if !w.settle() || w.checkpoint != z {`,
				instead: `func (w *world) adopt(z *checkpoint) error {
	if !w.planted(FAULT) && (!w.settle() || w.checkpoint != z) {`,
			}},
			checks: []check{in(sim.Options{Seed: 600}, sim.Readable)},
		},
		{ // takes a mark for done that is not
			name: "rewriting: leave a mark half done",
			edits: []edit{{
				file:  simDir + "checkpoint.go",
				at:    `w.vhost.MarkSome(1 + w.dice.IntN(8))`,
				after: ` && !w.planted(FAULT)`,
			}},
			checks: []check{by(sim.Readable)},
		},
		{
			name: "pages: give back what is in use",
			edits: []edit{
				{file: simDir + "checkpoint.go", at: `type checkpoint struct {`, after: `
	forgetsPages bool`},
				{file: simDir + "checkpoint.go", at: `z := &checkpoint{`, after: `forgetsPages: w.planted(FAULT), `},
				{
					file:  simDir + "checkpoint.go",
					at:    `if log.Owner() != logID`,
					after: ` || log == pagesLog && z.forgetsPages`,
				},
			},
			checks: []check{by(sim.Readable)},
		},
		{ // stores a checkpoint before the pages that it names are safe
			name: "pages: name them before they are safe",
			edits: []edit{{
				file: simDir + "checkpoint.go",
				at: `func (w *world) store(z *checkpoint) error {
	if !w.settle() || w.checkpoint != z {`,
				instead: `func (w *world) store(z *checkpoint) error {
	if (!w.planted(FAULT) || z.at > w.safe) && (!w.settle() || w.checkpoint != z) {`,
			}},
			checks: []check{by(sim.Sound)},
		},
		{ // than the checkpoint says
			name: "checkpoint: save a later state",
			edits: []edit{
				{
					file:    simDir + "checkpoint.go",
					at:      `	w.vhost.BeginCheckpoint(z.at)`,
					instead: `	if !w.planted(FAULT) { w.vhost.BeginCheckpoint(z.at) }`,
				},
				{file: simDir + "checkpoint.go", at: `func (w *world) saveCheckpoint(z *checkpoint) error {`, after: `
	if !w.vhost.InCheckpoint() {
		w.vhost.BeginCheckpoint(z.at)
	}`},
			},
			checks: []check{by(sim.Replay)},
		},
		{ // to clients
			name: "damage: serve it as data",
			edits: []edit{
				{file: simDir + "sim.go", at: `type world struct {`, after: `
	serving bool // a client's message is being read`},
				{file: simDir + "client.go", at: `	err := unwound(func() {
		if m.Record == nil {`, before: `	w.serving = w.planted(FAULT)
`},
				{file: simDir + "client.go", at: `	if err != nil {
		if !w.planned(err) && !w.spoilt(err) {
			w.violate(Readable, "message %d: %v", x.Message, err)`, before: `	w.serving = false
`},
				{file: simDir + "pages.go", at: `b, err = w.journal.Read(nil, r)`, after: `
	} else if w.serving && errors.As(err, &fault) {
		return make([]byte, r.Size)`},
			},
			checks: []check{by(sim.Damage)},
		},
		{ // does not tell what was cut
			name:   "damage: cut and keep silent",
			edits:  []edit{{file: simDir + "disk.go", at: `if r.Cut != nil`, after: ` && !w.planted(FAULT)`}},
			checks: []check{by(sim.Damage)},
		},
		{
			name: "disk: once full, full for ever",
			edits: []edit{{file: simDir + "plan.go", at: `	case !more && make:
		w.full = false`, after: ` || w.full && w.planted(FAULT)`}},
			checks: []check{by(sim.Drains)},
		},
		{
			name: "full disk: make the reserve when there is time",
			edits: []edit{
				{file: simDir + "diskspace.go", at: `for w.journal.LacksReserve()`, after: ` && !w.planted(FAULT)`},
				{file: simDir + "diskspace.go", at: `case w.full || !j.LacksReserve()`, after: ` || w.planted(FAULT)`},
			},
			checks: []check{in(sim.Options{Seed: 1200, FullDisk: true}, sim.Drains)},
		},
	}
}
