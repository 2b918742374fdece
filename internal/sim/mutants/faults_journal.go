package main

import "github.com/bartleby-mq/bartleby/internal/sim"

const journalDir = "internal/journal/"

// crashes is the test of the journal that cuts the power at every call of the disk.
func crashes() check { return test("internal/journal", "TestCrashAtEveryCall", "crash at call") }

// faultsOfJournal returns the faults in what remembers.
func faultsOfJournal() []fault {
	return []fault{
		{ // reports everything safe without syncing the disk
			name: "journal: skip a sync",
			edits: []edit{
				{
					file:  journalDir + "writing.go",
					at:    `w.syncOpen = func() error {`,
					after: ` if j.o.planted(FAULT) { return nil }; `,
				},
				{
					file:  journalDir + "roll.go",
					at:    `if t, err = s.WriteTable(spans); err == nil`,
					after: ` && !j.o.planted(FAULT)`,
				},
			},
			checks: []check{by(sim.Confirmed), crashes()},
		},
		{ // goes on after a failed sync as if it had succeeded
			name: "journal: trust bytes after a failed sync",
			edits: []edit{{
				file: journalDir + "writing.go",
				at: `	case syncing:
		if err != nil`,
				after: ` && !j.o.planted(FAULT)`,
			}},
			checks: []check{by(sim.Sound), test("internal/journal", "TestFailEachCallOnce", "fails:")},
		},
		{ // gives back segments without asking for checkpoints or live records
			name: "journal: reclaim too soon",
			edits: []edit{{
				file:  journalDir + "reclaim.go",
				at:    `func (j *Journal) dead(s *segmentState, live Live) bool {`,
				after: ` if j.o.planted(FAULT) { return true }; `,
			}},
			checks: []check{by(sim.Readable), crashes()},
		},
		{ // gives recycled segments the nonce they had before
			name: "journal: old nonce in a recycled segment",
			edits: []edit{{
				file:   journalDir + "roll.go",
				at:     `s.Seed, s.bare = segment.SeedOf(s.Nonce), sp.bare()`,
				before: `if j.o.planted(FAULT) && sp.nonce != 0 { s.Nonce = sp.nonce }; `,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{ // takes valid groups behind the first bad byte of an unfinished tail for written
			name: "journal: keep what lies behind a torn tail",
			edits: []edit{{
				file: journalDir + "scan.go",
				at:   `return j.cutTail(s, &sc, r)`,
				before: `if j.o.planted(FAULT) {
				if err := j.cutTail(s, &sc, r); err != nil {
					return err
				}
				next, err := sc.Next(s.End + segment.SectorBytes)
				if err != nil || next == 0 {
					return err
				}
				s.End = next
				continue
			}
			`,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{
			name: "journal: name a checkpoint before it is synced",
			edits: []edit{{
				file: journalDir + "manifest.go",
				at: `	if err == nil {
		err = f.Sync()`,
				instead: `	if err == nil && !(j.o.planted(FAULT) && name != manifestTemp) {
		err = f.Sync()`,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{ // puts a rewritten segment in the place of others before it is synced
			name: "journal: adopt before it is synced",
			edits: []edit{{
				file:    journalDir + "rewrite.go",
				at:      `err = w.makeSafe()`,
				instead: `if !w.o.planted(FAULT) { err = w.makeSafe() }`,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{ // out of a rewritten segment
			name: "journal: leave out a live piece",
			edits: []edit{{
				file:  journalDir + "rewrite.go",
				at:    `w.refs = pieces`,
				after: `; if w.o.planted(FAULT) && len(w.refs) > 0 { w.refs = w.refs[:len(w.refs)-1] }`,
			}},
			checks: []check{by(sim.Readable), crashes()},
		},
		{
			name: "journal: rewrite what no checkpoint covers",
			edits: []edit{{
				file:    journalDir + "victims.go",
				at:      `!j.covered(s)`,
				instead: `!j.o.planted(FAULT) && !j.covered(s)`,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{ // goes on in the next segment before all of the one before is safe
			name: "journal: go on before the last segment is safe",
			edits: []edit{{
				file:  journalDir + "writing.go",
				at:    `		if len(j.dirty) > 0`,
				after: ` && !j.o.planted(FAULT)`,
			}},
			checks: []check{by(sim.Sound), crashes()},
		},
		{ // takes damage below what was safe for it
			name:   "journal: take damage for an unfinished tail",
			edits:  []edit{{file: journalDir + "scan.go", at: `if s.End >= limit`, after: ` || j.o.planted(FAULT)`}},
			checks: []check{by(sim.Damage)},
		},
		{
			name: "journal: read what a checksum refutes",
			edits: []edit{{
				file: journalDir + "read.go",
				at:   `return sp.Seg.Data(buf, hint.e, r, int(at), int(r.Size))`,
				before: `if j.o.planted(FAULT) {
		data, _, err := sp.Seg.DataWithHoles(hint.e)
		return data[min(int(at), len(data)):min(int(at+r.Size), len(data))], err
	}
	`,
			}},
			checks: []check{by(sim.Damage)},
		},
		{ // removes files, and writes them again, while they are being copied
			name: "journal: write files again that are being copied",
			edits: []edit{{
				file:  journalDir + "lease.go",
				at:    `return j.leased[name] > 0`,
				after: ` && !j.o.planted(FAULT)`,
			}},
			checks: []check{test("internal/journal", "TestACopyIsTheJournalAtOneMoment", "seed ")},
		},
		{ // for every use but Growing
			name: "full disk: let all uses have the whole reserve",
			edits: []edit{{
				file: journalDir + "space.go",
				at: `	switch use {
	case Committed:`,
				before: `	if j.o.planted(FAULT) && use != Committed {
		return 0
	}
`,
			}},
			checks: []check{in(sim.Options{FullDisk: true}, sim.Drains)},
		},
		{ // lets neither a checkpoint nor a manifest take their place
			name: "full disk: leave spares and allowances alone",
			edits: []edit{
				{
					file:  journalDir + "allowance.go",
					at:    `errors.Is(err, vfs.ErrNoSpace) && a.size > 0`,
					after: ` && !j.o.planted(FAULT)`,
				},
				{
					file:  journalDir + "allowance.go",
					at:    `if i < 0 || len(j.spares) <= least`,
					after: ` || j.o.planted(FAULT)`,
				},
				{
					file:  journalDir + "checkpoint.go",
					at:    `errors.Is(err, ErrNoSpace) && len(j.ahead) > j.needed`,
					after: ` && !j.o.planted(FAULT)`,
				},
				{
					file:  journalDir + "victims.go",
					at:    `if i < 0 && len(j.ahead) > j.needed`,
					after: ` && !j.o.planted(FAULT)`,
				},
			},
			checks: []check{in(sim.Options{FullDisk: true}, sim.Drains)},
		},
		{ // what may give nothing back
			name: "full disk: rewrite without a sure gain",
			edits: []edit{{
				file: journalDir + "victims.go",
				at: `		if len(victims) < 2 || need > most {
			return`,
				instead: `		if (len(victims) < 2 || need > most) && !j.o.planted(FAULT) {
			return`,
			}},
			checks: []check{in(sim.Options{FullDisk: true}, sim.Drains)},
		},
		{ // it is as small as the checkpoint before that of a small log
			name: "full disk: leave a small allowance to a large checkpoint",
			edits: []edit{{
				file:  journalDir + "checkpoint.go",
				at:    `j.o.ReserveBytes < 0 || j.isLeased(old.name())`,
				after: ` || j.o.planted(FAULT)`,
			}},
			checks: []check{test("internal/journal", "TestASmallCheckpointGivesTheAllowanceBack", "files wait to be written")},
		},
		{ // counts a file for the reserve before its name is safe
			name: "full disk: count files of unsafe names",
			edits: []edit{
				{
					file:    journalDir + "space.go",
					at:      `j.allowanceRefused, j.unsyncedNames = false, false`,
					instead: `j.allowanceRefused, j.unsyncedNames = false, j.o.planted(FAULT)`,
				},
				{
					file:  journalDir + "space.go",
					at:    `if err = errors.Join(err, f.Close()); err == nil`,
					after: ` && !j.o.planted(FAULT)`,
				},
			},
			checks: []check{in(sim.Options{FullDisk: true, Outages: true}, sim.Drains)},
		},
		{ // lets maintenance complete the reserve when it has time
			name: "full disk: write what grows on the reserve",
			edits: []edit{
				{file: "internal/engine/logwriter.go", at: `	if !lacks`, after: ` || w.planted(FAULT)`},
				{file: "internal/engine/maintenance.go", at: `steps > 0`, after: ` && !m.writer.planted(FAULT)`},
			},
			checks: []check{test("internal/engine", "TestADiskThatFillsUpDuringCheckpoints", "messages were acked")},
		},
		{ // keeps pages for checkpoints that were never stored, and takes another file
			name: "full disk: let each start take some of the reserve",
			edits: []edit{{
				file:  journalDir + "resume.go",
				at:    `case !log.IsPages() || j.mayMissBatches()`,
				after: ` || j.o.planted(FAULT)`,
			}},
			checks: []check{test("internal/journal", "TestStartsInARowTakeNothingOfTheReserve", "bytes can be written")},
		},
		{ // says that a segment ends, and writes behind that
			name: "full disk: go on behind the end that the manifest names",
			edits: []edit{{
				file:  journalDir + "resume.go",
				at:    `	if !named`,
				after: ` || j.o.planted(FAULT)`,
			}},
			checks: []check{test("internal/journal", "TestStartsInARowTakeNothingOfTheReserve", "were safe")},
		},
		{ // goes on in the segment written last without clearing what a cut left behind its end
			name: "full disk: go on in front of what a cut left",
			edits: []edit{{
				file:    journalDir + "resume.go",
				at:      `if err := j.clearFrom(s, s.End); err != nil {`,
				instead: `if j.o.planted(FAULT) { } else if err := j.clearFrom(s, s.End); err != nil {`,
			}},
			checks: []check{in(sim.Options{Seed: 300, FullDisk: true, Outages: true}, sim.Sound)},
		},
		{ // takes what another leader has decided otherwise for a part of the log
			name: "cuts: forget at a start what a batch replaces",
			edits: []edit{{
				file:  journalDir + "scan.go",
				at:    `b.Header.Flags&segment.FlagCuts != 0`,
				after: ` && !j.o.planted(FAULT)`,
			}},
			checks: []check{
				in(sim.Options{Lag: true}, sim.Sound),
				test("internal/journal", "TestABatchThatCutsTakesThePlaceOfOthers", "faults"),
			},
		},
		{ // what was replaced comes back when the segment with the others is gone
			name: "cuts: do not name what is void",
			edits: []edit{{
				file: journalDir + "cut.go",
				at: `	for _, c := range j.unsafeCuts {
		if c.in != &j.open.File {`,
				instead: `	for _, c := range j.unsafeCuts {
		if c.in != &j.open.File && !j.o.planted(FAULT) {`,
			}},
			checks: []check{test("internal/journal", "TestWhatIsVoidStaysVoid", "replaced")},
		},
		{ // replaces what a checkpoint covers
			name: "cuts: replace any batch",
			edits: []edit{{
				file:    journalDir + "cut.go",
				at:      `index > max(l.checkpoint.at, l.covering)`,
				instead: `(j.o.planted(FAULT) || index > max(l.checkpoint.at, l.covering))`,
			}},
			checks: []check{test("internal/journal", "TestWhatMayBeCut", "covers")},
		},
		{ // gives back what a crash needs before the cut is safe
			name: "cuts: reclaim what is being replaced",
			edits: []edit{{
				file:  journalDir + "reclaim.go",
				at:    `|| j.isBeingCut(s)`,
				after: ` && !j.o.planted(FAULT)`,
			}},
			checks: []check{test("internal/journal", "TestACrashBeforeACutIsSafeBringsAllBack", "missing")},
		},
	}
}
