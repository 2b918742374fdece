package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// A Calendar counts what waits in delayed exchanges by when it is due: in stretches of equal length, in portions
// between which the virtual host serves others. It goes through the chunks of messages as they came and reads those
// alone of which something is due before the end. A message stays in its chunk, so each is counted once; what comes,
// moves or leaves meanwhile is counted as it is when its chunk is read, or not at all.
type Calendar struct {
	from, until deadline.Instant
	bucket      deadline.Instant
	late        deadline.Instant // what is due before is overdue
	DueCounts
}

// DueCounts are what a Calendar has counted.
type DueCounts struct {
	Buckets []DueCount // the k-th: due from From + k times the length on; the last one ends at Until
	Before  int        // messages due before From
	After   int        // due at Until or later
	Overdue int        // of all, due before the instant that counts as now
}

// A DueCount is what is due in a stretch of time.
type DueCount struct {
	Messages int
	Bytes    int64 // of bodies
}

// NewCalendar is empty, and has stretches of bucket ms from an instant until another one; what is due before late is
// overdue. All are in vhost time. Until is later than from, and bucket above 0.
func NewCalendar(from, until, bucket, late Instant) *Calendar {
	c := &Calendar{from: from, until: until, bucket: bucket, late: late}
	c.Buckets = make([]DueCount, (until-from-1)/bucket+1)
	return c
}

// CountSome goes on with a calendar at a message of a schedule, ID's, or behind it, and reads up to so many chunks.
// Next is where to go on; more is false at the end of the schedule.
func (r Reader) CountSome(c *Calendar, id ScheduledID, chunks int) (next ScheduledID, more bool) {
	q := r.v.queues[id.Schedule]
	if q == nil || q.schedule == nil {
		return id, false
	}
	most := max(c.until, c.late)
	for work := chunks * skipsPerRead; work > 0; work-- {
		chunk, live, due, ok := q.messages.ChunkFrom(queue.Seq(id.Number))
		if !ok {
			return id, false
		}
		if due >= most {
			c.After += live
		} else {
			work -= skipsPerRead - 1
			q.messages.Look(chunk, func(_ queue.Seq, e *queue.Entry, side *queue.Side) { c.count(e, side) })
		}
		id.Number = uint64(chunk) + queue.ChunkLen
	}
	return id, true
}

// skipsPerRead is about how many chunks are passed by in the time in which one is read.
const skipsPerRead = 64

func (c *Calendar) count(e *queue.Entry, side *queue.Side) {
	if e.State != queue.Waiting {
		return
	}
	if side.Until < c.late {
		c.Overdue++
	}
	switch {
	case side.Until < c.from:
		c.Before++
	case side.Until >= c.until:
		c.After++
	default:
		b := &c.Buckets[(side.Until-c.from)/c.bucket]
		b.Messages++
		b.Bytes += int64(e.BodyBytes)
	}
}
