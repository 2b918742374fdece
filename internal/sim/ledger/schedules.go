package ledger

import (
	"maps"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ScheduleType is the type of the hidden queues that hold what waits in delayed exchanges.
const ScheduleType = "schedule"

// recall is what is known of messages that a schedule does not hold any more.
type recall struct {
	cancelled map[queue.Seq]bool
	below     queue.Seq // what became of those is not told, unless they were cancelled
}

func (r *recall) clone() *recall { return &recall{maps.Clone(r.cancelled), r.below} }

// note learns how a message ended.
func (r *recall) note(e *Entry) {
	switch e.Cause {
	case fact.Unscheduled:
		r.cancelled[e.Seq] = true
	case fact.GonePurged:
		r.below = max(r.below, e.Seq+1)
	}
}

// Outcome tells how a message ended that is not there.
func (q *Line) Outcome(s queue.Seq) string {
	switch {
	case q.Kept.cancelled[s]:
		return "cancelled"
	case s < q.Kept.below || s >= q.Last[0]:
		return "unknown"
	}
	return "already_fired"
}

// Waits finds what an ID names, or tells what became of it.
func (l *Ledger) Waits(id vhost.ScheduledID) (e *Entry, gone string) {
	q := l.Lines[id.Schedule]
	if q == nil {
		return nil, "unknown"
	}
	if e := q.Copies[queue.Seq(id.Number)]; e != nil && e.State == queue.Waiting {
		return e, ""
	}
	if q.Kept == nil {
		return nil, "unknown"
	}
	return nil, q.Outcome(queue.Seq(id.Number))
}

// Queues counts the lines that are no schedules.
func (l *Ledger) Queues() (n int) {
	for _, q := range l.Lines {
		if q.Kept == nil {
			n++
		}
	}
	return n
}

// Scheduled counts the messages on schedules.
func (l *Ledger) Scheduled() (n int) {
	for _, q := range l.Lines {
		if q.Kept != nil {
			n += len(q.Copies)
		}
	}
	return n
}

// ScheduleOf finds the schedule of an exchange.
func (l *Ledger) ScheduleOf(exchange string) *Line {
	for _, q := range l.Lines {
		if q.Kept != nil && q.Name == exchange {
			return q
		}
	}
	return nil
}
