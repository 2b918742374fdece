package sim

import (
	"maps"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// scheduleType is the type of the hidden queues that hold what waits in delayed exchanges.
const scheduleType = "schedule"

// recall is what is known of messages that a schedule does not hold any more.
type recall struct {
	cancelled map[queue.Seq]bool
	below     queue.Seq // what became of those is not told, unless they were cancelled
}

func (r *recall) clone() *recall { return &recall{maps.Clone(r.cancelled), r.below} }

// note learns how a message ended.
func (r *recall) note(e *entry) {
	switch e.cause {
	case vhost.Unscheduled:
		r.cancelled[e.seq] = true
	case vhost.GonePurged:
		r.below = max(r.below, e.seq+1)
	}
}

// outcome tells how a message ended that is not there.
func (q *line) outcome(s queue.Seq) string {
	switch {
	case q.kept.cancelled[s]:
		return "cancelled"
	case s < q.kept.below || s >= q.last[0]:
		return "unknown"
	}
	return "already_fired"
}

// waits finds what an ID names, or tells what became of it.
func (l *ledger) waits(id vhost.ScheduledID) (e *entry, gone string) {
	q := l.lines[id.Schedule]
	if q == nil {
		return nil, "unknown"
	}
	if e := q.copies[queue.Seq(id.Number)]; e != nil && e.state == queue.Waiting {
		return e, ""
	}
	if q.kept == nil {
		return nil, "unknown"
	}
	return nil, q.outcome(queue.Seq(id.Number))
}

// queues counts the lines that are no schedules.
func (l *ledger) queues() (n int) {
	for _, q := range l.lines {
		if q.kept == nil {
			n++
		}
	}
	return n
}

// scheduled counts the messages on schedules.
func (l *ledger) scheduled() (n int) {
	for _, q := range l.lines {
		if q.kept != nil {
			n += len(q.copies)
		}
	}
	return n
}

// scheduleOf finds the schedule of an exchange.
func (l *ledger) scheduleOf(exchange string) *line {
	for _, q := range l.lines {
		if q.kept != nil && q.name == exchange {
			return q
		}
	}
	return nil
}

// keeps reports whether a delayed exchange has room for one more, or one with that key to put it in the place of; a
// dead letter has none.
func (w *world) keeps(x *topology.Exchange, key string) bool {
	most, limited := x.Arguments.Get("x-delayed-max-length")
	n, _ := most.Integer()
	q := w.live.scheduleOf(x.Name)
	if !limited || q == nil {
		return !limited || n > 0
	}
	for _, e := range q.copies {
		if key != "" && e.keyed && w.messages[e.message].key == key {
			return true
		}
	}
	return int64(len(q.copies)) < n
}

// saysDelayed reports whether properties say that m was kept until it was due.
func (m *message) saysDelayed(properties []byte) bool {
	p, err := amqp.ParseProperties(properties)
	if err != nil || m.delay == 0 {
		return false
	}
	v, _ := p.Headers.Get("x-delay")
	return v.Kind == amqp.KindInt64 && v.Int == -m.delay
}

// early reports whether delayed exchanges keep a copy: it has not waited yet.
func (w *world) early(e *entry) bool {
	m := w.messages[e.message]
	return m.nonsense || m.delay > 0 && !w.contents[e.ref].delayed
}

// ofSchedule reports whether a fact is about a schedule itself, which clients do not see.
func (w *world) ofSchedule(f *vhost.Fact) bool {
	switch f.Kind {
	case vhost.QueueDeclared:
		return f.Object.Type == scheduleType
	case vhost.QueueDeleted:
		q := w.live.lines[f.Queue]
		return q != nil && q.kept != nil
	}
	return false
}

// names reports whether a command of that kind names a copy that waits.
func (st *step) names(k vhost.CommandKind, e *entry) bool {
	if st.command.Kind != k {
		return false
	}
	for _, id := range st.command.Selection.Scheduled {
		if id.Schedule == e.line.id && queue.Seq(id.Number) == e.seq {
			return true
		}
	}
	return false
}

// postponed checks what came to a schedule.
func (w *world) postponed(st *step, e *entry, m *message) {
	switch want := st.stamp.From + deadline.Instant(m.delay); {
	case !e.durable:
		w.violate(Schedule, "message %d waits in %q, and not in the log", e.message, e.line.name)
	case m.delay <= 0 || m.nonsense:
		w.violate(Schedule, "message %d waits in %q, and has no delay", e.message, e.line.name)
	case e.until != want || e.expireAt != 0:
		w.violate(Schedule, "message %d waits in %q until %d, expected %d, and expires at %d", e.message, e.line.name, e.until, want, e.expireAt)
	case !w.contents[e.ref].delayed:
		w.violate(Schedule, "message %d waits in %q, and its header does not say so", e.message, e.line.name)
	}
	w.result.Scheduled["postponed"]++
}

// checkDelivery computes anew until when a copy waits in its queue for its time of delivery, and returns from when it
// could be delivered.
func (w *world) checkDelivery(st *step, e *entry, m *message) deadline.Instant {
	want := deadline.Instant(0)
	if at := deadline.Instant(m.deliverAt); at > st.stamp.Wall && (!e.letter || e.resent.Restored) && st.command.Kind != vhost.Republish {
		want = st.vhostTime(at)
		w.result.Scheduled["delivered later"]++
	}
	if e.until != want {
		w.violate(Schedule, "message %d waits in %q until %d, expected %d", e.message, e.line.name, e.until, want)
	}
	return max(st.stamp.From, want)
}

// moveTo checks that a message that waits was moved to another instant as somebody asked.
func (w *world) moveTo(st *step, e *entry, f *vhost.Fact) {
	if !st.names(vhost.Reschedule, e) || e.state != queue.Waiting {
		w.violate(Schedule, "message %d of %q was moved by command %d", e.message, e.line.name, st.command.Kind)
		return
	}
	if want := st.instant(); f.At != want {
		w.violate(Schedule, "message %d of %q was moved to %d, expected %d", e.message, e.line.name, f.At, want)
	}
	e.until = f.At
}

// instant is when a command lets messages be due.
func (st *step) instant() deadline.Instant {
	return max(st.vhostTime(st.command.Selection.At), st.stamp.Now)
}

// giveKey notes that a message waits under its key.
func (w *world) giveKey(e *entry) {
	if w.messages[e.message].key == "" || e.line.kept == nil {
		w.violate(Schedule, "message %d of %q was given a key, and has none", e.message, e.line.name)
	}
	e.keyed = true
}

// closed checks that a schedule is gone only with its last message, if its exchange is.
func (w *world) closed(q *line) {
	x := w.vhost.Topology().Exchange(q.name)
	if len(q.copies) > 0 || x != nil && x.Delayed {
		w.violate(Schedule, "the schedule of %q is gone with %d messages; its exchange is there: %t", q.name, len(q.copies), x != nil)
	}
}

// checkSchedules compares what schedules count with the ledger.
func (w *world) checkSchedules() {
	views := w.vhost.Reader().Schedules()
	if n := len(w.live.lines) - w.live.queues(); n != len(views) {
		w.violate(Schedule, "%d schedules, expected %d", len(views), n)
	}
	for _, v := range views {
		q := w.live.lines[v.ID]
		x := w.vhost.Topology().Exchange(v.Exchange)
		if q == nil || q.kept == nil || q.name != v.Exchange || v.Messages != len(q.copies) || v.Bytes != q.bytes[queue.Waiting] ||
			v.Orphan != (x == nil || !x.Delayed) {
			w.violate(Schedule, "%+v differs from the ledger", v)
			return
		}
		keys := map[string]uint64{}
		for _, s := range q.seqs() {
			e := q.copies[s]
			key := w.messages[e.message].key
			if other := keys[key]; e.keyed && other != 0 {
				w.violate(Schedule, "messages %d and %d wait in %q with the same key", other, e.message, q.name)
			} else if e.keyed {
				keys[key] = e.message
			}
			// what is overdue is next now
			if e.state != queue.Waiting || !w.cramped && v.Next > max(e.until, w.stamp().Now) {
				w.violate(Schedule, "message %d of %q is due at %d, the next at %d", e.message, q.name, e.until, v.Next)
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
