package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// keeps reports whether a delayed exchange has space for one more, or one with that key to put it in the place of; a
// dead letter has none.
func (w *world) keeps(x *topology.Exchange, key string) bool {
	most, limited := x.Arguments.Get("x-delayed-max-length")
	n, _ := most.Integer()
	q := w.live.ScheduleOf(x.Name)
	if !limited || q == nil {
		return !limited || n > 0
	}
	for _, e := range q.Copies {
		if key != "" && e.Keyed && w.Messages[e.Message].Key == key {
			return true
		}
	}
	return int64(len(q.Copies)) < n
}

// early reports whether delayed exchanges keep a copy: it has not waited yet.
func (w *world) early(e *ledger.Entry) bool {
	m := w.Messages[e.Message]
	return m.Nonsense || m.Delay > 0 && !w.contents[e.Ref].delayed
}

// ofSchedule reports whether a fact is about a schedule itself, which clients do not see.
func (w *world) ofSchedule(f *fact.Fact) bool {
	switch f.Kind {
	case fact.QueueDeclared:
		return f.Object.Type == ledger.ScheduleType
	case fact.QueueDeleted:
		q := w.live.Lines[f.Queue]
		return q != nil && q.Kept != nil
	}
	return false
}

// names reports whether a command of that kind names a copy that waits.
func (st *step) names(k vhost.CommandKind, e *ledger.Entry) bool {
	if st.command.Kind != k {
		return false
	}
	for _, id := range st.command.Selection.Scheduled {
		if id.Schedule == e.Line.ID && queue.Seq(id.Number) == e.Seq {
			return true
		}
	}
	return false
}

// postponed checks what came to a schedule.
func (w *world) postponed(st *step, e *ledger.Entry, m *clients.Message) {
	switch want := st.stamp.From + deadline.Instant(m.Delay); {
	case !e.Durable:
		w.violate(Schedule, "message %d waits in %q, and not in the log", e.Message, e.Line.Name)
	case m.Delay <= 0 || m.Nonsense:
		w.violate(Schedule, "message %d waits in %q, and has no delay", e.Message, e.Line.Name)
	case e.Until != want || e.ExpireAt != 0:
		w.violate(Schedule, "message %d waits in %q until %d, expected %d, and expires at %d", e.Message, e.Line.Name, e.Until, want, e.ExpireAt)
	case !w.contents[e.Ref].delayed:
		w.violate(Schedule, "message %d waits in %q, and its header does not say so", e.Message, e.Line.Name)
	}
	w.result.Scheduled["postponed"]++
}

// checkDelivery computes anew until when a copy waits in its queue for its time of delivery, and returns from when it
// could be delivered.
func (w *world) checkDelivery(st *step, e *ledger.Entry, m *clients.Message) deadline.Instant {
	want := deadline.Instant(0)
	if at := deadline.Instant(m.DeliverAt); at > st.stamp.Wall && (!e.HasHistory || e.Resent.Restored) && st.command.Kind != vhost.Republish {
		want = st.vhostTime(at)
		w.result.Scheduled["delivered later"]++
	}
	if e.Until != want {
		w.violate(Schedule, "message %d waits in %q until %d, expected %d", e.Message, e.Line.Name, e.Until, want)
	}
	return max(st.stamp.From, want)
}

// moveTo checks that a message that waits was moved to another instant as somebody asked.
func (w *world) moveTo(st *step, e *ledger.Entry, f *fact.Fact) {
	if !st.names(vhost.Reschedule, e) || e.State != queue.Waiting {
		w.violate(Schedule, "message %d of %q was moved by command %d", e.Message, e.Line.Name, st.command.Kind)
		return
	}
	if want := st.instant(); f.At != want {
		w.violate(Schedule, "message %d of %q was moved to %d, expected %d", e.Message, e.Line.Name, f.At, want)
	}
	if e.ExpireAt != 0 && !e.Redelivered {
		w.result.Scheduled["moved with its TTL"]++
	}
	e.Defer(f.At)
}

// cancelled checks that a message was cancelled in a queue because a client asked, and that no consumer had had it.
func (w *world) cancelled(st *step, e *ledger.Entry) {
	if !st.names(vhost.Unschedule, e) || e.State != queue.Waiting || e.Redelivered {
		w.violate(Schedule, "message %d of %q was cancelled by command %d; it waits: %t, was delivered: %t",
			e.Message, e.Line.Name, st.command.Kind, e.State == queue.Waiting, e.Redelivered)
	}
	w.result.Scheduled["cancelled in a queue"]++
}

// instant is when a command lets messages be due.
func (st *step) instant() deadline.Instant {
	return max(st.vhostTime(st.command.Selection.At), st.stamp.Now)
}

// giveKey notes that a message waits under its key.
func (w *world) giveKey(e *ledger.Entry) {
	if w.Messages[e.Message].Key == "" || e.Line.Kept == nil {
		w.violate(Schedule, "message %d of %q was given a key, and has none", e.Message, e.Line.Name)
	}
	e.Keyed = true
}

// closed checks that a schedule is gone only with its last message, if its exchange is.
func (w *world) closed(q *ledger.Line) {
	x := w.vhost.Topology().Exchange(q.Name)
	if len(q.Copies) > 0 || x != nil && x.Delayed {
		w.violate(Schedule, "the schedule of %q is gone with %d messages; its exchange is there: %t", q.Name, len(q.Copies), x != nil)
	}
}

// checkSchedules compares what schedules count with the ledger.
func (w *world) checkSchedules() {
	views := w.vhost.Reader().Schedules()
	if n := len(w.live.Lines) - w.live.Queues(); n != len(views) {
		w.violate(Schedule, "%d schedules, expected %d", len(views), n)
	}
	for _, v := range views {
		q := w.live.Lines[v.ID]
		x := w.vhost.Topology().Exchange(v.Exchange)
		if q == nil || q.Kept == nil || q.Name != v.Exchange || v.Messages != len(q.Copies) || v.Bytes != q.Bytes[queue.Waiting] ||
			v.Orphan != (x == nil || !x.Delayed) {
			w.violate(Schedule, "%+v differs from the ledger", v)
			return
		}
		keys := map[string]uint64{}
		for _, s := range q.Seqs() {
			e := q.Copies[s]
			key := w.Messages[e.Message].Key
			if other := keys[key]; e.Keyed && other != 0 {
				w.violate(Schedule, "messages %d and %d wait in %q with the same key", other, e.Message, q.Name)
			} else if e.Keyed {
				keys[key] = e.Message
			}
			// what is overdue is next now
			if e.State != queue.Waiting || !w.cramped && v.Next > max(e.Until, w.stamp().Now) {
				w.violate(Schedule, "message %d of %q is due at %d, the next at %d", e.Message, q.Name, e.Until, v.Next)
			}
		}
	}
}

// vhostTime is when in vhost time an instant of the wall clock is: exactly, where both are the same, and else not
// before it.
func (st *step) vhostTime(wall deadline.Instant) deadline.Instant {
	if st.stamp.Now == st.stamp.Wall {
		return wall
	}
	return st.stamp.From + wall - st.stamp.Wall
}
