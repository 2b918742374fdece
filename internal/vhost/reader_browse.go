package vhost

import (
	"bytes"
	"cmp"
	"math"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Seen is a message as somebody sees it who changes nothing: no order, flag or counter. It is good during the visit.
// What costs a read of the log (History, Head, Body) is read when it is asked for.
type Seen struct {
	// names it in its queue, or among the lost letters; greater than that of older ones of its priority
	ID          MessageID
	Queue       string // "" of a lost letter; of a scheduled one the exchange
	Lost        bool
	Scheduled   bool
	State       queue.State
	HasHistory  bool // it has a history
	DeadLetter  bool // what is scheduled is none, nor what a redrive returned to work, until it dies again
	Persistent  bool
	Redelivered bool
	Priority    uint8
	Returns     uint32           // deliveries that came back
	ExpireAt    deadline.Instant // vhost time, 0: never
	Until       deadline.Instant // vhost time, of one that waits
	Size        uint32           // of the record, bytes
	Cause       fact.Cause       // of one that is lost or held
	At          deadline.Instant // wall clock: since when a lost letter is there
	Target      string           // of a lost letter

	vhost   *VHost
	in      *queueState
	seq     queue.Seq
	entry   queue.Entry
	side    queue.Side
	history *fact.History
	view    View // without the body
	body    body
	viewed  bool
}

// A Glance is where to look, from which message on, and in which direction.
type Glance struct {
	Where
	After  MessageID // the ID behind which to begin; 0: the oldest, or the newest
	Newest bool      // backwards
	Looks  int       // messages to be looked at, at the most
}

// Browse visits messages of a queue, of the lost store or of a schedule, whatever their state, until visit says no or
// as many as may be were looked at. Next is what After has to be to go on, 0 at the end. ok is false if there is no
// such queue.
func (r Reader) Browse(g Glance, visit func(*Seen) bool) (next MessageID, ok bool) {
	q := r.v.whereabouts(g.Where)
	if q == nil {
		return 0, false
	}
	looks := max(g.Looks, 1)
	last := MessageID(0)
	each := func(seq queue.Seq, e *queue.Entry) bool {
		if looks == 0 {
			next = last
			return false
		}
		looks--
		last = idOf(seq)
		x := r.v.seen(q, seq, e)
		if !visit(&x) {
			next = last
			return false
		}
		return true
	}
	switch {
	case !g.Newest:
		q.messages.Each(seqOf(g.After)+1, each)
	case g.After > 0:
		q.messages.EachBack(seqOf(g.After), each)
	default:
		ends := q.messages.Ends()
		q.messages.EachBack(ends[len(ends)-1], each)
	}
	return next, true
}

// WithoutDeadLetters reports whether a queue or a schedule is there and has none, and lists the last ID that a message
// of it had, of each priority that had one.
func (r Reader) WithoutDeadLetters(w Where) (last []MessageID, ok bool) {
	q := r.v.whereabouts(w)
	if q == nil || w.Lost || w.Schedule == "" && q.deadLetters() > 0 {
		return nil, false
	}
	for priority, end := range q.messages.Ends() {
		if end > queue.First(priority) {
			last = append(last, idOf(end-1))
		}
	}
	return last, true
}

// Find shows one message. ok is false if it is not there.
func (r Reader) Find(w Where, id MessageID) (x Seen, ok bool) {
	q := r.v.whereabouts(w)
	if q == nil || id == 0 {
		return x, false
	}
	seq := seqOf(id)
	e := q.messages.Entry(seq)
	if e == nil {
		return x, false
	}
	return r.v.seen(q, seq, e), true
}

func (v *VHost) whereabouts(w Where) *queueState {
	switch {
	case w.Lost:
		return v.lost
	case w.Schedule != "":
		return v.schedules[w.Schedule]
	}
	return v.queueNamed(w.Queue)
}

func (v *VHost) seen(q *queueState, seq queue.Seq, e *queue.Entry) Seen {
	x := Seen{
		ID: idOf(seq), Queue: q.object.Name, Lost: q == v.lost, State: e.State, HasHistory: e.Flags&queue.HasHistory != 0,
		Persistent: e.Flags&queue.Persistent != 0, Redelivered: e.Flags&queue.Redelivered != 0, Priority: e.Priority,
		ExpireAt: e.ExpireAt, Size: e.Size, vhost: v, in: q, seq: seq, entry: *e, Scheduled: q.schedule != nil,
	}
	x.DeadLetter = x.Lost || !x.Scheduled && q.holdsAsDeadLetter(e)
	switch {
	case x.Lost:
		x.Cause = fact.Cause(e.Priority)
	case e.State == queue.Held:
		x.Cause = q.held[seq].cause
	}
	if x.Lost || x.HasHistory || x.DeadLetter || e.State == queue.Waiting || q.settings.Counts {
		x.side = q.messages.Side(seq)
		x.Until = x.side.Until
		if !x.Lost {
			x.Returns = x.side.Acquired
		}
	}
	return x
}

// Where is the place of a message.
func (x *Seen) Where() Where {
	switch {
	case x.Lost:
		return Where{Lost: true}
	case x.Scheduled:
		return Where{Schedule: x.Queue}
	}
	return Where{Queue: x.Queue}
}

// ScheduledID names a message that waits, as commands about those do.
func (x *Seen) ScheduledID() ScheduledID { return ScheduledID{x.in.id, uint64(x.seq)} }

// Bytes is the size of all that is kept of the message: of its record, and of its history.
func (x *Seen) Bytes() int64 { return int64(x.Size) + x.HistoryBytes() }

// HistoryBytes is the size of the history, 0 if there is none.
func (x *Seen) HistoryBytes() int64 {
	if !x.HasHistory {
		return 0
	}
	return int64(x.side.History.Size)
}

// History is what became of a dead letter, nil of a message that is none. It is the caller's.
func (x *Seen) History() *fact.History {
	if x.history != nil || !x.HasHistory {
		return x.history
	}
	p := x.vhost.record(x.side.History)
	var h fact.History
	var err error
	if x.Lost {
		var s lostInfo
		h, s, err = parseLostInfo(p)
		x.At, x.Target = s.at, s.target
	} else {
		h, err = fact.ParseHistory(p)
	}
	if err != nil {
		panic(err) // our own bytes, under a checksum
	}
	x.history = &h
	return x.history
}

// WholeHistory is History with what that leaves to the record, of which the head is read.
func (x *Seen) WholeHistory() *fact.History {
	h := x.History()
	if h == nil || h.IsComplete() {
		return h
	}
	head, _ := x.vhost.head(x.entry.Ref(x.vhost.log))
	var scan amqp.PropertyScan
	if err := scan.Scan(head.Properties); err != nil {
		panic(err) // it was scanned when it was published
	}
	h.Complete(scan.Expiration)
	return h
}

// Head is the message as a consumer would get it, without the body. It is lent.
func (x *Seen) Head() View {
	if !x.viewed {
		var c fact.Head
		c, x.body = x.vhost.head(x.entry.Ref(x.vhost.log))
		d := Delivered{Dialect: x.vhost.options.Dialect}
		if x.HasHistory {
			d.History = x.vhost.record(x.side.History)
		}
		if x.in.settings.Counts {
			d.Acquired, d.Count = x.side.Acquired, x.in.count(x.side)
		}
		view, _, err := (*Renderer)(nil).appendHead(&d, nil, &c, 0)
		if err != nil {
			panic(err) // our own bytes, under a checksum
		}
		x.view, x.viewed = view, true
	}
	return x.view
}

// Content is Head with the body. It is lent.
func (x *Seen) Content() View {
	v := x.Head()
	v.Body = x.Body(0, math.MaxInt)
	return v
}

// copy is the message with the first octets of the body, so many at the most. It is the caller's.
func (x *Seen) copy(most int) View {
	v := x.Head()
	return View{
		Exchange: bytes.Clone(v.Exchange), RoutingKey: bytes.Clone(v.RoutingKey),
		Properties: bytes.Clone(v.Properties), Body: bytes.Clone(x.Body(0, most)),
	}
}

// Body is up to n octets of the body, from offset on. It is lent. No more than these are read.
func (x *Seen) Body(offset, n int) []byte {
	x.Head()
	size := int(x.body.size())
	offset = min(offset, size)
	if n = min(n, size-offset); n == 0 {
		return nil
	}
	if x.body.at.IsZero() {
		return x.body.octets[offset : offset+n]
	}
	p := x.vhost.record(x.body.at.Behind(offset).First(n))
	if n == size {
		x.body = body{octets: p}
	}
	return p
}

// ForFilter returns what a filter with those needs reads of the message.
func (x *Seen) ForFilter(needs filter.Need) filter.Message {
	m := filter.Message{
		ID: x.ID, Queue: x.Queue, State: x.StateName(), Size: x.BodyBytes(),
	}
	if x.Cause != 0 {
		m.Cause = x.Cause.String()
	}
	if h := x.historyIf(needs&filter.Deaths != 0); h != nil {
		m.Reason, m.LastQueue = h.Last.Reason.String(), h.Last.Queue
		m.FirstReason, m.Source = h.First.Reason.String(), h.First.Queue
		m.Exchange, m.Keys = h.Exchange, h.Keys
		if d := h.FirstDeath(); d != nil {
			m.Exchange, m.Keys, m.Source = d.Exchange, d.Keys, d.Queue
		}
		m.Count, m.Redrives = h.Total(), int64(h.Redrive.Times)
		if h.Redrive.CameBack {
			m.CameBack = int64(h.Redrive.Job)
		}
		if x.Lost {
			m.Target, m.LostAt = x.Target, int64(x.At)
		}
	}
	if needs&(filter.Properties|filter.Body) != 0 || needs != 0 && !x.HasHistory {
		content := x.Head()
		if needs&filter.Body != 0 {
			content = x.Content()
		}
		if !x.HasHistory {
			m.Exchange, m.Keys = string(content.Exchange), []string{string(content.RoutingKey)}
		}
		m.Properties, m.Body = content.Properties, content.Body
	}
	if needs&filter.Deaths == 0 {
		return m
	}
	var f filter.Failure
	if x.Republished() {
		f = x.Failure()
		x.siftFailure(&f, &m)
	}
	m.At = x.diedAt(&f)
	return m
}

// Passes asks a filter, and reads of the message no more than it takes to know.
func (x *Seen) Passes(f *filter.Filter) bool {
	m, have := x.ForFilter(0), filter.Need(0)
	for _, part := range [...]filter.Need{filter.Deaths, filter.Properties, filter.Body} {
		if f.Needs()&part == 0 {
			continue
		}
		if f.Refuses(&m, have) {
			return false
		}
		have |= part
		m = x.ForFilter(have)
	}
	return f.Match(&m)
}

// Republished reports whether a message is a dead letter because a client has published it where failures go: its
// headers say so, or its queue is marked. The broker knows of no death of it.
func (x *Seen) Republished() bool {
	if x.entry.Flags&queue.ReportsFailure == 0 && !x.in.marked() || !x.DeadLetter {
		return false
	}
	h := x.History()
	return h == nil || len(h.Deaths) == 0
}

// siftFailure tells a filter where a message came from that a client has published where failures go.
func (x *Seen) siftFailure(f *filter.Failure, m *filter.Message) {
	m.Reason, m.FirstReason = filter.Republished, cmp.Or(f.FirstReason, filter.Republished)
	m.Source, m.Count = f.Queue, f.Deaths
	if !x.Lost { // its own last queue decides who may see it
		m.LastQueue = f.LastQueue
	}
	m.Redrives = max(m.Redrives, f.Redrives)
	if exchange, key, ok := f.Back(); ok {
		m.Exchange, m.Keys = exchange, []string{key}
	}
}

// DiedAt is since when the message is a dead letter, in ms since the Unix epoch: when it died last.
// Of one that a client has published it is when it failed, as its headers tell, or else when it
// arrived; of another lost letter, since when it is lost. 0: not known.
func (x *Seen) DiedAt() int64 {
	var f filter.Failure
	if x.Republished() {
		f = x.Failure()
	}
	return x.diedAt(&f)
}

// diedAt is DiedAt; f is what the headers tell of a message that is Republished.
func (x *Seen) diedAt(f *filter.Failure) int64 {
	died, lost := int64(0), int64(0)
	if h := x.History(); h != nil {
		died = h.DiedAt()
	}
	if x.Lost {
		lost = int64(x.At)
	}
	return cmp.Or(died, f.At, x.ArrivedAt(), f.Dated, lost)
}

// ArrivedAt is when a dead letter came of which the broker knows no death, in ms since the Unix
// epoch; 0 if the message is none, or was there before its queue was marked.
func (x *Seen) ArrivedAt() int64 {
	if h := x.History(); h != nil && len(h.Deaths) > 0 {
		return 0
	}
	return int64(x.side.Arrived)
}

// BodyBytes is the size of the payload. Of a lost letter the entry counts all that is kept of it.
func (x *Seen) BodyBytes() int64 {
	if x.Lost {
		x.Head()
		return int64(x.body.size())
	}
	return int64(x.entry.BodyBytes)
}

// Failure is what the headers of a message tell that is Republished.
func (x *Seen) Failure() filter.Failure {
	f, _ := filter.FailureOf(x.Head().Properties)
	return f
}

// historyIf is History if it is asked for, or known anyway.
func (x *Seen) historyIf(asked bool) *fact.History {
	if asked {
		return x.History()
	}
	return x.history
}

// StateName is the state as lists show it.
func (x *Seen) StateName() string {
	switch {
	case x.Lost:
		return "lost"
	case x.Scheduled:
		return "scheduled"
	case x.State == queue.Unacked:
		return "unacked"
	case x.State == queue.Waiting:
		return "waiting"
	case x.State == queue.Held:
		return "held"
	}
	return "ready"
}

// A MessageID names a message in its queue, or among the lost letters: no other there ever has it. It is greater than
// those of older messages of the same priority. Zero names none, and in lists comes before the first. It is a plain
// number, as in JSON, in search indexes and in the log; what turns it into a place in a queue is here alone.
type MessageID = uint64

// idOf is the ID of the message at a place.
func idOf(seq queue.Seq) MessageID { return MessageID(seq) + 1 }

// seqOf is the place of a message. That of 0 is never taken, and comes before the first.
func seqOf(id MessageID) queue.Seq { return queue.Seq(id - 1) }
