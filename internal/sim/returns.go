package sim

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// returned checks how a message comes back: it is counted, and waits as long as its queue says.
func (w *world) returned(st *step, e *entry, f *vhost.Fact) {
	switch {
	case e.off && e.offFailed != f.Failed:
		w.violate(Counts, "message %d came back to %q later: failed %t, expected %t", e.message, e.line.name, f.Failed, e.offFailed)
	case e.off:
		e.off = false
	case e.holder == nil && (st.command.Kind != vhost.Recovered || !e.handed || e.state != queue.Ready), e.holder != nil && e.state != queue.Unacked:
		w.violate(Answers, "message %d returned to %q, and nobody had it", e.message, e.line.name)
		return
	case e.holder != nil:
		w.checkReturn(st, e, f.Failed)
		e.holder.letGo()
	case !f.Failed:
		w.violate(Counts, "message %d of %q was with a consumer when all ended, and that is no failure", e.message, e.line.name)
	}
	e.returned++
	st.back[e] = true
	if view := w.view(st, e.line); view != nil {
		until, jitter := w.count(st, e, &view.Settings, f.Failed)
		if f.At < until || f.At > until+jitter {
			w.violate(Waiting, "message %d came back to %q at %d, for time %d of %+v, and waits until %d, expected %d, %d later at the most",
				e.message, e.line.name, st.stamp.Now, e.acquired, view.Settings, f.At, until, jitter)
		}
	}
	if f.At != 0 {
		w.result.Waited++
	}
	e.comeBack(f.At)
}

// count counts a return, and tells until when the message has to wait, 0 if not at all, and by how much longer it may.
func (w *world) count(st *step, e *entry, set *vhost.Settings, failed bool) (until, jitter deadline.Instant) {
	if !set.Counts {
		return 0, 0
	}
	if e.acquired++; failed {
		e.failed++
	}
	if e.durable {
		w.tallies = append(w.tallies, tally{e.line.id, e.seq, e.acquired, e.failed})
	}
	n := e.counted(set)
	retries := set.RetryType != vhost.RetryDisabled
	if set.DeliveryLimit >= 0 && n > set.DeliveryLimit || retries && set.RetryAttempts > 0 && n > set.RetryAttempts {
		st.over = append(st.over, e)
		return 0, 0
	}
	waits := set.RetryType == vhost.RetryAll || set.RetryType == vhost.RetryFailed && failed || set.RetryType == vhost.RetryReturned && !failed
	due := e.expireAt != 0 && e.expireAt <= st.stamp.Now
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

// counted is the counter that a queue looks at.
func (e *entry) counted(set *vhost.Settings) int64 {
	if set.CountFailed {
		return int64(e.failed)
	}
	return int64(e.acquired)
}

// checkReturn makes sure that a message comes back for a reason, and that it counts as a failure if it is one.
func (w *world) checkReturn(st *step, e *entry, failed bool) {
	want := true
	late, closing := st.late[e.holder.channel.id]
	switch k := st.command.Kind; {
	case st.refused != nil || k == vhost.CloseChannel || k == vhost.Disconnect || k == vhost.Reject:
	case k == vhost.CommitTx:
		want = failed // rejects and nacks
	case k == vhost.Nack || k == vhost.Recover:
		want = false
		if slices.Contains(e.holder.channel.inTx, e.holder.tag) {
			w.violate(Answers, "message %d of %q was settled in a transaction, and came back before its end", e.message, e.line.name)
		}
	case k == vhost.Tick && closing:
		want = !e.holder.overdue(st.stamp.Now) // it goes with its channel
		if want && !late.closes {
			w.violate(Timeout, "message %d of %q was taken back at %d, its time ends at %d", e.message, e.line.name, st.stamp.Now, e.holder.due)
		}
	default:
		w.violate(Timeout, "message %d of %q was taken back by command %d", e.message, e.line.name, k)
	}
	if failed != want {
		w.violate(Counts, "message %d came back to %q by command %d: failed %t, expected %t", e.message, e.line.name, st.command.Kind, failed, want)
	}
}

// checkOver makes sure that what came back too often is not offered again.
func (w *world) checkOver(st *step) {
	for _, e := range st.over {
		if e.cause == 0 && e.state != queue.Held && w.live.line(e.line.id) != nil {
			w.violate(Counts, "message %d of %q came back %d times, %d failed, and is still there", e.message, e.line.name, e.acquired, e.failed)
		}
	}
	if st.command.Kind != vhost.Recovered {
		return
	}
	for _, q := range w.live.lines {
		view := w.view(st, q)
		for _, e := range q.copies {
			if e.handed && !e.off && view != nil && view.Settings.Counts {
				w.violate(Counts, "message %d of %q was with a consumer when all ended, and did not come back", e.message, q.name)
			}
			e.handed = false
		}
	}
}

// resumed checks that a message has waited long enough.
func (w *world) resumed(st *step, e *entry) {
	if e.state != queue.Waiting || e.until > st.stamp.Now && !st.names(vhost.FireNow, e) {
		w.violate(Waiting, "message %d of %q is ready at %d, it had to wait until %d", e.message, e.line.name, st.stamp.Now, e.until)
	}
	e.resume()
}
