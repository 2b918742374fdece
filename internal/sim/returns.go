package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// returned checks how a message comes back: it is counted, and waits as long as its queue says.
func (w *world) returned(st *step, e *ledger.Entry, f *fact.Fact) {
	switch {
	case e.Off && e.OffFailed != f.Failed:
		w.violate(Counts, "message %d came back to %q later: failed %t, expected %t", e.Message, e.Line.Name, f.Failed, e.OffFailed)
	case e.Off:
		e.Off = false
		w.goesOnLow()
	case e.Holder == nil && (st.command.Kind != vhost.Recovered || !e.Handed || e.State != queue.Ready), e.Holder != nil && e.State != queue.Unacked:
		w.violate(Answers, "message %d returned to %q, and nobody had it", e.Message, e.Line.Name)
		return
	case e.Holder != nil:
		w.checkReturn(st, e, f.Failed)
		holderOf(e).LetGo()
	case !f.Failed:
		w.violate(Counts, "message %d of %q was with a consumer when all ended, and that is no failure", e.Message, e.Line.Name)
	}
	e.Returned++
	st.back[e] = true
	if view := w.view(st, e.Line); view != nil {
		until, jitter := w.count(st, e, &view.Settings, f.Failed)
		if f.At < until || f.At > until+jitter {
			w.violate(Waiting, "message %d came back to %q at %d, for time %d of %+v, and waits until %d, expected %d, %d later at the most",
				e.Message, e.Line.Name, st.stamp.Now, e.Acquired, view.Settings, f.At, until, jitter)
		}
	}
	if f.At != 0 {
		w.result.Waited++
	}
	e.ComeBack(f.At)
}

// count counts a return, and tells until when the message has to wait, 0 if not at all, and by how much longer it may.
func (w *world) count(st *step, e *ledger.Entry, set *vhost.Settings, failed bool) (until, jitter deadline.Instant) {
	if !set.Counts {
		return 0, 0
	}
	if e.Acquired++; failed {
		e.Failed++
	}
	if e.Durable {
		w.tallies = append(w.tallies, ledger.Tally{
			Queue: e.Line.ID, Seq: e.Seq, Acquired: e.Acquired, Failed: e.Failed,
		})
	}
	n := e.Counted(set)
	retries := set.RetryType != vhost.RetryDisabled
	if set.DeliveryLimit >= 0 && n > set.DeliveryLimit || retries && set.RetryAttempts > 0 && n > set.RetryAttempts {
		st.over = append(st.over, e)
		return 0, 0
	}
	waits := set.RetryType == vhost.RetryAll || set.RetryType == vhost.RetryFailed && failed || set.RetryType == vhost.RetryReturned && !failed
	due := e.ExpireAt != 0 && e.ExpireAt <= st.stamp.Now
	if !waits || due {
		return 0, 0
	}
	if wait := waitOf(set, max(n, 1)); wait > 0 {
		until, jitter = st.stamp.From+deadline.Instant(wait), deadline.Instant(wait*set.RetryJitter/100)
	}
	return until, jitter
}

// waitOf is for how long a message waits that comes back for the n-th time, ms: the rules of ladders told a second
// time.
func waitOf(set *vhost.Settings, n int64) int64 {
	if steps := set.RetrySteps; len(steps) > 0 {
		return steps[min(int(n), len(steps))-1]
	}
	most := set.RetryMax
	if most <= 0 {
		if most = set.RetryMin; set.RetryBackoff == vhost.Exponential {
			most = 10 * 365 * 24 * 3_600_000
		}
	}
	wait := set.RetryMin
	switch set.RetryBackoff {
	case vhost.Linear:
		wait *= n
	case vhost.Exponential:
		for ; n > 1 && wait < most; n-- {
			wait *= 2
		}
	case vhost.Fixed:
		return wait
	}
	return min(wait, most)
}

// checkReturn makes sure that a message comes back for a reason, and that it counts as a failure if it is one.
func (w *world) checkReturn(st *step, e *ledger.Entry, failed bool) {
	want := true
	late, closing := st.late[holderOf(e).Channel.ID]
	switch k := st.command.Kind; {
	case st.refused != nil || k == vhost.CloseChannel || k == vhost.Disconnect || k == vhost.Reject:
	case k == vhost.CommitTx:
		want = failed // rejects and nacks
	case k == vhost.Nack || k == vhost.Recover:
		want = false
		if slices.Contains(holderOf(e).Channel.InTx, holderOf(e).Tag) {
			w.violate(Answers, "message %d of %q was settled in a transaction, and came back before its end", e.Message, e.Line.Name)
		}
	case k == vhost.Tick && closing:
		want = !holderOf(e).Overdue(st.stamp.Now) // it goes with its channel
		if want && !late.closes {
			w.violate(Timeout, "message %d of %q was taken back at %d, its time ends at %d", e.Message, e.Line.Name, st.stamp.Now, holderOf(e).Due)
		}
	default:
		w.violate(Timeout, "message %d of %q was taken back by command %d", e.Message, e.Line.Name, k)
	}
	if failed != want {
		w.violate(Counts, "message %d came back to %q by command %d: failed %t, expected %t", e.Message, e.Line.Name, st.command.Kind, failed, want)
	}
}

// backUncounted notes what a restart has made ready at once, which no fact tells: all that was with consumers, where
// returns are not counted. In a later portion a policy may count them there.
func (w *world) backUncounted(st *step) {
	if st.command.Kind != vhost.Recovered {
		return
	}
	for _, q := range w.live.Lines {
		if view := w.view(st, q); view != nil && !view.Settings.Counts {
			for _, e := range q.Copies {
				e.Handed = false
			}
		}
	}
}

// checkOver makes sure that what came back too often is not offered again.
func (w *world) checkOver(st *step) {
	for _, e := range st.over {
		if e.Cause == 0 && e.State != queue.Held && w.live.Line(e.Line.ID) != nil {
			w.violate(Counts, "message %d of %q came back %d times, %d failed, and is still there", e.Message, e.Line.Name, e.Acquired, e.Failed)
		}
	}
	if st.command.Kind != vhost.Recovered {
		return
	}
	for _, q := range w.live.Lines {
		view := w.view(st, q)
		for _, e := range q.Copies {
			if e.Handed && !e.Off && view != nil && view.Settings.Counts {
				w.violate(Counts, "message %d of %q was with a consumer when all ended, and did not come back", e.Message, q.Name)
			}
			e.Handed = false
		}
	}
}

// resumed checks that a message has waited long enough.
func (w *world) resumed(st *step, e *ledger.Entry) {
	if e.State != queue.Waiting || e.Until > st.stamp.Now && !st.names(vhost.FireNow, e) {
		w.violate(Waiting, "message %d of %q is ready at %d, it had to wait until %d", e.Message, e.Line.Name, st.stamp.Now, e.Until)
	}
	e.Resume()
}
