package sim

import (
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// checkCommanded compares the answers for messages that wait with what has become of them.
func (w *world) checkCommanded(st *step) {
	k := st.command.Kind
	if k != vhost.Unschedule && k != vhost.Reschedule && k != vhost.FireNow || st.refused != nil || w.violation != nil {
		return
	}
	var answers []*vhost.Effect
	for i := range st.effects {
		if e := &st.effects[i]; e.Kind == vhost.Answered {
			answers = append(answers, e)
		}
	}
	ids := st.command.Selection.Scheduled
	if len(answers) == 0 && (st.channel == nil || st.channel.Dead) {
		return
	}
	if len(answers) != len(ids) {
		w.violate(Schedule, "%d messages were named, %d answers", len(ids), len(answers))
		return
	}
	w.answers = append(w.answers, ids...)
	after := map[vhost.ScheduledID]string{}
	for i, id := range ids {
		got, e, want := answers[i], st.expected.waiting[i], st.expected.gone[i]
		w.result.Scheduled["answer "+got.Name]++
		if said, again := after[id]; again {
			want = said
		} else if e != nil {
			want, after[id] = w.done(st, e)
			if e.Durable && want != waitsForRetry && got.After < st.stamp.Index {
				w.violate(Release, "the answer for %s waits for batch %d, what it tells is in %d", id, got.After, st.stamp.Index)
			}
		}
		dissolved := w.live.Lines[id.Schedule] == nil && got.Name == "unknown"
		if got.Tag != id.Number || got.Name != want && !dissolved {
			w.violate(Schedule, "message %s: the answer is %q for %d, expected %q", id, got.Name, got.Tag, want)
		}
	}
}

// waitsForRetry answers for a message that was delivered, and therefore is not cancelled.
const waitsForRetry = "waits_for_retry"

// done makes sure that a command has done what it says with a message that waited. It returns how it must have
// answered, and how it must answer if it names the message a second time.
func (w *world) done(st *step, e *ledger.Entry) (want, again string) {
	scheduled, ok := e.Line.Kept != nil, true
	switch st.command.Kind {
	case vhost.Unschedule:
		switch want, again, ok = "cancelled", "cancelled", e.Cause == fact.Unscheduled; {
		case scheduled:
		case e.Redelivered:
			want, again, ok = waitsForRetry, waitsForRetry, e.Cause != fact.Unscheduled
		default:
			again = "unknown"
		}
	case vhost.Reschedule:
		want, again, ok = "rescheduled", "rescheduled", e.Until == st.instant()
	case vhost.FireNow:
		if want, again, ok = "fired", "unknown", e.Cause != 0 || e.State != queue.Waiting; scheduled {
			again, ok = "already_fired", e.Cause != 0
		}
	}
	if !ok {
		w.violate(Schedule, "message %d of %q was to be %s, and is not: it ended as %q, state %d, until %d", e.Message, e.Line.Name, want, e.Cause, e.State, e.Until)
	}
	return want, again
}

// hear notes what a client was told of a scheduled message: that stays true.
func (w *world) hear(id vhost.ScheduledID, e *vhost.Effect) {
	if q := w.live.Lines[id.Schedule]; q == nil || q.Kept == nil {
		return
	}
	switch e.Name {
	case "cancelled", "already_fired":
		w.told[id] = e.Name
	case "fired":
		w.told[id] = "already_fired"
	}
}

// checkRecalled makes sure, after a restart, that what clients know of scheduled messages still holds, and that the
// machine remembers what the log says.
func (w *world) checkRecalled() {
	for id, told := range w.told {
		if q := w.base.Lines[id.Schedule]; q == nil || q.Kept == nil {
			continue
		}
		if e, gone := w.base.Waits(id); e != nil || gone != told && gone != "unknown" {
			w.violate(Schedule, "message %s was %s, says an answer, and is %q after a restart; it waits: %t", id, told, gone, e != nil)
		}
	}
	for q := range w.base.All() {
		if q.Kept == nil {
			continue
		}
		for s := queue.Seq(0); s <= q.Last[0]; s++ {
			if q.Copies[s] != nil {
				continue
			}
			id, got := vhost.ScheduledID{Schedule: q.ID, Number: uint64(s)}, ""
			w.look(func() { _, _, _, got = w.vhost.Reader().ScheduledAt(id, 0) })
			if want := q.Outcome(s); got != want {
				w.violate(Schedule, "message %s is %q after a restart, expected %q", id, got, want)
			}
		}
	}
}
