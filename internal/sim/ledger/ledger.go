// Package ledger is what the simulation remembers of what it was promised: the slow and obvious version of what
// queues, schedules and the lost store hold, and of the options and jobs of a virtual host, applied from facts by a
// handful of lines. It knows nothing of clients, of the disk, and of how the machine finds things.
package ledger

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Ledger is the slow and obvious version of what queues and the lost store hold.
type Ledger struct {
	Lines     map[fact.QueueID]*Line
	LostStore *Line
	Options   amqp.Table      // of the vhost, as set
	Made      uint64          // durable copies
	Ended     uint64          // of these
	Evicted   uint64          // lost letters
	Gone      map[uint64]bool // messages of which a durable copy has ended
	Jobs      map[fact.JobID]*Job
	LastJob   fact.JobID
}

// LostStoreID is the number of the lost store among the queues.
const LostStoreID = fact.QueueID(0)

// Line is a queue, or the lost store.
type Line struct {
	ID      fact.QueueID
	Name    string
	Durable bool
	Quorum  bool
	Kept    *recall // of a schedule; nil: it is none
	Lanes   int64   // priorities, 0: none were declared
	Copies  map[queue.Seq]*Entry
	Last    map[uint64]queue.Seq // by lane, the last ever given, plus 1
	Counts  [queue.Held + 1]int
	Bytes   [queue.Held + 1]int64

	DeadLetters int
}

// Entry is a copy of a message in a queue.
type Entry struct {
	Line        *Line
	Seq         queue.Seq
	Message     uint64
	Ref         storage.Ref
	History     storage.Ref
	Deaths      []Death
	Resent      fact.RedriveMark // of a dead letter
	First       string           // where it died first
	Origin      uint32           // of a lost letter: whose it is
	Way         Way              // of its last hop
	Durable     bool
	HasHistory  bool
	State       queue.State
	Redelivered bool
	Keyed       bool // it waits under its message's key
	Handed      bool // was with a consumer when the machine was opened, and comes back
	Kept        bool // in place, though it died in a cycle
	Zero        int  // the step in which it may be delivered though its TTL is 0
	ZeroIn      int  // in this portion of it
	Bytes       int64
	ExpireAt    deadline.Instant
	Until       deadline.Instant // waiting
	Arrived     deadline.Instant // when a client published it as a dead letter
	At          storage.Index    // of the batch that made it
	Holder      Holder           // nil: nobody has it
	Off         bool             // settled; dies or returns when the disk has space
	OffRejected bool             // it was rejected
	OffFailed   bool             // it is to return then, which counts as a failure
	Cause       fact.Cause       // by which it has ended
	Returned    int              // times
	Acquired    uint32           // of these, those counted
	Failed      uint32           // of these, the failed ones

	Lost fact.Cause                        // why it is held, or in the lost store
	Took []fact.QueueID                    // held: the targets that have it
	Open map[fact.QueueID]deadline.Instant // held: the targets that nothing blocks, since when
}

// Way is where a hop has sent a message: known by what was seen of it.
type Way struct {
	Exchange string
	Keys     []string // nil if unknown
	Target   string   // the only one that lacks it, "" if not so
}

// LaneOf is the priority that a number says.
func LaneOf(s queue.Seq) uint64 { return uint64(s) >> 56 }

func newLine(id fact.QueueID, name string, durable bool) *Line {
	return &Line{ID: id, Name: name, Durable: durable, Copies: map[queue.Seq]*Entry{}, Last: map[uint64]queue.Seq{}}
}

// New is the ledger of a virtual host without anything.
func New() *Ledger {
	return &Ledger{
		Lines: map[fact.QueueID]*Line{}, LostStore: newLine(LostStoreID, "", true),
		Gone: map[uint64]bool{}, Jobs: map[fact.JobID]*Job{},
	}
}

// Clone copies l as it is after a restart: nobody has anything in hand.
func (l *Ledger) Clone() *Ledger {
	c := New()
	c.Made, c.Ended, c.Evicted = l.Made, l.Ended, l.Evicted
	c.Options, c.Gone, c.LastJob = l.Options, maps.Clone(l.Gone), l.LastJob
	for id, j := range l.Jobs {
		c.Jobs[id] = &Job{Job: j.Job}
	}
	for from := range l.All() {
		to := newLine(from.ID, from.Name, from.Durable)
		to.Quorum, to.Lanes, to.Counts, to.Bytes = from.Quorum, from.Lanes, from.Counts, from.Bytes
		to.DeadLetters = from.DeadLetters
		if from.Kept != nil { // all of it is in the log
			to.Kept, to.Last = from.Kept.clone(), maps.Clone(from.Last)
		}
		for s, e := range from.Copies {
			n := *e
			n.Line, n.At, n.Open = to, 0, nil // it is safe
			to.Copies[s] = &n
			to.Last[LaneOf(s)] = max(to.Last[LaneOf(s)], s+1)
			e.Handed = false // it comes back in what the copy sees next
		}
		if from == l.LostStore {
			c.LostStore = to
		} else {
			c.Lines[from.ID] = to
		}
	}
	return c
}

// All visits the queues, by number, and then the lost store.
func (l *Ledger) All() func(func(*Line) bool) {
	return func(yield func(*Line) bool) {
		for _, id := range slices.Sorted(maps.Keys(l.Lines)) {
			if !yield(l.Lines[id]) {
				return
			}
		}
		yield(l.LostStore)
	}
}

// Line finds a queue, or the lost store; nil if it is not there.
func (l *Ledger) Line(id fact.QueueID) *Line {
	if id == LostStoreID {
		return l.LostStore
	}
	return l.Lines[id]
}

// Find returns the copy at a place, nil if there is none.
func (l *Ledger) Find(q fact.QueueID, s queue.Seq) *Entry {
	if at := l.Line(q); at != nil {
		return at.Copies[s]
	}
	return nil
}

// Keeps reports whether a durable copy refers to a record.
func (l *Ledger) Keeps(record storage.Ref) bool {
	for q := range l.All() {
		for _, e := range q.Copies {
			if e.Durable && e.Ref == record {
				return true
			}
		}
	}
	return false
}

// Durables counts the copies that a restart would find.
func (l *Ledger) Durables() (n uint64) {
	for q := range l.All() {
		for _, e := range q.Copies {
			if e.Durable {
				n++
			}
		}
	}
	return n
}

// Head is the ready copy that is next: the smallest Seq of the highest lane.
func (q *Line) Head() *Entry { return q.first(func(a, b uint64) bool { return a > b }) }

// Lowest is the one that goes first where the least important goes: the smallest Seq of the lowest lane.
func (q *Line) Lowest() *Entry { return q.first(func(a, b uint64) bool { return a < b }) }

func (q *Line) first(before func(a, b uint64) bool) *Entry {
	var best *Entry
	for s, e := range q.Copies {
		if e.State != queue.Ready {
			continue
		}
		if best == nil || before(LaneOf(s), LaneOf(best.Seq)) || LaneOf(s) == LaneOf(best.Seq) && s < best.Seq {
			best = e
		}
	}
	return best
}

// Seqs lists the copies in order.
func (q *Line) Seqs() []queue.Seq { return slices.Sorted(maps.Keys(q.Copies)) }

// Ready counts the ready copies.
func (q *Line) Ready() int { return q.Counts[queue.Ready] }

// Queued counts what a limit looks at: what is ready or waits, and held dead letters where those count.
func (q *Line) Queued(held bool) (n int, bytes int64) {
	n, bytes = q.Counts[queue.Ready]+q.Counts[queue.Waiting], q.Bytes[queue.Ready]+q.Bytes[queue.Waiting]
	if held {
		n, bytes = n+q.Counts[queue.Held], bytes+q.Bytes[queue.Held]
	}
	return n, bytes
}

// Add makes a copy.
func (l *Ledger) Add(q fact.QueueID, e *Entry) {
	at := l.Line(q)
	if at == nil {
		return
	}
	e.Line, e.State = at, queue.Ready
	if e.Until != 0 {
		e.State = queue.Waiting
	}
	at.Copies[e.Seq] = e
	at.Counts[e.State]++
	at.Bytes[e.State] += e.Bytes
	if e.DeadLetter() {
		at.DeadLetters++
	}
	at.Last[LaneOf(e.Seq)] = max(at.Last[LaneOf(e.Seq)], e.Seq+1)
	if e.Durable {
		l.Made++
	}
}

// DeadLetter reports whether a copy in a queue has died, and no job has returned it to work since then.
func (e *Entry) DeadLetter() bool { return e.HasHistory && !e.Resent.AtWork }

// Become moves a copy from its state to another.
func (e *Entry) Become(s queue.State) {
	e.Line.Counts[e.State]--
	e.Line.Bytes[e.State] -= e.Bytes
	e.State = s
	e.Line.Counts[s]++
	e.Line.Bytes[s] += e.Bytes
}

// Remove ends a copy.
func (l *Ledger) Remove(e *Entry) {
	delete(e.Line.Copies, e.Seq)
	e.Line.Counts[e.State]--
	e.Line.Bytes[e.State] -= e.Bytes
	if e.DeadLetter() {
		e.Line.DeadLetters--
	}
	if e.Line.Kept != nil {
		e.Line.Kept.note(e)
	}
	if e.Cause == fact.GoneEvicted {
		l.Evicted++
	}
	if e.Durable {
		l.Ended++
		l.Gone[e.Message] = true
	}
}

// Structure applies facts about whole queues, or the vhost.
func (l *Ledger) Structure(f *fact.Fact) {
	switch f.Kind {
	case fact.QueueDeclared:
		q := newLine(f.Queue, f.Object.Name, f.Object.Durable)
		q.Quorum = f.Object.Type == "quorum"
		if f.Object.Type == ScheduleType {
			q.Kept = &recall{cancelled: map[queue.Seq]bool{}}
		}
		if a, ok := f.Object.Arguments.Get("x-max-priority"); ok {
			n, _ := a.Integer()
			q.Lanes = max(n, 1)
		}
		l.Lines[f.Queue] = q
	case fact.QueueDeleted:
		if q := l.Lines[f.Queue]; q != nil {
			for _, s := range q.Seqs() {
				e := q.Copies[s]
				if e.Holder != nil {
					e.Holder.Orphaned()
				}
				l.Remove(e)
			}
			delete(l.Lines, f.Queue)
		}
	case fact.JobBegun:
		j := vhost.JobOf(f)
		l.Jobs[j.ID], l.LastJob = &Job{Job: j}, max(l.LastJob, j.ID)
	case fact.JobProgressed:
		if j := l.Jobs[fact.JobID(f.N)]; j != nil {
			bounds := j.Bounds
			j.Progress = vhost.JobOf(f).Progress
			j.Bounds = bounds
		}
	case fact.JobForgotten:
		delete(l.Jobs, fact.JobID(f.N))
		l.LastJob = max(l.LastJob, fact.JobID(f.N))
	case fact.Configured:
		before := l.Number("lost-letters-max-age")
		l.Options = f.Object.Arguments
		for _, e := range l.LostStore.Copies {
			e.ExpireAt = max(e.ExpireAt+deadline.Instant(l.Number("lost-letters-max-age")-before), 1)
		}
	}
}

// ComeBack makes a copy ready again, or lets it wait.
func (e *Entry) ComeBack(until deadline.Instant) {
	e.Redelivered, e.Handed, e.Holder, e.Until = true, false, nil, until
	if until != 0 {
		e.Become(queue.Waiting)
	} else {
		e.Become(queue.Ready)
	}
}

// Defer lets a copy that waits wait until another instant. The life of what was never delivered begins then.
func (e *Entry) Defer(until deadline.Instant) {
	if e.ExpireAt != 0 && !e.Redelivered {
		e.ExpireAt += until - e.Until
	}
	e.Until = until
}

// Resume makes a copy ready that has waited.
func (e *Entry) Resume() {
	e.Until = 0
	e.Become(queue.Ready)
}

// Hold makes a copy a held dead letter, or notes what has changed about one.
func (e *Entry) Hold(f *fact.Fact, deaths []Death) {
	if e.State != queue.Held {
		e.Become(queue.Held)
	}
	e.Off = false
	if !e.DeadLetter() {
		e.Line.DeadLetters++
	}
	e.Resent.AtWork = false
	e.HasHistory, e.Redelivered, e.Handed, e.ExpireAt, e.Until = true, false, false, 0, 0
	e.History, e.Deaths, e.Lost, e.Took = f.History, deaths, f.Cause, f.Took
}

// Keep lets a copy stay where it is, for ever.
func (e *Entry) Keep() {
	e.Kept, e.ExpireAt = true, 0
}

// Home is the queue in which the copy died first, "" if it never did.
func (e *Entry) Home() string {
	if e.First == "" && len(e.Deaths) > 0 {
		return e.Deaths[len(e.Deaths)-1].Queue
	}
	return e.First
}

// Counted is the counter that a queue looks at.
func (e *Entry) Counted(set *vhost.Settings) int64 {
	if set.CountFailed {
		return int64(e.Failed)
	}
	return int64(e.Acquired)
}

// OpenUnless is what is known of a dead letter's targets; nothing after a time in which none could move.
func (e *Entry) OpenUnless(cramped bool) map[fact.QueueID]deadline.Instant {
	if cramped {
		return nil
	}
	return e.Open
}

// Job is what is known of a redrive.
type Job struct {
	vhost.Job
	Since int64 // vhost time from which its rate is counted, 0: it has not gone on since it began or changed
	Sent  uint64
}

// Holder is who has a copy in hand.
type Holder interface {
	Orphaned() // the queue is gone, and the copy with it
}
