package journal

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// model is what a journal under test must hold: the slow and obvious version of it.
type model struct {
	logs map[storage.LogID]*modelLog

	journal  *Journal
	cuts     bool       // batches cut others
	dice     *rand.Rand // not nil: things happen beside others
	writing  bool
	keeping  bool
	besides  int
	cut      int   // times that a batch cut others
	besideOf error // what went wrong there
}

// run brings a task to its end, as an engine with two goroutines does: before the disk does what it is asked, or after,
// something of the other kind is done.
func (m *model) run(t *Task) error {
	for t.Plan() {
		m.meanwhile()
		t.Work()
		m.meanwhile()
	}
	return t.Err()
}

// keep runs a task of maintenance.
func (m *model) keep(j *Journal, change func(*Journal) error) error { return m.run(j.Task(change)) }

// meanwhile does something of the other kind, at times.
func (m *model) meanwhile() {
	if m.dice == nil || m.journal == nil || m.writing && m.keeping || !m.writing && !m.keeping {
		return
	}
	if m.dice.IntN(8) == 0 {
		m.other()
	}
}

// other does something of the kind that is not being done.
func (m *model) other() {
	if m.besideOf != nil {
		return
	}
	m.besides++
	var err error
	if m.keeping {
		err = m.stepWriting(m.journal, m.dice)
	} else {
		err = m.stepKeeping(m.journal, m.dice)
	}
	if !errors.Is(err, ErrNoSpace) {
		m.besideOf = err
	}
}

// modelLogs are four virtual hosts' logs, of which the last is dropped at times, and the logs of pages of two.
var modelLogs = []storage.LogID{1, 2, 3, 4, storage.LogID(1).Pages(), storage.LogID(4).Pages()}

const dropped = 4

func newModel() *model {
	m := &model{logs: map[storage.LogID]*modelLog{}}
	for _, log := range modelLogs {
		m.logs[log] = &modelLog{}
	}
	return m
}

// state is the checkpoint that a log has at an index.
func state(log storage.LogID, at storage.Index) []byte { return data(log, at, int(at)*37%5000) }

// live is what the model answers to Reclaim and Sparse.
func (m *model) live(log storage.LogID, first, last storage.Index) (n int64) {
	l := m.logs[log]
	for i := max(first, l.floor+1); i <= min(last, storage.Index(len(l.sizes))); i++ {
		n += 1 + int64(l.sizes[i-1])
	}
	for _, r := range l.pieces {
		if first <= r.Index && r.Index <= last {
			n += int64(r.Size)
		}
	}
	return n
}

// mark lists what is live in the ranges.
func (m *model) mark(ranges []Range) (refs []storage.Ref) {
	for _, r := range ranges {
		l := m.logs[r.Log]
		if l.dropping {
			continue
		}
		for _, p := range l.pieces {
			if r.First <= p.Index && p.Index <= r.Last {
				refs = append(refs, p)
			}
		}
		for i := max(r.First, l.floor+1); i <= r.Last; i++ {
			refs = append(refs, storage.Ref{Log: r.Log, Index: i, Size: uint32(l.sizes[i-1])})
		}
	}
	slices.SortFunc(refs, compareRefs)
	return refs
}

// step does one random thing to the journal, and notes what it led to.
func (m *model) step(j *Journal, dice *rand.Rand) error {
	m.journal, m.besideOf = j, nil
	var err error
	if dice.IntN(100) < 80 {
		err = m.stepWriting(j, dice)
	} else {
		err = m.stepKeeping(j, dice)
	}
	return errors.Join(err, m.besideOf)
}

// stepWriting does a call that writes.
func (m *model) stepWriting(j *Journal, dice *rand.Rand) error {
	m.writing = true
	defer func() { m.writing = false }()
	switch k := dice.IntN(80); {
	case k < 55:
		return m.write(j, dice)
	case k < 66:
		if err := m.run(j.SyncTask()); err != nil {
			return err
		}
		for _, l := range m.logs {
			l.safe, l.before = storage.Index(len(l.sizes)), nil
		}
		return nil
	}
	return m.run(j.MarkSafeTask())
}

// stepKeeping does one of maintenance.
func (m *model) stepKeeping(j *Journal, dice *rand.Rand) error {
	m.keeping = true
	defer func() { m.keeping = false }()
	log := modelLogs[dice.IntN(len(modelLogs))]
	l := m.logs[log]
	switch k := dice.IntN(29); {
	case k < 4:
		at := l.checkpoint + storage.Index(dice.IntN(int(l.safe-l.checkpoint)+1))
		return m.checkpoint(j, map[storage.LogID]storage.Index{log: at})
	case k < 7:
		l.settle(log, max(l.floor, storage.Index(dice.IntN(int(l.safe)+1))), dice)
	case k < 9:
		return m.reclaim(j)
	case k < 14: // as an engine does: settle most, cover it, give back what is free
		all := map[storage.LogID]storage.Index{}
		for _, log := range modelLogs {
			l := m.logs[log]
			l.settle(log, max(l.floor, l.safe-min(l.safe, storage.Index(dice.IntN(4)))), dice)
			all[log] = l.safe
		}
		if err := m.checkpoint(j, all); err != nil {
			return err
		}
		return m.reclaim(j)
	case k < 23:
		for range 1 + dice.IntN(4) {
			if err := m.rewrite(j, dice); err != nil {
				return err
			}
		}
	case k < 28:
		make := dice.IntN(2) == 0
		return m.keep(j, func(j *Journal) error {
			_, err := j.Prepare(make)
			return err
		})
	case log == dropped && len(l.sizes) > 20 && !m.writing:
		l.dropping, m.logs[log.Pages()].dropping = true, true
		return m.keep(j, func(j *Journal) error { return j.Drop(log) })
	}
	return nil
}

func (m *model) reclaim(j *Journal) error {
	return m.keep(j, func(j *Journal) error {
		_, err := j.Reclaim(m.live)
		return err
	})
}

// rewritten counts the segments that were given back by rewriting, in all walks.
var rewritten atomic.Int64

// rewrite begins a rewriting or takes it one step further.
func (m *model) rewrite(j *Journal, dice *rand.Rand) (err error) {
	w := j.rewriting
	switch {
	case w == nil:
		share := 0.2 + 0.7*dice.Float64()
		err = m.keep(j, func(j *Journal) (err error) {
			w, err = j.Sparse(m.live, share)
			return err
		})
		if w == nil {
			return err
		}
		if refs := m.mark(w.Ranges()); len(refs) > 0 {
			n := dice.IntN(len(refs))
			w.Keep(refs[n/2:])
			w.Keep(refs[:n])
		} else {
			w.Keep(nil)
		}
	case w.done:
		var n int
		err := m.keep(j, func(j *Journal) (err error) {
			n, err = j.Adopt(w)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		rewritten.Add(int64(n))
		for _, log := range modelLogs {
			if err := m.logs[log].checkRecords(j, log); err != nil {
				return fmt.Errorf("just rewritten: %w", err)
			}
		}
	case dice.IntN(20) == 0:
		return m.abandon(j, w)
	default:
		_, err = w.Step(dice.IntN(64 << 10))
		if w.broken != nil {
			err = errors.Join(err, m.abandon(j, w))
		}
	}
	return err
}

func (m *model) abandon(j *Journal, w *Rewriting) error {
	return m.keep(j, func(j *Journal) error {
		j.Abandon(w)
		return nil
	})
}

// checkpoint checkpoints logs, with one manifest.
func (m *model) checkpoint(j *Journal, of map[storage.LogID]storage.Index) error {
	var states []State
	named := map[storage.LogID]storage.Index{} // pages that a checkpoint may name
	for _, log := range slices.Sorted(maps.Keys(of)) {
		l := m.logs[log]
		if l.dropping || l.safe == 0 || log.IsPages() {
			continue
		}
		l.trying = of[log]
		if pages := m.logs[log.Pages()]; pages != nil {
			named[log] = pages.safe
		}
		states = append(states, State{log, l.trying, [][]byte{state(log, l.trying)}})
	}
	var errs []error
	err := m.keep(j, func(j *Journal) error {
		errs = j.Checkpoints(states)
		return errors.Join(errs...)
	})
	for i, st := range states {
		if errs == nil || errs[i] != nil {
			continue
		}
		l := m.logs[st.Log]
		l.checkpoint, l.trying = st.At, 0
		if n, ok := named[st.Log]; ok {
			m.logs[st.Log.Pages()].named = n
		}
	}
	return err
}

func (m *model) write(j *Journal, dice *rand.Rand) error {
	var group []Batch
	total := 0
	before := map[storage.LogID]modelLog{}
	for log, l := range m.logs {
		before[log] = *l
	}
	for range 1 + dice.IntN(6) {
		log := modelLogs[dice.IntN(len(modelLogs))]
		l := m.logs[log]
		if l.dropping {
			continue
		}
		n := dice.IntN(2000)
		if dice.IntN(60) == 0 {
			n = dice.IntN(100 << 10) // larger than a segment, at times
		}
		life, cuts := 0, false
		if first := l.mayCut(log); m.cuts && first > 0 && dice.IntN(12) == 0 {
			i := first + storage.Index(dice.IntN(len(l.sizes)-int(first)+1))
			life, cuts = l.lives[i-1]+1, true
			l.cut(i)
			m.cut++
		}
		b := l.add(log, n, life)
		b.Cuts = cuts
		group = append(group, b)
		total += n + Overhead
	}
	err := error(nil)
	switch {
	case m.keeping:
	case dice.IntN(2) == 0:
		err = m.reserve(j, total, Growing)
	case !ready(j, group):
		err = m.reserve(j, total, Committed)
	}
	if err == nil {
		err = m.run(j.WriteTask(group))
	}
	if err != nil && !errors.Is(err, ErrFailed) {
		for log, l := range before {
			at := m.logs[log]
			at.sizes, at.lives, at.safe, at.before = l.sizes, l.lives, l.safe, l.before
		}
	}
	if m.keeping && errors.Is(err, ErrUnready) {
		return nil // an engine waits here
	}
	return err
}

// reserve makes space, while nothing else can happen.
func (m *model) reserve(j *Journal, n int, use Use) error {
	m.keeping = true
	defer func() { m.keeping = false }()
	return m.keep(j, func(j *Journal) error { return j.Reserve(n, use) })
}

// check compares the journal, just opened or recovered, with the model, and makes the model follow it where both
// outcomes were allowed.
func (m *model) check(j *Journal) error {
	for _, log := range modelLogs {
		l := m.logs[log]
		if l.dropping {
			continue
		}
		last := j.Next(log) - 1
		if log.IsPages() && last < l.safe && last >= l.named { // nothing names the others
			l.shed(last)
		}
		if err := l.uncut(j, log); err != nil {
			return err
		}
		if last < l.safe || last > storage.Index(len(l.sizes)) {
			return fmt.Errorf("log %d ends at %d: %d were safe, %d written", log, last, l.safe, len(l.sizes))
		}
		safe := j.Safe(log)
		if safe < l.safe || safe > last {
			return fmt.Errorf("log %d: safe is %d of %d, and was %d", log, safe, last, l.safe)
		}
		l.sizes, l.lives, l.safe = l.sizes[:last], l.lives[:last], safe
		at, s, err := j.LoadCheckpoint(log)
		switch {
		case errors.Is(err, ErrNoCheckpoint):
			if l.checkpoint != 0 {
				return fmt.Errorf("log %d: checkpoint at %d is gone", log, l.checkpoint)
			}
		case err != nil:
			return err
		case at != l.checkpoint && (l.trying == 0 || at != l.trying):
			return fmt.Errorf("log %d: checkpoint at %d, want %d", log, at, l.checkpoint)
		case !bytes.Equal(s, state(log, at)):
			return fmt.Errorf("log %d: checkpoint at %d has other bytes than written", log, at)
		}
		l.checkpoint, l.trying = at, 0
		if err := l.checkRecords(j, log); err != nil {
			return err
		}
		if err := l.checkBatches(j, log); err != nil {
			return err
		}
	}
	return nil
}

// walkSteps are enough for segments to be closed, given back and used again.
const walkSteps = 100

var seeds = flag.Uint64("seeds", 2, "how many random walks each test takes")

// walk opens the journal and takes steps until one fails. In every other walk things happen side by side.
func walk(fs vfs.FS, m *model, seed uint64, o Options) (*Journal, error) {
	m.journal, m.dice = nil, nil
	if seed%2 == 1 {
		m.dice = rand.New(rand.NewPCG(seed, 5))
	}
	j, r, err := Open(fs, o)
	if err != nil {
		return nil, err
	}
	if len(r.Faults) > 0 {
		return j, &r.Faults[0]
	}
	if m.cuts || seed%4 >= 2 {
		m.cuts = false
		if err := j.AllowCuts(); err != nil {
			return j, err
		}
		m.cuts = true
	}
	if err := m.check(j); err != nil {
		return j, err
	}
	dice := rand.New(rand.NewPCG(seed, 1))
	for range walkSteps {
		if err := m.step(j, dice); err != nil {
			return j, err
		}
	}
	m.journal = nil
	return j, j.Close()
}

// crashAt runs a walk that crashes at call n, and two more that must find everything; the second crashes too,
// somewhere. It reports whether the walk got that far.
func crashAt(seed uint64, n int, o Options) (reached bool, err error) {
	mem := vfs.NewMem(seed)
	fs := vfs.NewFaulty(mem)
	fs.FailFrom(n, vfs.ErrCrashed)
	m := newModel()
	_, err = walk(fs, m, seed, o)
	reached = err != nil
	if err != nil && !errors.Is(err, vfs.ErrCrashed) {
		return true, err
	}
	mem.Crash()
	o.Entropy++
	fs.FailFrom(fs.Calls()+1+int(mix(seed+uint64(n))%200), vfs.ErrCrashed)
	if _, err := walk(fs, m, seed+1, o); err != nil && !errors.Is(err, vfs.ErrCrashed) {
		return true, fmt.Errorf("after a crash: %w", err)
	}
	mem.Crash()
	o.Entropy++
	if _, err := walk(mem, m, seed+2, o); err != nil {
		return true, fmt.Errorf("after a second crash: %w", err)
	}
	return reached, nil
}

func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	// A power cut at some moment would lose what was safe, bring back what was cut, or keep the broker from starting.
	for seed := range *seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			for n, reached := 1, true; reached; n++ {
				var err error
				if reached, err = crashAt(seed, n, small()); err != nil {
					t.Fatalf("seed %d, crash at call %d: %v", seed, n, err)
				}
			}
			if rewritten.Load() == 0 {
				t.Error("nothing was rewritten")
			}
		})
	}
}

func TestWalksOnARealDirectory(t *testing.T) {
	t.Parallel()
	// The journal would work on the simulated disk only. Between the walks the process ends, now with a clean stop, now
	// killed.
	fs := vfs.Dir(t.TempDir())
	m := newModel()
	o := small()
	for seed := range uint64(6) {
		o.Entropy = seed
		_, err := walk(fs, m, seed, o)
		must(t, err)
		if seed%2 == 0 {
			continue
		}
		o.Entropy = seed + 100
		j := mustOpen(t, fs, o)
		dice := rand.New(rand.NewPCG(seed, 3))
		for range walkSteps {
			must(t, m.step(j, dice))
		}
		must(t, j.release())
	}
}

func TestWriteRefusesBeforeItWrites(t *testing.T) {
	t.Parallel()
	// A mistake of the engine would tear a hole into a log.
	j := mustOpen(t, vfs.NewMem(1), small())
	write(t, j, 10, 1, 2)
	end := j.open.End
	for what, group := range map[string][]Batch{
		"gap":      {{Log: 1, Index: 2}, {Log: 2, Index: 3}},
		"again":    {{Log: 2, Index: 2}, {Log: 1, Index: 1}},
		"twice":    {{Log: 1, Index: 2}, {Log: 1, Index: 2}},
		"first":    {{Log: 3, Index: 2}},
		"no index": {{Log: 3, Index: 0}},
	} {
		if err := j.Write(group); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if j.open.End != end || j.Next(1) != 2 || j.Next(3) != 1 || len(j.Logs()) != 2 {
		t.Errorf("a refused group left a trace: %+v", j.Logs())
	}
	if err := j.Write([]Batch{{Log: 1, Index: 2}, {Log: 2, Index: 2}, {Log: 1, Index: 3}}); err != nil {
		t.Error(err)
	}
	must(t, j.Close())
	if err := j.Write([]Batch{{Log: 1, Index: 4}}); !errors.Is(err, ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
}

// ready reports whether a group can be written without a Reserve.
func ready(j *Journal, group []Batch) bool {
	_, ready := j.isReady(group)
	return ready
}
