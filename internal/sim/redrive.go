package sim

import (
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// sent is a message that a job has moved, and what it has become.
type sent struct {
	from *ledger.Entry
	came []*ledger.Entry
}

// rights are those of the users of jobs.
type rights struct{ w *world }

// JobSpec implements vhost.Rights.
func (r rights) Job(o *vhost.JobSpec) error {
	if o.User == clients.Clerk && r.w.Revoked {
		return errors.New("revoked")
	}
	return nil
}

// Message implements vhost.Rights.
func (r rights) Message(o *vhost.JobSpec, x *vhost.Seen) (sees, may bool) {
	return clerkMay(o.User, x.ID)
}

// clerkMay tells which messages a user sees and may take.
func clerkMay(user string, id uint64) (sees, may bool) {
	sees = user != clients.Clerk || id%5 != 0
	return sees, sees && (user != clients.Clerk || id%3 != 0)
}

// becameBack takes the dead letters that a copy has become which nothing has died of: all its history is
// theirs.
func (w *world) becameBack(st *step, e *ledger.Entry) (came []*ledger.Entry) {
	var rest []*ledger.Entry
	for _, l := range st.deadLetters {
		if l.Message != e.Message || !slices.Equal(l.Deaths, e.Deaths) && len(l.Deaths) > 0 || l.History == e.History {
			rest = append(rest, l)
			continue
		}
		came = append(came, l)
	}
	st.deadLetters = rest
	return came
}

// discarded reports whether a copy that has gone is in the lost store now because somebody
// discarded it, and not because it died.
func (w *world) discarded(st *step, e *ledger.Entry) bool {
	return st.ticks() && slices.ContainsFunc(st.deadLetters, func(l *ledger.Entry) bool {
		return l.Message == e.Message && l.Lost == fact.Discarded && slices.Equal(l.Deaths, e.Deaths)
	})
}

// cameBack counts a copy that a job has sent and that has died since, once.
func (w *world) cameBack(e *ledger.Entry) {
	if e.Resent.Job != 0 && !e.Resent.CameBack && e.State != queue.Held && e.Cause != fact.GoneDeleted {
		w.backs[e.Resent.Job]++
	}
}

// sendsBack notes that a job has moved a copy. Which job it was tells the fact that follows.
func (w *world) sendsBack(st *step, e *ledger.Entry) {
	st.sent = append(st.sent, sent{e, w.becameBack(st, e)})
}

// jobBegun notes a job.
func (w *world) jobBegun(st *step, f *fact.Fact) {
	j := vhost.JobOf(f)
	if o := st.command.JobSpec; st.command.Kind != vhost.BeginRedrive || o.Source != j.Source || o.Target != j.Target || o.Filter != j.Filter {
		w.violate(Redrive, "job %d has begun by command %d, and is another one than asked for", j.ID, st.command.Kind)
	}
	if w.live.Jobs[j.ID] != nil || j.ID <= w.live.LastJob {
		w.violate(Redrive, "job %d has begun, and there was one with its number", j.ID)
	}
	w.live.Structure(f)
	w.jobRecoveries[j.ID], w.backs[j.ID] = w.result.Recoveries, 0 // one that no log tells of may have had the number
}

// jobProgressed checks a portion of a job: what it moved was its to move, and went where it was sent, once.
func (w *world) jobProgressed(st *step, f *fact.Fact) {
	now := vhost.JobOf(f)
	j := w.live.Jobs[now.ID]
	if j == nil {
		w.violate(Redrive, "job %d goes on, and there is none", now.ID)
		return
	}
	p := &j.Progress
	switch {
	case now.Moved-p.Moved != uint64(len(st.sent)):
		w.violate(Redrive, "job %d says that it moved %d messages, after %d; %d left", j.ID, now.Moved, p.Moved, len(st.sent))
	case len(st.sent) > 0 && p.State != vhost.JobRunning && p.State != vhost.JobWatching:
		w.violate(Redrive, "job %d moved %d messages, and was %s", j.ID, len(st.sent), p.State)
	case len(st.sent) > 0 && j.User == clients.Clerk && w.Revoked:
		w.violate(Redrive, "job %d moved %d messages, and its user may not have it", j.ID, len(st.sent))
	case j.Max > 0 && now.Moved > j.Max:
		w.violate(Redrive, "job %d moved %d messages of at most %d", j.ID, now.Moved, j.Max)
	case now.Quota > 0 && now.Moved > now.Quota:
		w.violate(Redrive, "job %d moved %d messages, and watches after %d", j.ID, now.Moved, now.Quota)
	case now.CameBack > w.backs[j.ID]:
		w.violate(Redrive, "job %d says that %d messages came back, %d have", j.ID, now.CameBack, w.backs[j.ID])
	case now.CameBack < w.backs[j.ID] && w.jobRecoveries[j.ID] == w.result.Recoveries:
		w.violate(Redrive, "job %d says that %d messages came back, %d have", j.ID, now.CameBack, w.backs[j.ID])
	}
	if limit := j.StopPercent; limit > 0 && len(st.sent) > 0 {
		if back := p.CameBack - p.BaseBack; back*100 > limit*max(p.Moved-p.BaseSent, j.Sample(p)) {
			w.violate(Redrive, "job %d goes on though %d of %d came back, it was to stop at %d %%", j.ID, back, p.Moved-p.BaseSent, limit)
		}
	}
	w.checkRate(st, j, &now)
	for i := range st.sent {
		w.checkSent(st, j, &st.sent[i])
	}
	w.result.Redriven += len(st.sent)
	st.sent = nil
	w.live.Structure(f)
}

// checkRate makes sure that a job keeps its rate: no message comes sooner than it allows.
func (w *world) checkRate(st *step, j *ledger.Job, now *vhost.Job) {
	// what goes on goes on
	resumed := st.command.Kind == vhost.ChangeRedrive && st.command.JobChange.Action == vhost.JobResume
	if j.State != vhost.JobRunning || !st.ticks() && !resumed {
		j.Since = 0
	}
	if now.Progress.Rate == 0 {
		return
	}
	if j.Since == 0 {
		j.Since, j.Sent = int64(st.stamp.Now), now.Moved-uint64(len(st.sent))
	}
	if most := uint64(int64(st.stamp.Now)-j.Since)*now.Progress.Rate/1000 + 1; now.Moved-j.Sent > most {
		w.violate(Redrive, "job %d moved %d messages in %d ms, %d a second are allowed", j.ID, now.Moved-j.Sent, int64(st.stamp.Now)-j.Since, now.Progress.Rate)
	}
}

// checkSent looks at one message that a job has moved.
func (w *world) checkSent(st *step, j *ledger.Job, x *sent) {
	e := x.from
	_, may := clerkMay(j.User, uint64(e.Seq)+1)
	switch {
	case !may:
		w.violate(Redrive, "job %d took message %d out of %q, which its user may not take", j.ID, e.Message, e.Line.Name)
	case j.Source.Lost != (e.Line == w.live.LostStore) || !j.Source.Lost && e.Line.Name != j.Source.Queue:
		w.violate(Redrive, "job %d took message %d out of %q", j.ID, e.Message, e.Line.Name)
	case e.State != queue.Ready:
		w.violate(Redrive, "job %d took message %d of %q, which was not ready: %d", j.ID, e.Message, e.Line.Name, e.State)
	case j.IDs != nil && !slices.Contains(j.IDs, uint64(e.Seq)+1):
		w.violate(Redrive, "job %d took message %d of %q, which was not named", j.ID, e.Message, e.Line.Name)
	case j.IDs == nil && (int(ledger.LaneOf(e.Seq)) >= len(j.Bounds) || uint64(e.Seq) >= j.Bounds[ledger.LaneOf(e.Seq)]):
		w.violate(Redrive, "job %d took message %d of %q, which came later", j.ID, e.Message, e.Line.Name)
	case e.Resent.Job == j.ID:
		w.violate(Redrive, "job %d took message %d of %q, which it had sent", j.ID, e.Message, e.Line.Name)
	case j.IDs == nil && !sifted(j.Filter, e):
		w.violate(Redrive, "job %d took message %d of %q with %v, which its filter %s does not let through", j.ID, e.Message, e.Line.Name, e.Deaths, j.Filter)
	}
	for _, l := range x.came {
		w.checkArrival(e, l)
	}
	if j.Discard {
		w.checkDiscarded(j, x)
		return
	}
	stays := slices.ContainsFunc(x.came, func(l *ledger.Entry) bool { return l.Line == e.Line })
	for _, l := range x.came {
		back := j.Target == vhost.TargetOrigin || whither(j, e) == vhost.TargetQueue && (j.Queue == "" || j.Queue == e.Home())
		restored := (back || len(e.Deaths) == 0) && !j.DropExpiration && w.Messages[e.Message].TTL >= 0
		view := w.view(st, e.Line) // nil: the queue was deleted in the same step, and nobody knows whether it was marked
		marked := view != nil && view.Settings.DLQ == vhost.Marked
		r := l.Resent
		atWork := back && !stays || !marked && (len(e.Deaths) == 0 || e.Resent.AtWork)
		if view == nil {
			atWork = r.AtWork
		}
		if r.Job != j.ID || r.Times != e.Resent.Times+1 || r.CameBack || r.Restored != restored || r.AtWork != atWork {
			w.violate(Redrive, "message %d, sent by job %d, says of itself: %+v", e.Message, j.ID, r)
		}
		if j.StripDeaths != (len(l.Deaths) == 0) && len(e.Deaths) > 0 {
			w.violate(Redrive, "message %d, which died of %v, has %v after job %d", e.Message, e.Deaths, l.Deaths, j.ID)
		}
	}
	w.checkWhither(st, x, w.wayOf(j, st, e), j.Force)
}

// checkDiscarded makes sure that what was discarded is in the lost store, if there is one and it was not there.
func (w *world) checkDiscarded(j *ledger.Job, x *sent) {
	want := 1
	if j.Source.Lost || w.live.Number("lost-letters-max-bytes") == 0 {
		want = 0
	}
	if len(x.came) != want || want == 1 && (x.came[0].Line != w.live.LostStore || x.came[0].Way.Target != x.from.Line.Name) {
		w.violate(Redrive, "message %d of %q was discarded by job %d, and became %d dead letters", x.from.Message, x.from.Line.Name, j.ID, len(x.came))
	}
}

// whither is where a job sends a message: what was discarded goes back, not to where it died before that.
func whither(j *ledger.Job, e *ledger.Entry) vhost.Target {
	if j.Target == vhost.TargetQueue && j.Queue == "" && j.Source.Lost && e.Lost == fact.Discarded {
		return vhost.TargetOnward
	}
	return j.Target
}

// wayOf is where a job sends a message; unknown if it has neither keys nor target.
func (w *world) wayOf(j *ledger.Job, st *step, e *ledger.Entry) ledger.Way {
	to := w.published(e)
	switch whither(j, e) {
	case vhost.TargetQueue:
		return w.into(j.Queue, e)
	case vhost.TargetExchange:
		if !j.Keys {
			to.Keys = []string{j.Key}
		}
		to.Exchange = j.Exchange
	case vhost.TargetOnward:
		return w.wayOn(st, e)
	}
	return to
}

// published is where a message was published first; unknown if somebody has edited it, and sent it elsewhere.
func (w *world) published(e *ledger.Entry) ledger.Way {
	if w.contents[e.Ref].edited {
		return ledger.Way{}
	}
	m := w.Messages[e.Message]
	return ledger.Way{Exchange: m.Exchange, Keys: m.Keys}
}

// into is the way into a queue, "" for the one where a message died first. What was published is what its consumer
// sees.
func (w *world) into(name string, e *ledger.Entry) ledger.Way {
	to := w.published(e)
	if to.Target = name; name == "" {
		to.Target = e.Home()
	}
	if to.Target == "" {
		w.violate(Redrive, "message %d of %q went to where it died, and it never has", e.Message, e.Line.Name)
	}
	return to
}

// checkWhither makes sure that a message has come to each queue that its way leads to, once, and to no other;
// to the queue where it was only by force.
func (w *world) checkWhither(st *step, x *sent, to ledger.Way, force bool) {
	var came []fact.QueueID
	for _, l := range x.came {
		came = append(came, l.Line.ID)
		w.went(l, ledger.Way{Exchange: to.Exchange, Keys: to.Keys})
		if l.Line == x.from.Line && !force {
			w.violate(Redrive, "message %d of %q was sent to where it is, and nobody has forced that",
				x.from.Message, x.from.Line.Name)
		}
	}
	if len(came) == 0 {
		w.violate(Redrive, "message %d left %q and came nowhere: %+v", x.from.Message, x.from.Line.Name, to)
	}
	if st.structural || to.Keys == nil && to.Target == "" {
		return
	}
	want, keepers, _ := w.route(to, x.from)
	for _, name := range keepers {
		if q := w.live.ScheduleOf(name); q != nil && slices.Contains(came, q.ID) {
			want = append(want, q.ID)
		}
	}
	slices.Sort(came)
	slices.Sort(want)
	if !slices.Equal(came, want) {
		w.violate(Redrive, "message %d of %q, sent to %+v, came to queues %v, expected %v",
			x.from.Message, x.from.Line.Name, to, came, want)
	}
}

// sifted reports whether a filter of those that are drawn lets a copy through.
func sifted(filter string, e *ledger.Entry) bool {
	reason, count := "", int64(0)
	for i, d := range e.Deaths {
		if i == 0 {
			reason = d.Reason
		}
		count += d.Count
	}
	switch filter {
	case "reason:rejected":
		return reason == "reject" || reason == "nack"
	case "-reason:expired":
		return reason != "expired"
	case "count:>1":
		return count > 1
	}
	return true
}

// resentNow checks a message that was sent anew, and what was answered.
func (w *world) resentNow(st *step) {
	x := st.command.Edit
	if st.command.Kind != vhost.Resend || st.refused != nil || w.violation != nil || st.channel == nil || st.channel.Dead {
		return
	}
	answer := answerTo(st)
	for i := range st.effects {
		if st.effects[i].Kind == vhost.Answered {
			answer = &st.effects[i]
		}
	}
	e := st.expected.named
	if e != nil && x.Keep && answer.Name == fact.Redriven.String() { // what has become of it since is not known
		w.becameBack(st, e)
		return
	}
	switch {
	case e == nil && answer.Name != "unknown":
		w.violate(Redrive, "a message that is not there was sent anew: %s", answer.Name)
	case e == nil:
		return
	case (answer.Name == fact.Redriven.String()) != (len(st.sent) > 0):
		w.violate(Redrive, "message %d of %q was sent anew: %s, and %d copies left", e.Message, e.Line.Name, answer.Name, len(st.sent))
	}
	if len(st.sent) == 0 {
		return
	}
	to := w.published(e)
	switch x.Way {
	case vhost.TargetQueue:
		to = w.into(x.Queue, e)
	case vhost.TargetExchange:
		to = ledger.Way{Exchange: x.Exchange, Keys: []string{x.Key}}
	}
	w.checkWhither(st, &st.sent[0], to, x.Force)
	st.sent = nil
}

// checkJobs compares what the machine says of jobs with what the facts said.
func (w *world) checkJobs() {
	all := w.vhost.Reader().Redrives()
	if len(all) != len(w.live.Jobs) {
		w.violate(Redrive, "the machine knows %d jobs, there are %d", len(all), len(w.live.Jobs))
		return
	}
	for i := range all {
		m, j := &all[i], w.live.Jobs[all[i].ID]
		if j == nil || j.State != m.State || j.Moved != m.Moved || j.Cursor != m.Cursor || j.CameBack > m.CameBack {
			w.violate(Redrive, "the machine says of job %d: %+v, expected %+v", m.ID, m, j)
			return
		}
	}
}

// checkJobsServed makes sure that no job stands still, at a moment when all that was due has happened.
func (w *world) checkJobsServed() {
	for _, j := range w.live.Jobs {
		now := w.stamp().Now
		switch {
		case j.State == vhost.JobRunning && j.Progress.Rate == 0, j.State == vhost.JobWatching && j.Until <= now:
			w.violate(Redrive, "job %d is %s until %d, and nothing is due at %d", j.ID, j.State, j.Until, now)
		}
	}
}
