package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// The shelf keeps the vhost's lost letters: dead letters that RabbitMQ would drop without a trace. It is the queue
// with number 0, which has no name and no consumers. Beside its record a letter on it has a slip: its history,
// and after that why it is there, since when, and for which queue it was.
//
//	slip = history cause at target
//
// Source: ours, design §1.4.
const shelfID QueueID = 0

// slip is what the shelf knows of a letter.
type slip struct {
	cause  Cause
	at     deadline.Instant
	target string // the queue that refused it, would have had it again, or gave it up; "" for other causes
}

func newShelf(pool *queue.Pool) *queueState {
	return &queueState{
		object: Object{Durable: true, Type: "classic"}, messages: queue.NewMessages(pool, uint32(shelfID), true, 0),
		settings: &Settings{TTL: -1, Expires: -1, MaxLength: -1, DeliveryLimit: -1},
	}
}

func appendSlip(b []byte, x slip) []byte {
	b = append(b, byte(x.cause))
	b = binary.AppendVarint(b, int64(x.at))
	return appendText(b, x.target)
}

func parseSlip(p []byte) (History, slip, error) {
	r := reader{rest: p}
	h, err := readHistory(&r)
	x := slip{cause: Cause(r.byte()), at: deadline.Instant(r.int()), target: r.text()}
	if err == nil {
		err = r.err
	}
	return h, x, err
}

// shelve puts a copy of m, a letter of from that found no place, on the shelf, and reports whether there is one.
func (v *VHost) shelve(s *Stamp, from *queueState, m *message, cause Cause, target string, out *Outcome) bool {
	kept := v.options.LostLettersMaxBytes > 0
	v.lose(from, cause, kept)
	if kept {
		v.putOnShelf(s, m, cause, target, out)
	}
	return kept
}

// putOnShelf makes a copy of m on the shelf, which there is.
func (v *VHost) putOnShelf(s *Stamp, m *message, cause Cause, target string, out *Outcome) {
	if v.mutant == MutantWrongCause {
		cause = LostRoute
	}
	durable := m.persistent || !m.record.IsZero()
	ref := v.recordOf(s, m, durable, out)
	if ref.Log == place.Volatile {
		ref = v.volatile.alone(v.volatile.read(ref))
		if out.Trace {
			out.Facts = append(out.Facts, Fact{Kind: Stored, Bytes: v.record(ref)})
		}
	}
	b := appendSlip(appendHistory(nil, m.history), slip{cause, s.Wall, target})
	f := Fact{Kind: Enqueued, Durable: durable, Queue: shelfID, Seq: v.shelf.messages.Next(0), N: uint64(m.origin(cause, target))}
	f.History = v.store(s, Remembered, durable, len(b), func(to []byte) []byte { return append(to, b...) }, out)
	f.Entry = queue.Entry{
		Index: ref.Index, Offset: ref.Offset, Size: ref.Size, BodyBytes: ref.Size + uint32(len(b)), Priority: uint8(cause),
		ExpireAt: s.From + deadline.Instant(v.options.LostLettersMaxAge), Flags: queue.Letter,
	}
	v.flag(s, v.shelf, &f.Entry, ref, durable, m.told)
	v.emit(s, &f, out)
	v.touch(v.shelf, 0)
	for v.shelf.messages.Bytes(queue.Ready) > v.options.LostLettersMaxBytes+shelfSlack { // many may come in one step
		loser, _ := v.loser()
		v.evict(s, loser, out)
	}
}

// loser is the letter that goes when the shelf is full.
func (v *VHost) loser() (seq queue.Seq, ok bool) {
	if v.mutant == MutantShelfUnfair {
		seq, _, ok = v.shelf.messages.Head()
		return seq, ok
	}
	return v.shares.loser()
}

// evict ends a letter that the shelf has no room or no time for any more.
func (v *VHost) evict(s *Stamp, seq queue.Seq, out *Outcome) {
	v.note(Loss{Cause: GoneShelf})
	v.end(s, v.shelf, seq, GoneShelf, out)
	v.touch(v.shelf, 0)
}

// A Selection names letters on the shelf, and where they shall go; or messages that wait, and when.
type Selection struct {
	IDs []uint64 // at most SelectionMax
	// Exchange and RoutingKey are where Republish sends the letters, if Elsewhere, with their own keys if KeepKeys; else
	// each goes where it was going.
	Elsewhere, KeepKeys  bool
	Exchange, RoutingKey string

	Scheduled []ScheduledID    // at most SelectionMax, of messages that wait
	At        deadline.Instant // wall clock, of Reschedule
}

// SelectionMax bounds a Selection, so that a command stays short.
const SelectionMax = 1000

// republish decides Republish: each letter leaves the shelf for all queues that its exchange routes it to, or stays
// and the answer says why. Source: ours, design §5.
func (v *VHost) republish(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	return v.eachSelected(s, ch, c, out, func(seq queue.Seq) string { return v.sendOn(s, seq, c.Selection, out) })
}

// discard decides Discard: letters leave the shelf for good.
func (v *VHost) discard(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	return v.eachSelected(s, ch, c, out, func(seq queue.Seq) string {
		v.end(s, v.shelf, seq, GonePurged, out)
		return "discarded"
	})
}

// eachSelected does something to each letter that c names, and answers for each.
func (v *VHost) eachSelected(s *Stamp, ch *channel, c *Command, out *Outcome, do func(queue.Seq) string) *amqp.Error {
	if len(c.Selection.IDs) > SelectionMax {
		return amqp.PreconditionFailed("%d letters are more than the %d that one command takes", len(c.Selection.IDs), SelectionMax)
	}
	n := uint64(0)
	for _, id := range c.Selection.IDs {
		outcome := "unknown"
		if seq, ok := v.onShelf(id); ok {
			outcome = do(seq)
			n++
		}
		out.effect(Effect{Kind: Answered, Command: c.Kind, Channel: ch.id, Tag: id, Name: outcome, After: v.newest(out)}, s.Index)
	}
	v.touch(v.shelf, 0)
	v.done(ch, c, out, Effect{Count: n})
	return nil
}

// sendOn publishes one letter of the shelf, and says what came of it.
func (v *VHost) sendOn(s *Stamp, seq queue.Seq, to *Selection, out *Outcome) string {
	m := v.recall(v.shelf, seq)
	h := *m.history
	if to.Elsewhere {
		h.Exchange = to.Exchange
		if !to.KeepKeys {
			h.Keys = []string{to.RoutingKey}
		}
	}
	h.Resent = h.Resent.again(0)
	m.history, m.letter, m.historyVolatile = &h, place.Ref{}, place.Ref{}
	targets, why := v.wayOn(s, seq, &m, to.Elsewhere)
	keepers := v.topo.Keepers()
	switch {
	case why != 0:
		return why.String()
	case len(keepers) > 0 && m.nonsense != nil:
		return LostRefused.String()
	}
	for _, q := range targets {
		if q.refuses(&m) {
			return LostRefused.String()
		}
	}
	if len(keepers) > 0 {
		if kept, _ := v.postpone(s, keepers, &m, out); kept == nil && targets == nil {
			return LostRefused.String()
		}
	}
	if len(h.Deaths) == 0 && !to.Elsewhere { // it was published, and did not die
		m.history = nil
	}
	for _, q := range targets {
		v.enqueue(s, q, &m, out)
		v.touch(q, 0)
	}
	if v.mutant != MutantRedriveCopy {
		v.end(s, v.shelf, seq, Redriven, out)
	}
	return Redriven.String()
}

// wayOn finds where a letter of the shelf goes. The copy that one queue did not get goes to that queue alone: the others
// that its exchange leads to have theirs. Another one goes through the dead-letter exchange that its queue has now, and
// if it has none, or is gone, through the one that it had: what was misspelt may have been mended since.
func (v *VHost) wayOn(s *Stamp, seq queue.Seq, m *message, elsewhere bool) (targets []*queueState, why Cause) {
	v.topo.ForgetWay()
	if target := v.lostLetter(seq).Target; target != "" && !elsewhere {
		q := v.queueNamed(target)
		if q == nil {
			return nil, LostRoute
		}
		return []*queueState{q}, 0
	}
	if q := v.queueNamed(m.history.Last.Queue); !elsewhere && q != nil && q.settings.hasDLX {
		q.settings.address(m.history)
	}
	x := v.topo.Exchange(m.history.Exchange)
	if x == nil {
		return nil, LostExchange
	}
	for _, id := range v.routeLetter(s, x, m) {
		targets = append(targets, v.queues[id])
	}
	if targets == nil && len(v.topo.Keepers()) == 0 {
		return nil, LostRoute
	}
	return targets, 0
}

// routeLetter asks the topology where a letter goes from x, by its history's keys.
func (v *VHost) routeLetter(s *Stamp, x *topology.Exchange, m *message) []QueueID {
	h := m.history
	headers := m.scan().Headers
	if headers != nil {
		m.delay, m.nonsense = delayOf(headers)
	}
	t := topology.Message{
		Key: []byte(h.Keys[0]), Properties: m.content.properties, Headers: headers, Extra: h.origins(v.options.Dialect), Early: m.early(), Entropy: v.luck(s, m),
	}
	for _, k := range h.Keys[1:] {
		t.More = append(t.More, []byte(k))
	}
	ids, _ := v.routeOf(x, &t, nil)
	return ids
}

// onShelf finds a letter by its ID: IDs begin with 1.
func (v *VHost) onShelf(id uint64) (queue.Seq, bool) {
	seq := queue.Seq(id - 1)
	return seq, id > 0 && v.shelf.messages.Entry(seq) != nil
}

// luck is the bits by which exchanges choose for a letter. They are the same each time that the letter is tried, so that
// a retry does not find another queue by chance.
func (v *VHost) luck(s *Stamp, m *message) uint64 {
	r := m.record
	if r.IsZero() {
		r = m.recordVolatile
	}
	if r.IsZero() {
		return v.chance(s)
	}
	return uint64(r.Index)<<32 ^ uint64(r.Offset)<<8 ^ uint64(m.history.total())
}

// LostLetter is a letter on the shelf as lists show it.
type LostLetter struct {
	ID         uint64
	Cause      Cause
	At         deadline.Instant // wall clock
	Target     string           // the queue that refused it, would have had it again or gave it up, or ""
	History    History          // Deaths is never empty; Exchange and Keys say where it was going
	Size       uint32           // of the record, bytes
	Persistent bool
}

// Shelf counts what is on the shelf.
type Shelf struct {
	Messages int
	Bytes    int64
	ByCause  [causes]uint64
	Evicted  uint64 // since the vhost was opened
}

// Shelf counts the lost letters.
func (v *VHost) Shelf() Shelf {
	m := v.shelf.messages
	return Shelf{Messages: m.Ready(), Bytes: m.Bytes(queue.Ready), ByCause: v.shelved, Evicted: v.books.Ended[GoneShelf]}
}

// LostLetters visits the letters on the shelf with an ID greater than after, oldest first, until visit returns
// false. Each costs a read of its slip.
func (v *VHost) LostLetters(after uint64, visit func(LostLetter) bool) {
	v.shelf.messages.Each(queue.Seq(after), func(seq queue.Seq, _ *queue.Entry) bool { return visit(v.lostLetter(seq)) })
}

// LostLetter shows one letter with its content, which is a copy.
func (v *VHost) LostLetter(id uint64) (LostLetter, View, bool) {
	seq, ok := v.onShelf(id)
	if !ok {
		return LostLetter{}, View{}, false
	}
	d := v.delivered(v.shelf, seq, v.shelf.messages.Entry(seq))
	d.Record = append([]byte(nil), v.record(d.Ref)...)
	d.History = append([]byte(nil), v.record(d.HistoryRef)...)
	view, err := d.View()
	if err != nil {
		panic(err) // our own bytes
	}
	return v.lostLetter(seq), view, true
}

func (v *VHost) lostLetter(seq queue.Seq) LostLetter {
	e := v.shelf.messages.Entry(seq)
	h, x, err := parseSlip(v.record(v.shelf.messages.Side(seq).History))
	if err != nil {
		panic(err) // our own bytes, under a checksum
	}
	return LostLetter{
		ID: uint64(seq) + 1, Cause: x.cause, At: x.at, Target: x.target, History: h, Size: e.Size,
		Persistent: e.Flags&queue.Persistent != 0,
	}
}
