package sim

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// step is what the checkers learn of one command.
type step struct {
	stamp    vhost.Stamp
	command  *vhost.Command
	channel  *clients.Channel // nil if it was not known before
	refused  *amqp.Error
	expected expectation

	portions    int           // of the machine's, so far
	batch       storage.Index // of the last
	facts       []fact.Fact
	effects     []vhost.Effect
	deliveries  []int // of effects, those that hand something over
	stored      []byte
	remembered  []byte
	deadLetters []*ledger.Entry // that no copy has died for yet
	arrivals    []*ledger.Entry // no dead letters, that nobody has published now, and that no scheduled one has fired for yet
	moved       bool            // dead letters have arrived
	structural  bool            // queues, exchanges or bindings have changed
	durable     bool            // one of these durably, before the answer
	settling    []settling
	over        []*ledger.Entry            // came back more often than their queue allows
	back        map[*ledger.Entry]bool     // came back
	sent        []sent                     // by a job, or by hand
	late        map[vhost.ChannelID]late   // what is overdue
	guilty      map[*clients.Consumer]bool // that hold it
	views       map[string]*vhost.QueueView
	overgrown   fact.QueueID // a queue whose consumers the publisher should wait for
}

// view shows a queue as it is after the command; nil if it is gone by then.
func (w *world) view(st *step, q *ledger.Line) *vhost.QueueView {
	v, known := st.views[q.Name]
	if !known {
		if now, ok := w.vhost.Reader().Queue(q.Name); ok && now.ID == q.ID {
			v = &now
		}
		st.views[q.Name] = v
	}
	return v
}

// publishes reports whether messages are published.
func (st *step) publishes() bool {
	k := st.command.Kind
	return k == vhost.Publish || k == vhost.CommitTx
}

// continues reports whether a restart goes on with what was committed, or on its way to very many queues.
func (w *world) continues(st *step) bool {
	return w.o.Portions > 0 && st.command.Kind == vhost.Recovered
}

// ticks reports whether a tick has come, by itself or to go on with the command.
func (st *step) ticks() bool { return st.command.Kind == vhost.Tick || st.portions > 1 }

// partial reports whether a commit closed its channel: a queue had no space for what it publishes.
func (st *step) partial() bool {
	return st.command.Kind == vhost.CommitTx && slices.ContainsFunc(st.effects, func(e vhost.Effect) bool {
		return e.Kind == vhost.Closed && e.Channel == st.command.Channel
	})
}

// stepOf is what the checkers know of a command before it is stepped.
func (w *world) stepOf(s vhost.Stamp, c *vhost.Command, x expectation) *step {
	return &step{
		stamp: s, command: c, channel: w.Channels[c.Channel], expected: x,
		views: map[string]*vhost.QueueView{}, back: map[*ledger.Entry]bool{},
	}
}

// audit looks at what a command, or one more portion of it, has led to, and applies it to the ledger.
func (w *world) audit(st *step) {
	facts, effects := w.out.Facts[w.looked.facts:], w.out.Effects[w.looked.effects:]
	w.looked.facts, w.looked.effects = len(w.out.Facts), len(w.out.Effects)
	before := len(st.effects)
	st.facts, st.effects = append(st.facts, facts...), append(st.effects, effects...)
	clear(st.views)
	st.deliveries = st.deliveries[:0]
	for i := before; i < len(st.effects); i++ {
		if k := st.effects[i].Kind; k == vhost.Deliver || k == vhost.DeliverGot {
			st.deliveries = append(st.deliveries, i)
		}
	}
	w.digest(st.command, st.refused, facts, effects)
	w.trace(st, facts)
	w.timedOut(st, effects)
	if st.portions == 1 {
		w.begun(st)
	} else if st.partial() && st.channel != nil {
		clear(st.channel.Consumers) // they have gone before anything was handed over, or expired, in this portion
	}
	for i := range facts {
		if k := facts[i].Kind; k <= fact.PolicyCleared || k == fact.Configured {
			st.structural, st.durable = st.structural || !w.ofSchedule(&facts[i]), st.durable || facts[i].Durable
		}
	}
	for i := range facts {
		if w.violation != nil {
			return
		}
		w.fact(st, &facts[i])
	}
	if len(st.deliveries) > 0 {
		w.violate(Answers, "%d deliveries without a message that left", len(st.deliveries))
	}
	for i := range effects {
		w.effect(st, &effects[i])
	}
	w.checkPaced(st)
	if st.portions == 1 {
		w.checkCommanded(st)
		w.backUncounted(st)
	}
}

// audited looks at a command when all that it leads to has been looked at.
func (w *world) audited(st *step) {
	w.resentNow(st)
	w.checkStrays(st)
	w.settled(st)
	w.checkOver(st)
	w.checkAnswered(st)
	w.checkExpected(st, st.facts)
	w.checkArrivals(st)
	w.checkCramped(st)
	w.checkState()
}

// fact checks a fact and applies it.
func (w *world) fact(st *step, f *fact.Fact) {
	w.result.Facts[f.Kind]++
	switch f.Kind {
	case fact.Stored:
		st.stored = f.Bytes
	case fact.Remembered:
		st.remembered = f.Bytes
	case fact.Enqueued:
		w.enqueued(st, f)
	case fact.Handed, fact.Returned, fact.Resumed, fact.Deferred, fact.Keyed, fact.Held, fact.PutOff, fact.Kept,
		fact.Arrived:
		if e := w.about(f); e != nil {
			w.copyFact(st, e, f)
		}
	case fact.Ended:
		for _, e := range w.aboutAll(f) {
			w.ended(st, e, f.Cause)
		}
	case fact.TxApplied, fact.TxReached:
		st.arrivals = nil // a commit goes on after a restart: nothing has fired for them
	case fact.JobBegun:
		w.jobBegun(st, f)
	case fact.JobProgressed:
		w.jobProgressed(st, f)
	case fact.JobForgotten:
		w.live.Structure(f)
	case fact.Configured:
		w.checkConfigured(st, f)
		w.live.Structure(f)
	case fact.QueueDeclared, fact.QueueDeleted:
		w.queueFact(st, f)
	}
}

// copyFact checks a fact about a copy that is there, and applies it.
func (w *world) copyFact(st *step, e *ledger.Entry, f *fact.Fact) {
	switch f.Kind {
	case fact.Handed:
		if e.Off {
			return
		}
		d := w.noteDelivery(st, e)
		e.Become(queue.Unacked)
		if d != nil {
			e.Holder = d
		}
	case fact.Returned:
		w.returned(st, e, f)
	case fact.Resumed:
		w.resumed(st, e)
	case fact.Deferred:
		w.moveTo(st, e, f)
	case fact.Keyed:
		w.giveKey(e)
	case fact.Arrived:
		w.arrived(st, e, f.At)
	case fact.Held:
		w.withheld(st, e, f)
	case fact.PutOff:
		w.putOff(st, e, f)
	case fact.Kept:
		w.stays(st, e)
	}
}

// queueFact checks a fact about a queue as a whole, and applies it.
func (w *world) queueFact(st *step, f *fact.Fact) {
	if f.Kind == fact.QueueDeclared {
		w.checkNumber(f)
	}
	if q := w.live.Lines[f.Queue]; q != nil && q.Kept != nil {
		w.closed(q)
	} else if q != nil {
		w.queueGone(st, q.Name)
	}
	w.live.Structure(f)
	w.letOrphansGo(st)
}

// checkNumber makes sure that no held dead letter takes a new queue for one that has it.
func (w *world) checkNumber(f *fact.Fact) {
	for q := range w.live.All() {
		if q.Counts[queue.Held] == 0 {
			continue
		}
		for _, e := range q.Copies {
			if e.State == queue.Held && slices.Contains(e.Took, f.Queue) {
				w.violate(Held, "message %d is held in %q, and a new queue gets the number %d of one that has it", e.Message, q.Name, f.Queue)
			}
		}
	}
}

// about finds the copy that a fact is about.
func (w *world) about(f *fact.Fact) *ledger.Entry {
	e := w.live.Find(f.Queue, f.Seq)
	if e == nil {
		w.violate(Replay, "fact %d is about copy %d of queue %d, which is not there", f.Kind, f.Seq, f.Queue)
	}
	return e
}

// aboutAll finds the copies that a fact is about: of a whole chunk of a queue, those that are there.
func (w *world) aboutAll(f *fact.Fact) (all []*ledger.Entry) {
	if f.N <= 1 {
		if e := w.about(f); e != nil {
			all = append(all, e)
		}
		return all
	}
	for s := f.Seq; s < f.Seq+queue.Seq(f.N); s++ {
		if e := w.live.Find(f.Queue, s); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// enqueued makes a copy.
func (w *world) enqueued(st *step, f *fact.Fact) {
	if !w.readContent(st, f.Entry.Ref(logID)) {
		return
	}
	hasHistory := f.Entry.Flags&queue.HasHistory != 0
	if hasHistory {
		w.remember(st, f.History)
	}
	// A transient copy of what was in the log before is the end of a copy there, which must be safe.
	at, ref := storage.Index(0), f.Entry.Ref(logID)
	if f.Durable || ref.Log == logID && ref.Index < st.stamp.Index {
		at = st.stamp.Index
	}
	e := w.entryOf(f, at, f.Durable)
	q := w.live.Line(f.Queue)
	m := w.Messages[e.Message]
	if !w.checkPlace(st, f, e, q) {
		return
	}
	w.live.Add(f.Queue, e)
	publishes := st.publishes()
	if publishes && !e.HasHistory && w.isOvergrown(q) {
		st.overgrown = q.ID
	}
	switch {
	case f.Queue == ledger.LostStoreID:
		w.checkStoredLost(st, e)
	case q.Kept != nil:
		w.postponed(st, e, m)
	default:
		w.checkDeadline(st, e, m)
		w.checkLane(e, m)
		if !publishes && !e.HasHistory {
			st.arrivals = append(st.arrivals, e)
		}
	}
	if f.Durable && !e.HasHistory && publishes {
		m.DurableAt = st.batch
	}
	if e.HasHistory {
		w.note("dead letter of message %d in %q, number %d: %v", e.Message, q.Name, e.Seq, e.Deaths)
		st.deadLetters, st.moved = append(st.deadLetters, e), true
	}
}

// readContent reads the record of a new copy, unless it is known, and compares it with what was published. It reports
// whether it can be read.
func (w *world) readContent(st *step, ref storage.Ref) bool {
	if _, known := w.contents[ref]; known {
		return true
	}
	stored := w.storedAt(st, ref)
	view, err := (&vhost.Delivered{Record: stored}).View()
	if err != nil || len(view.Body) < 8 {
		w.violate(Readable, "a record does not decode: %v", err)
		return false
	}
	c := content{message: binary.BigEndian.Uint64(view.Body), sum: maphash.Bytes(sumSeed, stored)}
	if m := w.Messages[c.message]; m == nil || !bytes.Equal(view.Body, m.Body) {
		w.violate(Readable, "the record of message %d has another body than published", c.message)
	} else {
		c.delayed = m.SaysDelayed(view.Properties)
		c.edited = string(view.Exchange) != m.Exchange || string(view.RoutingKey) != m.Keys[0]
	}
	w.contents[ref] = c
	return true
}

// checkPlace makes sure that a new copy may be in q under its number. It reports whether queue and message are there.
func (w *world) checkPlace(st *step, f *fact.Fact, e *ledger.Entry, q *ledger.Line) bool {
	ref := f.Entry.Ref(logID)
	switch {
	case q == nil:
		w.violate(Moves, "message %d went into queue %d, which is not there", e.Message, f.Queue)
		return false
	case w.Messages[e.Message] == nil:
		w.violate(Readable, "a copy in %q of message %d, which nobody has published", q.Name, e.Message)
		return false
	case e.Seq < q.Last[ledger.LaneOf(e.Seq)]:
		w.violate(Order, "message %d in %q has number %d, and %d was given before", e.Message, q.Name, e.Seq, q.Last[ledger.LaneOf(e.Seq)])
	case f.Durable && !q.Durable:
		w.violate(Replay, "a durable copy in %q, which is not", q.Name)
	}
	if f.Durable && ref.Index < st.stamp.Index && !w.continues(st) && !w.live.Keeps(ref) {
		w.violate(Replay, "message %d in %q is in the log, and its record in batch %d is kept for transient copies alone", e.Message, q.Name, ref.Index)
	}
	return true
}

// storedAt is the record of a new copy: what was stored last, or with a commit in portions what was stored for it then.
func (w *world) storedAt(st *step, ref storage.Ref) (record []byte) {
	switch {
	case ref.Log != logID:
		return st.stored
	case ref.Index == w.next:
		return w.out.Batch[ref.Offset : ref.Offset+ref.Size]
	}
	w.look(func() { record = w.Record(ref) })
	return record
}

// plainRecord is a message without anything, to render a history with.
var plainRecord = []byte{0, 0, 0, 0, 0, 0, 2, 0, 0}

// remember learns the deaths that a history holds.
func (w *world) remember(st *step, at storage.Ref) {
	if _, known := w.contents[at]; known {
		return
	}
	view, err := (&vhost.Delivered{Record: plainRecord, History: st.remembered, Dialect: vhost.DialectReasons}).View()
	if err != nil {
		w.violate(Deaths, "a history does not decode: %v", err)
		return
	}
	c := content{deaths: deathsOf(view.Properties), sum: maphash.Bytes(sumSeed, st.remembered)}
	if h, err := fact.ParseHistory(st.remembered); err == nil {
		c.resent, c.first = h.Redrive, h.First.Queue
	}
	w.contents[at] = c
}

// ended checks how a copy ends, and forgets it.
func (w *world) ended(st *step, e *ledger.Entry, cause fact.Cause) {
	w.result.Ended[cause]++
	e.Cause = cause
	if e.Line.Kept != nil {
		w.off(st, e)
		w.live.Remove(e)
		return
	}
	switch cause {
	case fact.Acked:
		if e.State != queue.Unacked {
			w.noteDelivery(st, e)
		}
	case fact.GonePurged:
		if e.State == queue.Unacked && !e.Off {
			w.violate(Answers, "message %d of %q was purged while somebody had it", e.Message, e.Line.Name)
		}
		if e.Line == w.live.LostStore && st.ticks() {
			w.sendsBack(st, e)
		} else if e.Line == w.live.LostStore && st.command.Kind != vhost.Discard {
			w.violate(LostStore, "dead letter %d of message %d was discarded, and nobody asked for that", e.Seq+1, e.Message)
		}
	case fact.Unscheduled:
		w.cancelled(st, e)
	case fact.GoneEvicted:
		w.checkEvicted(st, e)
	case fact.Redriven:
		if st.ticks() || st.command.Kind == vhost.Resend {
			w.sendsBack(st, e)
		} else {
			w.redriven(st, e)
		}
	case fact.Discarded:
		w.sendsBack(st, e)
	case fact.GoneRejected, fact.GoneExpired, fact.GoneMaxLen, fact.GoneLimit:
		w.cameBack(e)
		w.checkGone(st, e, cause)
	default:
		if w.discarded(st, e) {
			w.sendsBack(st, e)
			break
		}
		w.cameBack(e)
		w.moved(st, e, cause)
	}
	if e.Holder != nil {
		holderOf(e).LetGo()
	}
	w.live.Remove(e)
}

// effect checks one, when it is made.
func (w *world) effect(st *step, e *vhost.Effect) {
	ch := w.Channels[e.Channel]
	switch e.Kind {
	case vhost.Confirm, vhost.Refuse:
		if ch.Confirmed++; e.Tag != ch.Confirmed {
			w.violate(Answers, "publish %d is answered after %d", e.Tag, ch.Confirmed-1)
		}
		if m := w.Messages[ch.Publishes[e.Tag]]; e.Kind == vhost.Confirm && m != nil && e.After < m.DurableAt {
			w.violate(Release, "the confirm of publish %d waits for batch %d, its message is in %d", e.Tag, e.After, m.DurableAt)
		}
	case vhost.Done:
		if defines(e.Command) && st.durable && e.After < st.stamp.Index {
			w.violate(Release, "the answer to command %d waits for batch %d, what it tells is in %d", e.Command, e.After, st.stamp.Index)
		}
		if e.Command == vhost.CloseChannel && ch != nil {
			ch.Dead = true
		}
	case vhost.DeliverNone:
		if st.command.Definition == nil { // a get that a tick has gone on with
			return
		}
		q := w.live.Lines[w.QueueID(st.command.Definition.Name, ch)]
		if q != nil && q.Ready() > 0 && !st.moved && !w.offFull(q) {
			w.violate(Order, "a get on %q found nothing, %d are ready", q.Name, q.Ready())
		}
	case vhost.Cancelled:
		if ch != nil {
			delete(ch.Consumers, e.ConsumerTag)
		}
	case vhost.Closed:
		if ch != nil {
			ch.Dead = true
		}
		if _, overdue := st.late[e.Channel]; st.refused == nil && !overdue && !st.partial() {
			w.violate(Answers, "channel %d was closed for nothing", e.Channel)
		}
	}
}

// defines reports whether a command changes structures, so that its answer tells of all that became durable with it.
// Those that are answered for each message tell of that message alone: see checkCommanded.
func defines(k vhost.CommandKind) bool {
	return k >= vhost.DeclareExchange && k <= vhost.PurgeQueue || k >= vhost.SetPolicy && k <= vhost.SetOptions || k == vhost.PurgeSchedule
}
