package sim

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

var (
	seeds = flag.Uint64("seeds", 100, "how many lives TestSeeds lives")
	first = flag.Uint64("first", 0, "the first of these seeds")
	soak  = flag.Duration("soak", 0, "go on with further seeds for so long")
	disks = flag.Uint64("full", 20, "how many lives TestFullDisks lives")
	parts = flag.Uint64("portions", 20, "how many lives TestPortions lives")
	lags  = flag.Uint64("lags", 20, "how many lives TestTakenBack lives")
	tell  = flag.Bool("tell", false, "with -seed: tell everything")
	seed  = flag.Int64("seed", -1, "live this one life, and tell how it went")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(1000) // lives are short and leave much behind
	debug.SetMemoryLimit(1 << 30)
	os.Exit(m.Run())
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	// Some order of commands, crashes and failures would lose, double, reorder or reveal what it must not.
	options := func(seed uint64) Options { return Options{Seed: seed} }
	if replayed(t, options) {
		return
	}
	start := time.Now()
	all, count, failed := live(*seeds, options)
	t.Logf("%d seeds from %d, %.1f per second: %d commands refused, %d recoveries, %d power cuts, %d failures, %d times full, %d segments reclaimed, %d portions",
		count, *first, float64(count)/time.Since(start).Seconds(), all.Refused, all.Recoveries, all.Crashes, all.Failures, all.Full, all.Reclaimed, all.Portions)
	mustHold(t, failed)
	if *seeds >= 100 {
		all.checkCoverage(t)
	}
}

func TestPortions(t *testing.T) {
	t.Parallel()
	// What is left to ticks is lost, doubled or told too early if the power goes in between.
	options := func(seed uint64) Options { return Options{Seed: seed, Portions: portionsOf(seed)} }
	if replayed(t, options) {
		return
	}
	all, count, failed := live(*parts, options)
	t.Logf("%d lives from %d: %d portions after the first, %d recoveries, %d dead letters held for the next portion",
		count, *first, all.Portions, all.Recoveries, all.Held[fact.Moved])
	mustHold(t, failed)
	if *parts >= 20 && (all.Portions == 0 || all.Held[fact.Moved] == 0 ||
		all.Facts[fact.TxReached] == 0 || all.Facts[fact.Ruled] == 0) {
		t.Errorf("no portions of commands, dead letters, messages or policies: %d, %v", all.Portions, all.Facts)
	}
}

func TestTakenBack(t *testing.T) {
	t.Parallel()
	// What others have not agreed to is shown, or stays when another leader has decided otherwise.
	options := func(seed uint64) Options {
		o := Options{Seed: seed, Lag: true}
		if seed%4 == 3 {
			o.Portions = portionsOf(seed / 4)
		}
		return o
	}
	if replayed(t, options) {
		return
	}
	all, count, failed := live(*lags, options)
	t.Logf("%d lives from %d: %d times another leader, %d batches taken back, %d power cuts, %d segments reclaimed, %d rewritten",
		count, *first, all.Deposed, all.TakenBack, all.Crashes, all.Reclaimed, all.Rewritten)
	mustHold(t, failed)
	if *lags >= 20 && (all.Deposed == 0 || all.TakenBack == 0 || all.Rewritten == 0) {
		t.Errorf("nothing was taken back, or rewritten: %+v", all)
	}
}

// portionsOf is how much a step of a life does: a single thing, or some ten.
func portionsOf(seed uint64) int { return []int{1, 200, 1000, 5000}[seed%4] }

// replayed lives the one life of -seed and tells how it went; it reports false without that.
func replayed(t *testing.T, options func(seed uint64) Options) bool {
	t.Helper()
	if *seed < 0 {
		return false
	}
	o := options(uint64(*seed))
	o.Trace = func(line string) {
		if *tell {
			t.Log(line)
		}
	}
	r, err := Run(o)
	t.Logf("%+v", r)
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// mustHold fails with a violation, and says how to see it again.
func mustHold(t *testing.T, failed error) {
	t.Helper()
	var v *Violation
	if errors.As(failed, &v) {
		t.Fatalf("%v\nreplay: go test ./internal/sim -run %s -seed=%d", failed, t.Name(), v.Seed)
	}
}

// live lives lives from the first seed on, and for as long as a soak lasts.
func live(seeds uint64, options func(seed uint64) Options) (all Result, count uint64, failed error) {
	start := time.Now()
	var next atomic.Uint64
	next.Store(*first)
	var mu sync.Mutex
	all = newResult()
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= *first+seeds && time.Since(start) >= *soak {
					return
				}
				r, err := Run(options(n))
				mu.Lock()
				all.add(&r)
				failed = errors.Join(failed, err)
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	work.Wait()
	return all, next.Load() - *first, failed
}

func (r *Result) add(o *Result) {
	sum(r.Succeeded, o.Succeeded)
	sum(r.Effects, o.Effects)
	sum(r.Ended, o.Ended)
	sum(r.CutAt, o.CutAt)
	sum(r.FailedAt, o.FailedAt)
	sum(r.BrokenAt, o.BrokenAt)
	r.Stuck += o.Stuck
	r.Portions += o.Portions
	r.Deposed += o.Deposed
	r.TakenBack += o.TakenBack
	r.Drained += o.Drained
	r.PutOff += o.PutOff
	r.PutOffHeld += o.PutOffHeld
	r.Paused += o.Paused
	r.Unpaused += o.Unpaused
	r.Excused += o.Excused
	for i, n := range o.Space {
		r.Space[i] += n
	}
	sum(r.Harmed, o.Harmed)
	sum(r.Found, o.Found)
	r.CutAway += o.CutAway
	sum(r.Facts, o.Facts)
	sum(r.StoredLost, o.StoredLost)
	sum(r.Held, o.Held)
	sum(r.Answered, o.Answered)
	sum(r.Scheduled, o.Scheduled)
	r.Released += o.Released
	r.Partly += o.Partly
	r.Waited += o.Waited
	r.Survived += o.Survived
	r.TimedOut += o.TimedOut
	r.Late += o.Late
	r.Paced += o.Paced
	r.Refused += o.Refused
	r.Recoveries += o.Recoveries
	r.Crashes += o.Crashes
	r.Failures += o.Failures
	r.Full += o.Full
	r.Reclaimed += o.Reclaimed
	r.Rewritten += o.Rewritten
	r.Paged += o.Paged
	r.Interleaved += o.Interleaved
	r.Spilled += o.Spilled
	r.Redriven += o.Redriven
	r.Warmed += o.Warmed
}

func sum[K comparable](into, from map[K]int) {
	for k, n := range from {
		into[k] += n
	}
}

// checkCoverage makes sure that the lives have seen everything: what never happens proves nothing.
func (r *Result) checkCoverage(t *testing.T) {
	for k := vhost.Connect; k <= vhost.Recovered; k++ {
		if r.Succeeded[k] == 0 {
			t.Errorf("command %d never succeeded", k)
		}
	}
	for k := vhost.Deliver; k <= vhost.Answered; k++ {
		if r.Effects[k] == 0 {
			t.Errorf("effect %d was never shown", k)
		}
	}
	without := uint64(0) // lost where there was no lost store: rare, and each cause is asked for in the lost store
	for c := fact.Acked; c <= fact.Discarded; c++ {
		switch {
		case c == fact.Damaged: // nothing is repaired
		case c == fact.Discarded && *seeds < 1000: // by a job, or by hand: rare
		case c == fact.GoneLimit, c >= fact.LostExchange && c <= fact.LostRefused:
			without += uint64(r.Ended[c])
		case c != fact.GoneDeleted && c != fact.LostHops && r.Ended[c] == 0:
			t.Errorf("no copy ended with cause %q", c)
		}
	}
	if without == 0 {
		t.Error("no dead letter was lost without a lost store")
	}
	r.checkDeadLetters(t)
	if r.Crashes == 0 || r.Failures == 0 || r.Full == 0 || r.Reclaimed == 0 {
		t.Errorf("the disk was too kind: %d power cuts, %d failures, %d times full, %d segments reclaimed",
			r.Crashes, r.Failures, r.Full, r.Reclaimed)
	}
	for _, call := range targets {
		if n := call.String(); *seeds >= 1000 && (r.CutAt[n] == 0 || r.FailedAt[n] == 0 || r.BrokenAt[n] == 0) {
			t.Errorf("%s: power went %d times, it failed %d times, %d times for ever", n, r.CutAt[n], r.FailedAt[n], r.BrokenAt[n])
		}
	}
	t.Logf("power cuts in calls: %v", r.CutAt)
	t.Logf("calls that failed: %v; for ever: %v", r.FailedAt, r.BrokenAt)
	t.Logf("damage: %v; found: %v; of these, %d have cost what nothing said was safe", r.Harmed, r.Found, r.CutAway)
	t.Logf("segments that were given back: %d, sparse ones among them: %d; done beside: %d; pages: %d, %d spilled, %d read back",
		r.Reclaimed, r.Rewritten, r.Interleaved, r.Paged, r.Spilled, r.Warmed)
	t.Logf("full disks that were drained: %d; nothing could be written: %d times", r.Drained, r.Stuck)
	t.Logf("put off: %d, beside held dead letters for want of memory: %d, gone on early: %d; queues stopped: %d",
		r.PutOff, r.PutOffHeld, r.Unpaused, r.Paused)
	if *seeds >= 1000 && (r.PutOffHeld == 0 || r.Unpaused == 0 || r.Paused == 0) {
		t.Error("memory was never short, or it never mattered")
	}
	if r.PutOff == 0 || r.Drained == 0 || r.Rewritten == 0 || r.Interleaved == 0 || r.Paged == 0 || r.Spilled == 0 || r.Warmed == 0 || r.Found["load"]+r.Found["open"] == 0 || r.Found["refused"] == 0 || r.Found["read"] == 0 && *seeds >= 1000 {
		t.Error("not all of this has happened")
	}
	t.Logf("commands: %v", counts(r.Succeeded))
	t.Logf("copies ended: %v", counts(r.Ended))
}

// checkDeadLetters makes sure that dead letters were held and lost in every way, and that what comes back has
// waited.
func (r *Result) checkDeadLetters(t *testing.T) {
	t.Helper()
	for _, what := range []string{
		"postponed", "delivered later", "replaced", "purged", "fired", "lost", "letters", "answer cancelled", "answer fired", "answer rescheduled",
		"answer already_fired", "answer unknown", "answer waits_for_retry", "cancelled in a queue",
		"moved with its TTL",
	} {
		if r.Scheduled[what] == 0 {
			t.Errorf("of what is for later: nothing was %q", what)
		}
	}
	t.Logf("for later: %v", r.Scheduled)
	for _, k := range [...]fact.Kind{fact.Deferred, fact.Keyed, fact.Arrived} {
		if r.Facts[k] == 0 {
			t.Errorf("fact %d was never made", k)
		}
	}
	for k := fact.ExchangeDeclared; k <= fact.Configured; k++ {
		if r.Facts[k] == 0 && k != fact.Counted && k != fact.Skipped && k != fact.Tallied { // only in snapshots
			t.Errorf("fact %d was never made", k)
		}
	}
	for _, c := range []fact.Cause{fact.GoneLimit, fact.LostExchange, fact.LostRoute, fact.LostCycle, fact.LostRefused} {
		if r.StoredLost[c] == 0 {
			t.Errorf("no dead letter came to the lost store as %q", c)
		}
	}
	for _, c := range []fact.Cause{fact.LostExchange, fact.LostRoute, fact.LostRefused} {
		if r.Held[c] == 0 {
			t.Errorf("no dead letter was held as %q", c)
		}
	}
	for _, name := range []string{"redriven", "discarded", "unknown", "no_exchange", "no_route", "refused"} {
		if r.Answered[name] == 0 {
			t.Errorf("no lost letter was answered for as %q", name)
		}
	}
	t.Logf("held dead letters that left: %d, that some targets had: %d; waits: %d; waiting and held copies in restarts: %d; timeouts: %d, late settlements: %d",
		r.Released, r.Partly, r.Waited, r.Survived, r.TimedOut, r.Late)
	t.Logf("publishers that were to wait: %d", r.Paced)
	if r.Released == 0 || r.Partly == 0 || r.Waited == 0 || r.Survived == 0 || r.TimedOut == 0 || r.Late == 0 ||
		r.Paced == 0 {
		t.Errorf("not all of these have happened")
	}
	t.Logf("in the lost store: %v; held: %v; facts: %v", counts(r.StoredLost), counts(r.Held), counts(r.Facts))
}

func counts[K interface {
	~uint8
	comparable
}](m map[K]int) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text += fmt.Sprintf("%v=%d ", k, m[k])
	}
	return text
}

func TestFullDisks(t *testing.T) {
	t.Parallel()
	// A disk that is full most of the time could not be drained, or would lose something.
	options := func(seed uint64) Options { return Options{Seed: seed, FullDisk: true, Outages: seed%2 == 1} }
	if replayed(t, options) {
		return
	}
	all, count, failed := live(*disks, options)
	mustHold(t, failed)
	t.Logf("%d full disks: %d drained, %d excused (too much at once); steps with space first for "+
		"publishing, moving, draining, nothing: %v; %d copies put off, %d times nothing could be written",
		count, all.Drained, all.Excused, all.Space, all.PutOff, all.Stuck)
	if all.PutOff == 0 || all.Space[0] > all.Space[1]+all.Space[2] {
		t.Error("the disks were not full most of the time")
	}
	if all.Drained < int(count*9/10) {
		t.Error("too few disks were drained")
	}
	if count >= 3000 && all.Space[2] == 0 { // the reserve is there so that this is rare: one life in some hundreds
		t.Error("no disk had space for draining alone")
	}
}

func TestSameSeedSameHistory(t *testing.T) {
	t.Parallel()
	// A failure could not be replayed, and replicas would drift apart.
	for n := range uint64(6) {
		a, err := Run(Options{Seed: n})
		b, again := Run(Options{Seed: n})
		if err != nil || again != nil {
			t.Fatal(err, again)
		}
		if a.Hash != b.Hash {
			t.Fatalf("seed %d: two histories, %x and %x", n, a.Hash, b.Hash)
		}
	}
}

func TestAFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	// Some call of the disk must not fail, or not be the last before the power goes: each is tried, one at a time.
	const steps = 120
	stride := 1 + 2000/int(max(*seeds, 1))
	for _, n := range []uint64{3, 11} {
		plain, err := Run(Options{Seed: n, Steps: steps, Fault: FaultOnce, At: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []Fault{FaultPower, FaultOnce, FaultAlways} {
			for at := 1; at <= plain.Calls; at += stride {
				if _, err := Run(Options{Seed: n, Steps: steps, Fault: f, At: at}); err != nil {
					t.Fatalf("fault %d at call %d: %v", f, at, err)
				}
			}
		}
	}
}
