package sim

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// ledger is the slow and obvious version of what queues and the shelf hold.
type ledger struct {
	lines   map[vhost.QueueID]*line
	shelf   *line
	options amqp.Table      // of the vhost, as set
	made    uint64          // durable copies
	ended   uint64          // of these
	evicted uint64          // letters of the shelf
	gone    map[uint64]bool // messages of which a durable copy has ended
	jobs    map[vhost.JobID]*job
	lastJob vhost.JobID
}

// lostID is the number of the shelf among the queues.
const shelfID = vhost.QueueID(0)

// line is a queue, or the shelf.
type line struct {
	id      vhost.QueueID
	name    string
	durable bool
	quorum  bool
	kept    *recall // of a schedule; nil: it is none
	lanes   int64   // priorities, 0: none were declared
	copies  map[queue.Seq]*entry
	last    map[uint64]queue.Seq // by lane, the last ever given, plus 1
	counts  [queue.Held + 1]int
	bytes   [queue.Held + 1]int64
}

// entry is a copy of a message in a queue.
type entry struct {
	line        *line
	seq         queue.Seq
	message     uint64
	ref         storage.Ref
	history     storage.Ref
	deaths      []death
	resent      vhost.RedriveMark // of a letter
	first       string            // where it died first
	origin      uint32            // of a letter on the shelf: whose it is
	way         way               // of its last hop
	durable     bool
	letter      bool
	state       queue.State
	redelivered bool
	keyed       bool // it waits under its message's key
	handed      bool // was with a consumer when the machine was opened, and comes back
	kept        bool // in place, though it died in a cycle
	zero        int  // the step in which it may be delivered though its TTL is 0
	bytes       int64
	expireAt    deadline.Instant
	until       deadline.Instant // waiting
	at          storage.Index    // of the batch that made it
	holder      *delivery
	off         bool        // with nobody, until there is room for it to die
	offRejected bool        // for it was rejected
	offFailed   bool        // it is to return then, which counts as a failure
	cause       vhost.Cause // by which it has ended
	returned    int         // times
	acquired    uint32      // of these, those counted
	failed      uint32      // of these, the failed ones

	lost vhost.Cause                        // why it is held, or on the shelf
	took []vhost.QueueID                    // held: the targets that have it
	open map[vhost.QueueID]deadline.Instant // held: the targets that nothing blocks, since when
}

// way is where a hop has sent a message: known by what was seen of it.
type way struct {
	exchange string
	keys     []string // nil if unknown
	target   string   // the only one that lacks it, "" if not so
}

func laneOf(s queue.Seq) uint64 { return uint64(s) >> 56 }

func newLine(id vhost.QueueID, name string, durable bool) *line {
	return &line{id: id, name: name, durable: durable, copies: map[queue.Seq]*entry{}, last: map[uint64]queue.Seq{}}
}

func newLedger() *ledger {
	return &ledger{lines: map[vhost.QueueID]*line{}, shelf: newLine(shelfID, "", true), gone: map[uint64]bool{}, jobs: map[vhost.JobID]*job{}}
}

// clone copies l as it is after a restart: nobody has anything in hand.
func (l *ledger) clone() *ledger {
	c := newLedger()
	c.made, c.ended, c.evicted, c.options, c.gone, c.lastJob = l.made, l.ended, l.evicted, l.options, maps.Clone(l.gone), l.lastJob
	for id, j := range l.jobs {
		c.jobs[id] = &job{Job: j.Job}
	}
	for from := range l.all() {
		to := newLine(from.id, from.name, from.durable)
		to.quorum, to.lanes, to.counts, to.bytes = from.quorum, from.lanes, from.counts, from.bytes
		if from.kept != nil { // all of it is in the log
			to.kept, to.last = from.kept.clone(), maps.Clone(from.last)
		}
		for s, e := range from.copies {
			n := *e
			n.line, n.at, n.open = to, 0, nil // it is safe
			to.copies[s] = &n
			to.last[laneOf(s)] = max(to.last[laneOf(s)], s+1)
			e.handed = false // it comes back in what the copy sees next
		}
		if from == l.shelf {
			c.shelf = to
		} else {
			c.lines[from.id] = to
		}
	}
	return c
}

// all visits the queues, by number, and then the shelf.
func (l *ledger) all() func(func(*line) bool) {
	return func(yield func(*line) bool) {
		for _, id := range slices.Sorted(maps.Keys(l.lines)) {
			if !yield(l.lines[id]) {
				return
			}
		}
		yield(l.shelf)
	}
}

// line finds a queue, or the shelf; nil if it is not there.
func (l *ledger) line(id vhost.QueueID) *line {
	if id == shelfID {
		return l.shelf
	}
	return l.lines[id]
}

// find returns the copy at a place, nil if there is none.
func (l *ledger) find(q vhost.QueueID, s queue.Seq) *entry {
	if at := l.line(q); at != nil {
		return at.copies[s]
	}
	return nil
}

// keeps reports whether a durable copy refers to a record.
func (l *ledger) keeps(record storage.Ref) bool {
	for q := range l.all() {
		for _, e := range q.copies {
			if e.durable && e.ref == record {
				return true
			}
		}
	}
	return false
}

// durables counts the copies that a restart would find.
func (l *ledger) durables() (n uint64) {
	for q := range l.all() {
		for _, e := range q.copies {
			if e.durable {
				n++
			}
		}
	}
	return n
}

// head is the ready copy that is next: the smallest Seq of the highest lane.
func (q *line) head() *entry { return q.first(func(a, b uint64) bool { return a > b }) }

// lowest is the one that goes first where the least important goes: the smallest Seq of the lowest lane.
func (q *line) lowest() *entry { return q.first(func(a, b uint64) bool { return a < b }) }

func (q *line) first(before func(a, b uint64) bool) *entry {
	var best *entry
	for s, e := range q.copies {
		if e.state != queue.Ready {
			continue
		}
		if best == nil || before(laneOf(s), laneOf(best.seq)) || laneOf(s) == laneOf(best.seq) && s < best.seq {
			best = e
		}
	}
	return best
}

// seqs lists the copies in order.
func (q *line) seqs() []queue.Seq { return slices.Sorted(maps.Keys(q.copies)) }

func (q *line) ready() int { return q.counts[queue.Ready] }

// queued counts what a limit looks at: what is ready or waits, and held letters where those count.
func (q *line) queued(held bool) (n int, bytes int64) {
	n, bytes = q.counts[queue.Ready]+q.counts[queue.Waiting], q.bytes[queue.Ready]+q.bytes[queue.Waiting]
	if held {
		n, bytes = n+q.counts[queue.Held], bytes+q.bytes[queue.Held]
	}
	return n, bytes
}

// add makes a copy.
func (l *ledger) add(q vhost.QueueID, e *entry) {
	at := l.line(q)
	if at == nil {
		return
	}
	e.line, e.state = at, queue.Ready
	if e.until != 0 {
		e.state = queue.Waiting
	}
	at.copies[e.seq] = e
	at.counts[e.state]++
	at.bytes[e.state] += e.bytes
	at.last[laneOf(e.seq)] = max(at.last[laneOf(e.seq)], e.seq+1)
	if e.durable {
		l.made++
	}
}

// become moves a copy from its state to another.
func (e *entry) become(s queue.State) {
	e.line.counts[e.state]--
	e.line.bytes[e.state] -= e.bytes
	e.state = s
	e.line.counts[s]++
	e.line.bytes[s] += e.bytes
}

// remove ends a copy.
func (l *ledger) remove(e *entry) {
	delete(e.line.copies, e.seq)
	e.line.counts[e.state]--
	e.line.bytes[e.state] -= e.bytes
	if e.line.kept != nil {
		e.line.kept.note(e)
	}
	if e.cause == vhost.GoneShelf {
		l.evicted++
	}
	if e.durable {
		l.ended++
		l.gone[e.message] = true
	}
}

// structure folds what concerns whole queues, or the vhost.
func (l *ledger) structure(f *vhost.Fact) {
	switch f.Kind {
	case vhost.QueueDeclared:
		q := newLine(f.Queue, f.Object.Name, f.Object.Durable)
		q.quorum = f.Object.Type == "quorum"
		if f.Object.Type == scheduleType {
			q.kept = &recall{cancelled: map[queue.Seq]bool{}}
		}
		if a, ok := f.Object.Arguments.Get("x-max-priority"); ok {
			n, _ := a.Integer()
			q.lanes = max(n, 1)
		}
		l.lines[f.Queue] = q
	case vhost.QueueDeleted:
		if q := l.lines[f.Queue]; q != nil {
			for _, s := range q.seqs() {
				e := q.copies[s]
				if e.holder != nil {
					e.holder.orphan = true
				}
				l.remove(e)
			}
			delete(l.lines, f.Queue)
		}
	case vhost.JobBegun:
		j := vhost.JobOf(f)
		l.jobs[j.ID], l.lastJob = &job{Job: j}, max(l.lastJob, j.ID)
	case vhost.JobProgressed:
		if j := l.jobs[vhost.JobID(f.N)]; j != nil {
			bounds := j.Bounds
			j.Progress = vhost.JobOf(f).Progress
			j.Bounds = bounds
		}
	case vhost.JobForgotten:
		delete(l.jobs, vhost.JobID(f.N))
		l.lastJob = max(l.lastJob, vhost.JobID(f.N))
	case vhost.Configured:
		before := l.number("lost-letters-max-age")
		l.options = f.Object.Arguments
		for _, e := range l.shelf.copies {
			e.expireAt = max(e.expireAt+deadline.Instant(l.number("lost-letters-max-age")-before), 1)
		}
	}
}

// comeBack makes a copy ready again, or lets it wait.
func (e *entry) comeBack(until deadline.Instant) {
	e.redelivered, e.handed, e.holder, e.until = true, false, nil, until
	if until != 0 {
		e.become(queue.Waiting)
	} else {
		e.become(queue.Ready)
	}
}

// resume makes a copy ready that has waited.
func (e *entry) resume() {
	e.until = 0
	e.become(queue.Ready)
}

// hold makes a copy a held letter, or notes what has changed about one.
func (e *entry) hold(f *vhost.Fact, deaths []death) {
	if e.state != queue.Held {
		e.become(queue.Held)
	}
	e.off = false
	e.letter, e.redelivered, e.handed, e.expireAt, e.until = true, false, false, 0, 0
	e.history, e.deaths, e.lost, e.took = f.History, deaths, f.Cause, f.Took
}

// keep lets a copy stay where it is, for ever.
func (e *entry) keep() {
	e.kept, e.expireAt = true, 0
}
