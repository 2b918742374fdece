// Command mutants plants known faults in the machine, the journal and the simulation, one at a time, and fails
// unless the checker named for it notices within a bounded number of seeds: a check that cannot fail proves
// nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/sim"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// mutant is a fault, and who must notice it.
type mutant struct {
	name    string
	options sim.Options // with the seed to begin with: a rare fault has some that meet it soon
	checker sim.Checker
}

var mutants = []mutant{
	{"journal: skip a sync", sim.Options{Journal: journal.MutantSkipSync}, sim.Confirmed},
	{"journal: trust bytes after a failed sync", sim.Options{Journal: journal.MutantTrustAfterFailedSync}, sim.Sound},
	{"journal: reclaim too soon", sim.Options{Journal: journal.MutantReclaimTooSoon}, sim.Readable},
	{"journal: old nonce in a recycled segment", sim.Options{Journal: journal.MutantOldNonce}, sim.Sound},
	{"journal: keep what lies behind a torn tail", sim.Options{Journal: journal.MutantKeepTail}, sim.Sound},
	{"journal: name a checkpoint before it is synced", sim.Options{Journal: journal.MutantEarlyCheckpoint}, sim.Sound},
	{"release: confirm early", sim.Options{Mutant: sim.MutantReleaseEarly}, sim.Release},
	{"reserve: let publishers take it", sim.Options{Seed: 1900, Mutant: sim.MutantSpendReserve}, sim.Drains},
	{"rewriting: adopt before ends are safe", sim.Options{Mutant: sim.MutantAdoptEarly}, sim.Readable},
	{"journal: adopt before it is synced", sim.Options{Journal: journal.MutantAdoptUnsynced}, sim.Sound},
	{"journal: leave out a live piece", sim.Options{Journal: journal.MutantLosePiece}, sim.Readable},
	{"journal: rewrite what no checkpoint covers", sim.Options{Journal: journal.MutantRewriteUncovered}, sim.Sound},
	{"rewriting: leave a mark half done", sim.Options{Mutant: sim.MutantMarkHalf}, sim.Readable},
	{"pages: give back what is in use", sim.Options{Mutant: sim.MutantForgetPages}, sim.Readable},
	{"pages: name them before they are safe", sim.Options{Mutant: sim.MutantEarlyRoot}, sim.Sound},
	{"checkpoint: save a later state", sim.Options{Mutant: sim.MutantLateFreeze}, sim.Replay},
	{"journal: go on before the last segment is safe", sim.Options{Journal: journal.MutantRollUnsynced}, sim.Sound},
	{"damage: serve it as data", sim.Options{Mutant: sim.MutantServeDamaged}, sim.Damage},
	{"damage: cut and keep silent", sim.Options{Mutant: sim.MutantHushCut}, sim.Damage},
	{"journal: take damage for an unfinished tail", sim.Options{Journal: journal.MutantCutDamage}, sim.Damage},
	{"journal: read what a checksum refutes", sim.Options{Journal: journal.MutantReadDamaged}, sim.Damage},
	{"disk: once full, full for ever", sim.Options{Mutant: sim.MutantStayFull}, sim.Drains},
	{"full disk: let letters move all the same", sim.Options{FullDisk: true, VHost: vhost.MutantMoveCramped}, sim.Drains},
	{"full disk: let all uses have the whole reserve", sim.Options{FullDisk: true, Journal: journal.MutantOneReserve}, sim.Drains},
	{"full disk: leave spares and allowances alone", sim.Options{FullDisk: true, Journal: journal.MutantIdleSpare}, sim.Drains},
	{"full disk: make the reserve when there is time", sim.Options{Seed: 1200, FullDisk: true, Mutant: sim.MutantLateReserve}, sim.Drains},
	{"full disk: rewrite without a sure gain", sim.Options{FullDisk: true, Journal: journal.MutantUnsureGain}, sim.Drains},
	{"full disk: leave a small allowance to a large checkpoint",
		sim.Options{Seed: 850, FullDisk: true, Outages: true, Journal: journal.MutantSmallAllowance}, sim.Drains},
	{"full disk: count files of unsafe names",
		sim.Options{FullDisk: true, Outages: true, Journal: journal.MutantUnsafeName}, sim.Drains},
	{"full disk: go on in front of what a cut left", sim.Options{FullDisk: true, Outages: true, Journal: journal.MutantKeepBehind}, sim.Sound},
	{"vhost: forget which policies apply", sim.Options{VHost: vhost.MutantForgetMatched}, sim.Replay},
	{"queue: save what has gone", sim.Options{VHost: vhost.MutantForgetGone}, sim.Replay},
	{"queue: change what is not saved yet", sim.Options{VHost: vhost.MutantChangeUnsaved}, sim.Replay},
	{"queue: keep a page that is stale", sim.Options{VHost: vhost.MutantStalePage}, sim.Readable},
	{"vhost: confirm depends on nothing", sim.Options{VHost: vhost.MutantConfirmAtOnce}, sim.Release},
	{"vhost: lose a move's second half", sim.Options{VHost: vhost.MutantLoseMove}, sim.Moves},
	{"vhost: forget an expiry", sim.Options{VHost: vhost.MutantForgetExpiry}, sim.Expiry},
	{"vhost: requeue at the end", sim.Options{VHost: vhost.MutantRequeueLast}, sim.Order},
	{"vhost: count an end twice", sim.Options{VHost: vhost.MutantDoubleCount}, sim.Books},
	{"vhost: forget to log an end", sim.Options{VHost: vhost.MutantForgetEnded}, sim.Replay},
	{"vhost: forget to wake a consumer", sim.Options{VHost: vhost.MutantForgetWake}, sim.Served},
	{"vhost: forget a death", sim.Options{VHost: vhost.MutantForgetDeath}, sim.Deaths},
	{"vhost: keep what is too much", sim.Options{VHost: vhost.MutantKeepExcess}, sim.Limits},
	{"vhost: ignore the prefetch", sim.Options{VHost: vhost.MutantIgnorePrefetch}, sim.Prefetch},
	{"vhost: let consumers without acks pass the prefetch", sim.Options{VHost: vhost.MutantFreeNoAck}, sim.Prefetch},
	{"vhost: recover what a transaction has settled", sim.Options{VHost: vhost.MutantRecoverSettled}, sim.Answers},
	{"portions: forget how far a committed transaction has come", sim.Options{Portions: 200, VHost: vhost.MutantForgetApplied}, sim.Readable},
	{"portions: forget who has a letter for very many queues", sim.Options{Portions: 200, VHost: vhost.MutantForgetTook}, sim.Moves},
	{"vhost: forget who has a held letter", sim.Options{VHost: vhost.MutantForgetTook}, sim.Held},
	{"vhost: give a number again that a held letter names", sim.Options{VHost: vhost.MutantReuseNumber}, sim.Held},
	{"vhost: refer to what only transient copies keep", sim.Options{VHost: vhost.MutantBorrowRecord}, sim.Replay},
	{"vhost: shelve a letter of a cycle instead of holding it", sim.Options{VHost: vhost.MutantShelveCycle}, sim.Held},
	{"vhost: forget to try held letters again", sim.Options{VHost: vhost.MutantForgetRetry}, sim.Held},
	{"vhost: forget in a restart what is held", sim.Options{VHost: vhost.MutantForgetHeld}, sim.Held},
	{"vhost: let the oldest letter go, whosever it is", sim.Options{VHost: vhost.MutantShelfUnfair}, sim.Shelf},
	{"vhost: let the shelf grow", sim.Options{VHost: vhost.MutantShelfGrows}, sim.Shelf},
	{"vhost: shelve for a wrong cause", sim.Options{VHost: vhost.MutantWrongCause}, sim.Shelf},
	{"vhost: send a copy on from the shelf", sim.Options{VHost: vhost.MutantRedriveCopy}, sim.Shelf},
	{"vhost: leave what a job sent back where it was", sim.Options{VHost: vhost.MutantSendTwice}, sim.Redrive},
	{"vhost: let a job go as fast as it can", sim.Options{VHost: vhost.MutantJobHurry}, sim.Redrive},
	{"vhost: let a job take what came later", sim.Options{VHost: vhost.MutantJobGreedy}, sim.Redrive},
	{"vhost: let a job go on without the right to it", sim.Options{VHost: vhost.MutantJobUnasked}, sim.Redrive},
	{"vhost: let a job take what its user may not", sim.Options{VHost: vhost.MutantJobAnyLetter}, sim.Redrive},
	{"vhost: forget what came back", sim.Options{VHost: vhost.MutantForgetBack}, sim.Redrive},
	{"vhost: let wait for ever", sim.Options{VHost: vhost.MutantForgetResume}, sim.Waiting},
	{"vhost: let wait too short", sim.Options{VHost: vhost.MutantShortWait}, sim.Waiting},
	{"vhost: forget to count a return", sim.Options{VHost: vhost.MutantForgetReturn}, sim.Counts},
	{"vhost: forget that a crash is a failure", sim.Options{VHost: vhost.MutantForgetFailure}, sim.Counts},
	{"vhost: let hold for ever", sim.Options{VHost: vhost.MutantForgetTimeout}, sim.Timeout},
	{"vhost: refuse a late settlement", sim.Options{VHost: vhost.MutantRefuseLate}, sim.Timeout},
	{"vhost: keep for a second", sim.Options{VHost: vhost.MutantKeepAWhile}, sim.Kept},
	{"vhost: fire twice", sim.Options{VHost: vhost.MutantFireTwice}, sim.Schedule},
	{"vhost: fire early", sim.Options{VHost: vhost.MutantFireEarly}, sim.Schedule},
	{"vhost: forget to cancel", sim.Options{VHost: vhost.MutantForgetCancel}, sim.Schedule},
	{"vhost: forget in a restart what was moved", sim.Options{VHost: vhost.MutantForgetDeferred}, sim.Schedule},
	{"vhost: forget in a restart what was cancelled", sim.Options{VHost: vhost.MutantForgetRecalled}, sim.Schedule},
	{"vhost: forget the options in a restart", sim.Options{VHost: vhost.MutantForgetOptions}, sim.Configured},
}

func main() {
	only := flag.String("only", "", "plant only those whose names contain this")
	seeds := flag.Uint64("seeds", 1000, "how many seeds a mutant may survive")
	verbose := flag.Bool("v", false, "tell what the checkers said")
	flag.Parse()
	mutants := slices.DeleteFunc(mutants, func(m mutant) bool { return !strings.Contains(m.name, *only) })
	debug.SetGCPercent(1000) // lives are short and leave much behind
	debug.SetMemoryLimit(1 << 30)
	lines := make([]string, len(mutants))
	caught := make([]bool, len(mutants))
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range mutants {
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			lines[i], caught[i] = mutants[i].hunt(*seeds, *verbose)
		})
	}
	work.Wait()
	passed := 0
	for i, line := range lines {
		fmt.Println(line)
		if caught[i] {
			passed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(mutants)-passed)
	if passed < len(mutants) {
		os.Exit(1)
	}
}

// hunt lives lives with the fault in it until the checker notices.
func (m *mutant) hunt(seeds uint64, verbose bool) (line string, caught bool) {
	others := map[sim.Checker]int{}
	for seed := range seeds {
		o := m.options
		o.Seed += seed
		_, err := sim.Run(o)
		var v *sim.Violation
		if !errors.As(err, &v) {
			continue
		}
		if v.Checker == m.checker {
			line = fmt.Sprintf("caught    %-48s by %s, seed %d", m.name, v.Checker, o.Seed)
			if verbose {
				line += ", step " + fmt.Sprint(v.Step) + ": " + v.What
			}
			return line, true
		}
		others[v.Checker]++
	}
	return fmt.Sprintf("SURVIVED  %-48s %s noticed nothing in %d seeds; others did: %v", m.name, m.checker, seeds, others), false
}
