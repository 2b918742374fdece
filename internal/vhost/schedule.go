package vhost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A schedule keeps the messages that one delayed exchange has taken and that are not due. It is a queue without a name,
// consumers or policies, in the log whatever the exchange and its messages say; its messages wait in the pages of
// queues. It belongs to the name of the exchange: one that is deleted and declared anew finds it again. The first
// message makes it; it goes when the exchange is gone and it is empty.
//
// A message on it is one copy. Firing ends that copy and makes one for each target, of the same record: the header was
// negated when the message came. Source: docs/compat/delayed-exchange.md; ours, decision 14.
const scheduleType = "schedule"

// delayedMax is the argument of a delayed exchange that bounds how many messages wait in it: more are refused.
const delayedMax = "x-delayed-max-length"

// ScheduledID names a scheduled message, or one that waits in a queue, for ever: no other has it.
type ScheduledID struct {
	Schedule fact.QueueID
	Number   uint64
}

// String is the ID as the API shows it.
func (id ScheduledID) String() string { return fmt.Sprintf("%d-%d", id.Schedule, id.Number) }

// ParseScheduledID reads what String wrote.
func ParseScheduledID(text string) (id ScheduledID, ok bool) {
	schedule, number, ok := strings.Cut(text, "-")
	q, err := strconv.ParseUint(schedule, 10, 32)
	n, err2 := strconv.ParseUint(number, 10, 64)
	id = ScheduledID{fact.QueueID(q), n}
	return id, ok && err == nil && err2 == nil && id.String() == text
}

// postpone puts m on the schedule of each delayed exchange that keeps it, until its delay has passed. refused: one has
// as many as it may.
func (s *step) postpone(keepers []*topology.Exchange, m *message) (kept []ScheduledID, refused bool) {
	later := *m
	later.content.Properties = negated(m.content.Properties, m.delay)
	later.record, later.recordVolatile, later.scanned = storage.Ref{}, storage.Ref{}, false
	for _, x := range keepers {
		if s.isFull(x, m) {
			refused = true
			s.traffic.Scheduled.Full++
			continue
		}
		q := s.scheduleOf(x.Name)
		f := fact.Fact{Kind: fact.Enqueued, Durable: true, Queue: q.id, Seq: q.messages.Next(0), At: s.From + deadline.Instant(m.delay)}
		ref := s.recordOf(&later, true)
		f.Entry = queue.Entry{Index: ref.Index, Offset: ref.Offset, Size: ref.Size, BodyBytes: m.body.size()}
		f.Entry.Flags = later.historyFlags()
		s.flag(q, &f.Entry, ref, true, m.reportsFailure)
		if later.history != nil {
			f.History = s.historyOf(&later, true)
		}
		s.emit(&f)
		if later.name != "" {
			s.giveKey(q, f.Seq, later.name)
		}
		q.flow.Published++
		s.traffic.Scheduled.Published++
		kept = append(kept, ScheduledID{q.id, uint64(f.Seq)})
	}
	return kept, refused
}

// isFull reports whether as much waits in a delayed exchange as may. What takes the place of another is no more.
func (v *VHost) isFull(x *topology.Exchange, m *message) bool {
	a, bounded := x.Arguments.Get(delayedMax)
	q := v.schedules[x.Name]
	if !bounded || int64(q.waiting()) < settings.Whole(a) {
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
func (s *step) scheduleOf(exchange string) *queueState {
	if q := s.schedules[exchange]; q != nil {
		return q
	}
	o := &fact.Object{Name: exchange, Type: scheduleType, Durable: true}
	s.emit(&fact.Fact{Kind: fact.QueueDeclared, Durable: true, Queue: s.queueMax + 1, Object: o})
	return s.schedules[exchange]
}

// addSchedule applies the making of a schedule.
func (v *VHost) addSchedule(q *queueState) {
	q.settings = v.share(Settings{TTL: -1, Expires: -1, MaxLength: -1, MaxLengthBytes: -1, DeliveryLimit: -1})
	q.schedule = &schedule{keys: keys{count: &v.keyCount}}
	v.schedules[q.object.Name] = q
}

// closeSchedule takes an empty schedule away whose exchange is gone.
func (s *step) closeSchedule(exchange string) {
	q, x := s.schedules[exchange], s.topo.Exchange(exchange)
	if q != nil && (x == nil || !x.Delayed) && q.waiting() == 0 {
		s.emit(&fact.Fact{Kind: fact.QueueDeleted, Durable: true, Queue: q.id})
	}
}

// fire routes a message of a schedule as its exchange does now, and ends it there. What finds no place is a lost
// letter.
// Source: docs/compat/delayed-exchange.md#3, #6, #8.
func (s *step) fire(q *queueState, seq queue.Seq) {
	m := s.loadMessage(q, seq)
	if m.history == nil || m.history.Redrive.Restored {
		m.applyExpiration(&s.Stamp)
	}
	p := passage{}
	if x := s.topo.Exchange(q.object.Name); x == nil {
		s.storeDue(q, &m, fact.LostExchange, "", &p)
	} else {
		route := s.routeDue(x, &m)
		s.keepRecent(&m, route.Recent)
		if len(route.Queues) == 0 {
			s.storeDue(q, &m, fact.LostRoute, "", &p)
		}
		for _, id := range route.Queues {
			s.arrive(q, s.queues[id], &m, &p)
		}
	}
	cause := fact.Fired
	if !p.placed && p.lost != 0 {
		cause = p.lost
	}
	if p.placed && p.stored == 0 {
		s.traffic.Scheduled.Released++
	} else {
		s.traffic.Scheduled.Lost++
	}
	s.end(q, seq, cause)
	s.closeSchedule(q.object.Name)
}

// routeDue asks the topology where a message goes that is due. The slice is good until the next time that it is asked
// here.
func (s *step) routeDue(x *topology.Exchange, m *message) topology.Route {
	if m.history != nil {
		return s.routeByHistory(x, m)
	}
	return s.routeBy(x, m, s.draw())
}

// routeBy is routeDue for a message that never died, with the bits by which exchanges choose.
func (v *VHost) routeBy(x *topology.Exchange, m *message, entropy uint64) topology.Route {
	t := topology.Message{
		Key: m.content.Key, More: append(m.content.CC[:len(m.content.CC):len(m.content.CC)], m.content.BCC...),
		Properties: m.content.Properties, Headers: m.scan().Headers, Entropy: entropy,
	}
	route := v.routeOf(x, &t, v.dueRoute[:0])
	v.dueRoute = route.Queues
	return route
}

// storeDue puts a message that came due and finds no place in the lost store, as a lost letter without
// deaths.
func (s *step) storeDue(from *queueState, m *message, cause fact.Cause, target string, p *passage) {
	lost := *m
	h := fact.History{Keys: m.content.Keys(), Share: fact.DeadLettersMax}
	if m.history != nil {
		h = *m.history
	}
	h.Exchange = from.object.Name // where it was going: other exchanges on its way have passed it on
	lost.history, lost.historyRef, lost.historyVolatile = &h, storage.Ref{}, storage.Ref{}
	s.storeOrLose(from, &lost, cause, target, p)
}

// arrive puts what was fired into one of its targets.
func (s *step) arrive(from, to *queueState, m *message, p *passage) {
	switch {
	case m.history != nil && m.history.Cycles(to.object.Name, m.history.Last.Reason):
		s.storeDue(from, m, fact.LostCycle, to.object.Name, p)
	case !to.refuses(m):
		s.enqueue(to, m)
		s.markDirty(to, 0)
		p.placed = true
	case to.settings.PassesOn():
		beyond := s.deadLetterOnReject(to, m, 1)
		p.placed, p.lost = p.placed || beyond.placed, max(p.lost, beyond.lost)
	default:
		s.storeDue(from, m, fact.LostRefused, to.object.Name, p)
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
func (s *step) eachScheduled(ch *channel, c *Command, do func(*queueState, queue.Seq) string) *amqp.Error {
	if len(c.Selection.Scheduled) > SelectionMax {
		return amqp.PreconditionFailed("%d messages exceed the limit of %d per command", len(c.Selection.Scheduled), SelectionMax)
	}
	n := uint64(0)
	for _, id := range c.Selection.Scheduled {
		q, seq, outcome := s.waits(id)
		if q != nil {
			if outcome = do(q, seq); outcome != outcomeRetry {
				n++
			}
		}
		s.effect(Effect{Kind: Answered, Command: c.Kind, Channel: ch.id, Tag: id.Number, Name: outcome, After: s.newest()})
	}
	s.done(ch, c, Effect{Count: n})
	return nil
}

// cancelOne ends a message that waits for its time.
func (s *step) cancelOne(q *queueState, seq queue.Seq) {
	was := q.messages.Side(seq).Until
	if q.schedule != nil {
		s.traffic.Scheduled.Cancelled++
	} else {
		q.flow.Purged++
		s.markDirty(q, 0)
	}
	s.end(q, seq, fact.Unscheduled)
	s.lookAgain(q, seq, was)
}

// move lets what waits wait until another instant.
func (s *step) move(q *queueState, seq queue.Seq, at deadline.Instant) {
	was := q.messages.Side(seq).Until
	if q.schedule != nil {
		s.traffic.Scheduled.Rescheduled++
	}
	s.emit(&fact.Fact{Kind: fact.Deferred, Queue: q.id, Seq: seq, At: at, Durable: q.messages.Entry(seq).Flags&queue.Persistent != 0})
	s.lookAgain(q, seq, was)
}

// unschedule decides Unschedule.
func (s *step) unschedule(ch *channel, c *Command) *amqp.Error {
	return s.eachScheduled(ch, c, func(q *queueState, seq queue.Seq) string {
		if q.schedule == nil {
			if q.messages.Entry(seq).Flags&queue.Redelivered != 0 {
				return outcomeRetry // it is the queue's: it is purged, or rejected
			}
			s.cancelOne(q, seq)
			return outcomeCancelled
		}
		s.cancelOne(q, seq)
		s.closeSchedule(q.object.Name)
		return outcomeCancelled
	})
}

// reschedule decides Reschedule. An instant that has passed fires with the next tick.
func (s *step) reschedule(ch *channel, c *Command) *amqp.Error {
	after := c.Selection.At - s.Wall
	if after > settings.WaitMax {
		return amqp.PreconditionFailed("the maximum delay is %d ms, not %d", int64(settings.WaitMax), after)
	}
	at := max(s.at(c.Selection.At), s.Now)
	return s.eachScheduled(ch, c, func(q *queueState, seq queue.Seq) string {
		s.move(q, seq, at)
		return outcomeRescheduled
	})
}

// fireNow decides FireNow: what waits is due now.
func (s *step) fireNow(ch *channel, c *Command) *amqp.Error {
	return s.eachScheduled(ch, c, func(q *queueState, seq queue.Seq) string {
		if q.schedule != nil {
			was := q.messages.Side(seq).Until
			s.fire(q, seq)
			s.lookAgain(q, seq, was)
		} else {
			s.resume(q, seq)
		}
		return outcomeFired
	})
}

// purgeSchedule decides PurgeSchedule.
func (s *step) purgeSchedule(ch *channel, c *Command) *amqp.Error {
	name := c.Definition.Name
	q := s.schedules[name]
	if x := s.topo.Exchange(name); q == nil && (x == nil || !x.Delayed) {
		return amqp.NotFound("no scheduled messages of an exchange '%s' in vhost '%s'", name, s.name)
	}
	answer := Command{Kind: PurgeSchedule, NoWait: c.NoWait}
	if q == nil {
		s.done(ch, &answer, Effect{})
		return nil
	}
	s.purgeInPortions(ch, q, func(s *step, n uint64) {
		s.traffic.Scheduled.Purged += n
		s.closeSchedule(name)
		s.done(ch, &answer, Effect{Count: n})
	})
	return nil
}
