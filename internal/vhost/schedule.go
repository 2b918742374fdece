package vhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// A schedule keeps the messages that one delayed exchange has taken and that are not due. It is a queue without a name,
// consumers or policies, in the log whatever the exchange and its messages say; its messages wait in the pages of queues.
// It belongs to the name of the exchange: one that is deleted and declared anew finds it again. The first message makes
// it; it goes when the exchange is gone and it is empty.
//
// A message on it is one copy. Firing ends that copy and makes one for each target, of the same record: the header was
// negated when the message came. Source: reference delayed-exchange; ours, decision 14.
const scheduleType = "schedule"

// delayedMax is the argument of a delayed exchange that bounds how many messages wait in it: more are refused.
const delayedMax = "x-delayed-max-length"

// ScheduledID names a scheduled message, or one that waits in a queue, for ever: no other has it.
type ScheduledID struct {
	Schedule QueueID
	Number   uint64
}

// String is the ID as doors show it.
func (id ScheduledID) String() string { return fmt.Sprintf("%d-%d", id.Schedule, id.Number) }

// ParseScheduledID reads what String wrote.
func ParseScheduledID(text string) (id ScheduledID, ok bool) {
	schedule, number, ok := strings.Cut(text, "-")
	q, err := strconv.ParseUint(schedule, 10, 32)
	n, err2 := strconv.ParseUint(number, 10, 64)
	id = ScheduledID{QueueID(q), n}
	return id, ok && err == nil && err2 == nil && id.String() == text
}

// postpone puts m on the schedule of each delayed exchange that keeps it, until its delay has passed. refused: one has as
// many as it may.
func (v *VHost) postpone(s *Stamp, keepers []*topology.Exchange, m *message, out *Outcome) (kept []ScheduledID, refused bool) {
	later := *m
	later.content.properties = negated(m.content.properties, m.delay)
	later.record, later.recordVolatile, later.scanned = place.Ref{}, place.Ref{}, false
	for _, x := range keepers {
		if v.isFull(x, m) {
			refused = true
			v.traffic.Scheduled.Full++
			continue
		}
		q := v.scheduleOf(s, x.Name, out)
		f := Fact{Kind: Enqueued, Durable: true, Queue: q.id, Seq: q.messages.Next(0), At: s.From + deadline.Instant(m.delay)}
		ref := v.recordOf(s, &later, true, out)
		f.Entry = queue.Entry{Index: ref.Index, Offset: ref.Offset, Size: ref.Size, BodyBytes: uint32(len(m.content.body))}
		v.flag(s, q, &f.Entry, ref, true, m.told)
		if later.history != nil {
			f.Entry.Flags |= queue.Letter
			f.History = v.historyOf(s, &later, true, out)
		}
		v.emit(s, &f, out)
		if later.name != "" {
			v.giveKey(s, q, f.Seq, later.name, out)
		}
		q.counters().Published++
		v.traffic.Scheduled.Published++
		kept = append(kept, ScheduledID{q.id, uint64(f.Seq)})
	}
	return kept, refused
}

// isFull reports whether as much waits in a delayed exchange as may. What takes the place of another is no more.
func (v *VHost) isFull(x *topology.Exchange, m *message) bool {
	a, bounded := x.Arguments.Get(delayedMax)
	q := v.schedules[x.Name]
	if !bounded || int64(q.waiting()) < whole(a) {
		return false
	}
	_, replaces := v.keyed(q, m.name)
	return !replaces
}

// waiting counts what is on a schedule, which may be none.
func (q *queueState) waiting() int {
	if q == nil {
		return 0
	}
	return q.messages.Count(queue.Waiting)
}

// scheduleOf finds the schedule of an exchange, which is made if need be.
func (v *VHost) scheduleOf(s *Stamp, exchange string, out *Outcome) *queueState {
	if q := v.schedules[exchange]; q != nil {
		return q
	}
	o := &Object{Name: exchange, Type: scheduleType, Durable: true}
	v.emit(s, &Fact{Kind: QueueDeclared, Durable: true, Queue: v.queueMax + 1, Object: o}, out)
	return v.schedules[exchange]
}

// addSchedule folds the making of a schedule.
func (v *VHost) addSchedule(q *queueState) {
	q.settings = v.share(Settings{TTL: -1, Expires: -1, MaxLength: -1, MaxLengthBytes: -1, DeliveryLimit: -1})
	q.schedule = &schedule{}
	v.schedules[q.object.Name] = q
}

// closeSchedule takes an empty schedule away whose exchange is gone.
func (v *VHost) closeSchedule(s *Stamp, exchange string, out *Outcome) {
	q, x := v.schedules[exchange], v.topo.Exchange(exchange)
	if q != nil && (x == nil || !x.Delayed) && q.waiting() == 0 {
		v.emit(s, &Fact{Kind: QueueDeleted, Durable: true, Queue: q.id}, out)
	}
}

// fire routes a message of a schedule as its exchange does now, and ends it there. What finds no place is a lost letter.
// Source: reference delayed-exchange 3, 6, 8.
func (v *VHost) fire(s *Stamp, q *queueState, seq queue.Seq, out *Outcome) {
	m := v.recall(q, seq)
	if m.history == nil || m.history.Resent.Restored {
		m.wishes(s)
	}
	p := passage{}
	if x := v.topo.Exchange(q.object.Name); x == nil {
		v.layDue(s, q, &m, LostExchange, "", &p, out)
	} else {
		ids := v.routeDue(s, x, &m)
		v.keepRecent(s, &m, out)
		if len(ids) == 0 {
			v.layDue(s, q, &m, LostRoute, "", &p, out)
		}
		for _, id := range ids {
			v.arrive(s, q, v.queues[id], &m, &p, out)
		}
	}
	cause := Fired
	if !p.placed && p.lost != 0 {
		cause = p.lost
	}
	if p.placed && p.laid == 0 {
		v.traffic.Scheduled.Released++
	} else {
		v.traffic.Scheduled.Lost++
	}
	if v.mutant != MutantFireTwice {
		v.end(s, q, seq, cause, out)
	}
	v.closeSchedule(s, q.object.Name, out)
}

// routeDue asks the topology where a message goes that is due. The slice is good until the next time that it is asked here.
func (v *VHost) routeDue(s *Stamp, x *topology.Exchange, m *message) []QueueID {
	if m.history != nil {
		return v.routeLetter(s, x, m)
	}
	return v.routeBy(x, m, v.chance(s))
}

// routeBy is routeDue for a message that never died, with the bits by which exchanges choose.
func (v *VHost) routeBy(x *topology.Exchange, m *message, entropy uint64) []QueueID {
	t := topology.Message{
		Key: m.content.key, More: append(m.content.cc[:len(m.content.cc):len(m.content.cc)], m.content.bcc...),
		Properties: m.content.properties, Headers: m.scan().Headers, Entropy: entropy,
	}
	ids, _ := v.routeOf(x, &t, v.dueRoute[:0])
	v.dueRoute = ids
	return ids
}

// layDue puts a message that came due and finds no place on the shelf, as a letter without deaths.
func (v *VHost) layDue(s *Stamp, from *queueState, m *message, cause Cause, target string, p *passage, out *Outcome) {
	letter := *m
	h := History{Keys: m.content.keys(), Share: lettersMax}
	if m.history != nil {
		h = *m.history
	}
	h.Exchange = from.object.Name // where it was going: other exchanges on its way have passed it on
	letter.history, letter.letter, letter.historyVolatile = &h, place.Ref{}, place.Ref{}
	v.lay(s, from, &letter, cause, target, p, out)
}

// arrive puts what was fired into one of its targets.
func (v *VHost) arrive(s *Stamp, from, to *queueState, m *message, p *passage, out *Outcome) {
	switch {
	case m.history != nil && m.history.cycles(to.object.Name, m.history.Last.Reason):
		v.layDue(s, from, m, LostCycle, to.object.Name, p, out)
	case !to.refuses(m):
		v.enqueue(s, to, m, out)
		v.touch(to, 0)
		p.placed = true
	case to.settings.passesOn():
		beyond := v.dieAtTheDoor(s, to, m, 1, out)
		p.placed, p.lost = p.placed || beyond.placed, max(p.lost, beyond.lost)
	default:
		v.layDue(s, from, m, LostRefused, to.object.Name, p, out)
	}
}

// waits finds what an ID names, if it waits for its instant; else outcome tells what became of it.
func (v *VHost) waits(id ScheduledID) (q *queueState, seq queue.Seq, outcome string) {
	q, seq = v.queues[id.Schedule], queue.Seq(id.Number)
	if q == nil {
		return nil, 0, outcomeUnknown
	}
	if e := q.messages.Entry(seq); e != nil && e.State == queue.Waiting {
		return q, seq, ""
	}
	if q.schedule == nil {
		return nil, 0, outcomeUnknown
	}
	return nil, 0, q.schedule.outcome(q, seq)
}

// eachScheduled does something to each message that c names and that waits, and answers for each.
func (v *VHost) eachScheduled(s *Stamp, ch *channel, c *Command, out *Outcome, do func(*queueState, queue.Seq) string) *amqp.Error {
	if len(c.Selection.Scheduled) > SelectionMax {
		return amqp.PreconditionFailed("%d messages are more than the %d that one command takes", len(c.Selection.Scheduled), SelectionMax)
	}
	n := uint64(0)
	for _, id := range c.Selection.Scheduled {
		q, seq, outcome := v.waits(id)
		if q != nil {
			if outcome = do(q, seq); outcome != outcomeUnknown {
				n++
			}
		}
		out.effect(Effect{Kind: Answered, Command: c.Kind, Channel: ch.id, Tag: id.Number, Name: outcome, After: v.newest(out)}, s.Index)
	}
	v.done(ch, c, out, Effect{Count: n})
	return nil
}

// cancelOne ends a message of a schedule.
func (v *VHost) cancelOne(s *Stamp, q *queueState, seq queue.Seq, out *Outcome) {
	was := q.messages.Side(seq).Until
	v.traffic.Scheduled.Cancelled++
	v.end(s, q, seq, Unscheduled, out)
	v.lookAgain(q, seq, was)
}

// move lets what waits wait until another instant.
func (v *VHost) move(s *Stamp, q *queueState, seq queue.Seq, at deadline.Instant, out *Outcome) {
	was := q.messages.Side(seq).Until
	if q.schedule != nil {
		v.traffic.Scheduled.Rescheduled++
	}
	v.emit(s, &Fact{Kind: Deferred, Queue: q.id, Seq: seq, At: at, Durable: q.messages.Entry(seq).Flags&queue.Persistent != 0}, out)
	v.lookAgain(q, seq, was)
}

// unschedule decides Unschedule.
func (v *VHost) unschedule(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	return v.eachScheduled(s, ch, c, out, func(q *queueState, seq queue.Seq) string {
		if q.schedule == nil {
			return outcomeUnknown // a retry is the queue's: it is purged, or rejected
		}
		if v.mutant != MutantForgetCancel {
			v.cancelOne(s, q, seq, out)
		}
		v.closeSchedule(s, q.object.Name, out)
		return outcomeCancelled
	})
}

// reschedule decides Reschedule. An instant that has passed fires with the next tick.
func (v *VHost) reschedule(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	after := c.Selection.At - s.Wall
	if after > ttlMax {
		return amqp.PreconditionFailed("messages wait for %d ms at most, not %d", int64(ttlMax), after)
	}
	at := max(s.at(c.Selection.At), s.Now)
	return v.eachScheduled(s, ch, c, out, func(q *queueState, seq queue.Seq) string {
		v.move(s, q, seq, at, out)
		return outcomeRescheduled
	})
}

// fireNow decides FireNow: what waits is due now.
func (v *VHost) fireNow(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	return v.eachScheduled(s, ch, c, out, func(q *queueState, seq queue.Seq) string {
		if q.schedule != nil {
			was := q.messages.Side(seq).Until
			v.fire(s, q, seq, out)
			v.lookAgain(q, seq, was)
		} else {
			v.resume(s, q, seq, out)
		}
		return outcomeFired
	})
}

// purgeSchedule decides PurgeSchedule.
func (v *VHost) purgeSchedule(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	name := c.Definition.Name
	q := v.schedules[name]
	if x := v.topo.Exchange(name); q == nil && (x == nil || !x.Delayed) {
		return amqp.NotFound("no schedule of an exchange '%s' in vhost '%s'", name, v.name)
	}
	answer := Command{Kind: PurgeSchedule, NoWait: c.NoWait}
	if q == nil {
		v.done(ch, &answer, out, Effect{})
		return nil
	}
	v.purgeInPortions(s, ch, q, out, func(s *Stamp, n uint64, out *Outcome) {
		v.traffic.Scheduled.Purged += n
		v.closeSchedule(s, name, out)
		v.done(ch, &answer, out, Effect{Count: n})
	})
	return nil
}
