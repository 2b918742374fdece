package vhost

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A transaction that is too large for one step is committed in portions, and still happens as a whole or not at all:
//
//	TxStaged …  TxCommitted  TxApplied …
//	 │           │            └ what it asks for happens, step by step, each portion in one batch with its facts
//	 │           └ from here on it will happen, over any restart
//	 └ what it asks for is in the log, and nothing has happened: a restart drops it
//
// The answer comes behind the last portion. While the transaction is applied, others see a part of it.
// Source: ours, decision 18.
type stagedTx struct {
	id        uint64
	committed bool
	resumed   bool // after a restart
	steps     []txStep
}

// txStep is a publish, or the settlement of up to txStepTags deliveries. One portion applies at the least one of them,
// or a part of one that rejects: what has died of it is not there any more when it is applied once more after a
// restart.
type txStep struct {
	command *Command // nil after a restart
	tags    []uint64 // likewise

	record  storage.Ref    // of a publish; zero if a restart forgets it
	targets []fact.QueueID // the queues that it goes to, if they are named: see spread
	kind    CommandKind    // of a settlement, 0: it is a publish
	flag    bool           // requeue
	runs    []run          // the durable messages that it settles
}

// txStepTags is how many deliveries a step of a transaction settles; txStepReturns if they return to their queues,
// where each may die of its delivery limit.
const txStepTags, txStepReturns = 1024, 32

// stepsOf divides what a transaction holds.
func stepsOf(held []heldCommand) (steps []txStep) {
	steps = make([]txStep, 0, len(held))
	for i := range held {
		h := &held[i]
		if h.command.Kind == Publish {
			steps = append(steps, txStep{command: &h.command})
			continue
		}
		most := txStepTags
		if h.command.Kind != Ack && h.command.Requeue {
			most = txStepReturns
		}
		for tags := range slices.Chunk(h.tags, most) {
			steps = append(steps, txStep{command: &h.command, tags: tags, kind: h.command.Kind, flag: h.command.Requeue})
		}
	}
	return steps
}

// commitInPortions stages a transaction of so many bytes, commits and applies it.
func (s *step) commitInPortions(ch *channel, c *Command, held []heldCommand, size int) {
	answer, steps := Command{Kind: CommitTx, NoWait: c.NoWait}, stepsOf(held)
	x := &stagedTx{id: s.nextTx()}
	staged, copies, committed, refused := 0, 0, false, false
	s.inPortions(ongoing{conn: ch.conn, commits: size, portion: func(s *step) bool {
		for ; staged < len(steps); staged++ {
			if s.full() {
				return true
			}
			n, err := s.stage(ch, x.id, &steps[staged])
			if copies += n; err == nil && copies > txCopiesMax {
				err = tooManyCopies()
			}
			if err != nil {
				s.emit(&fact.Fact{Kind: fact.TxDropped, Durable: true, N: x.id})
				s.closeFor(ch, CommitTx, err)
				return false
			}
		}
		if !committed {
			committed = true
			s.emit(&fact.Fact{Kind: fact.TxCommitted, Durable: true, N: x.id})
		}
		n := 0
		for ; n < len(steps) && !s.full(); n++ {
			full, done := s.applyStep(ch, &steps[n])
			if refused = refused || full; !done {
				break
			}
		}
		steps = steps[n:]
		s.emit(&fact.Fact{Kind: fact.TxApplied, Durable: true, N: x.id, Seq: queue.Seq(n)})
		switch {
		case len(steps) > 0:
			staged = len(steps) // all of them are
			return true
		case refused:
			s.closeFor(ch, CommitTx, partialCommit())
		default:
			s.done(ch, &answer, Effect{})
		}
		return false
	}})
}

// closeFor closes a channel for a command that was found wrong late.
func (s *step) closeFor(ch *channel, k CommandKind, err *amqp.Error) {
	if s.channels[ch.id] == nil {
		return // it has gone meanwhile
	}
	s.effect(Effect{Kind: Closed, Command: k, Channel: ch.id, Err: err, After: s.newest()})
	s.closeChannel(ch)
}

// nextTx is the number of a transaction that is staged: none that is has it.
func (v *VHost) nextTx() uint64 {
	if n := len(v.txs); n > 0 {
		return v.txs[n-1].id + 1
	}
	return 1
}

// stage writes a step of a transaction into the log, and tells how many copies it would make now.
func (s *step) stage(ch *channel, id uint64, step *txStep) (copies int, err *amqp.Error) {
	if step.kind != 0 {
		s.collectRuns(ch, step)
	} else if copies, err = s.stagePublish(ch, step); err != nil {
		return 0, err
	}
	s.emit(&fact.Fact{Kind: fact.TxStaged, Durable: true, N: id, Bytes: appendStep(nil, step)})
	return copies, nil
}

// stagePublish stores the message of a step, unless a restart forgets it.
func (s *step) stagePublish(ch *channel, step *txStep) (copies int, err *amqp.Error) {
	defer func(drawn uint64) { s.draws = drawn }(s.draws) // as in copies
	p, err := s.targetsOf(ch, step.command)
	if err != nil {
		return 0, err
	}
	copies = p.copies()
	s.work += copies * workOfEnd
	x := s.topo.Exchange(string(step.command.Exchange))
	if x == nil || x.Internal {
		return copies, nil
	}
	if p.persistent || slices.ContainsFunc(p.targets, func(q *queueState) bool { return q.quorum }) {
		step.record = s.recordOf(&p.message, true)
	}
	return copies, nil
}

// collectRuns notes which durable messages a step settles.
func (v *VHost) collectRuns(ch *channel, step *txStep) {
	for _, tag := range step.tags {
		d := ch.unacked.at(tag)
		if d == nil || d.queue.deleted || d.queue.messages.Entry(d.seq).Flags&queue.Persistent == 0 {
			continue
		}
		if n := len(step.runs); n == 0 || !step.runs[n-1].extend(d.queue.id, d.seq, 0) {
			step.runs = append(step.runs, run{d.queue.id, 0, d.seq, 1})
		}
	}
}

// applyStep does what a step of a committed transaction asks for. refused reports that a queue had no space; without
// done the rest is left to the next portion.
func (s *step) applyStep(ch *channel, step *txStep) (refused, done bool) {
	if step.kind == 0 {
		return s.publishHeld(step.record, ch, step.command), true
	}
	for len(step.tags) > 0 {
		if s.full() && step.rejects() {
			return false, false
		}
		s.settle(ch, step.tags[0], step.command)
		step.tags = step.tags[1:]
	}
	return false, true
}

// rejects reports whether a step lets messages die.
func (x *txStep) rejects() bool { return x.kind != 0 && rejects(x.kind, x.flag) }

// resumeTx drops the transactions that were not committed when the log ended, and applies those that were.
func (s *step) resumeTx() {
	for _, x := range slices.Clone(s.txs) {
		if !x.committed {
			s.emit(&fact.Fact{Kind: fact.TxDropped, Durable: true, N: x.id})
			continue
		}
		x.resumed = true
		for i := range x.steps {
			s.eachOf(&x.steps[i], func(q *queueState, seq queue.Seq, e *queue.Entry) {
				if e.State == queue.Ready {
					q.messages.Change(seq).Flags &^= queue.Handed
					q.messages.Take(seq) // nobody gets it before it is settled
				}
			})
		}
		s.inPortions(ongoing{conn: &conn{}, portion: func(s *step) bool {
			if len(x.steps) > 0 && x.steps[0].targets != nil {
				return s.resumeSpread(x.id, &x.steps[0])
			}
			n := 0
			for ; n < len(x.steps) && !s.full(); n++ {
				if !s.resumeStep(&x.steps[n]) {
					break
				}
			}
			more := n < len(x.steps)
			s.emit(&fact.Fact{Kind: fact.TxApplied, Durable: true, N: x.id, Seq: queue.Seq(n)})
			return more
		}})
	}
}

// resumeStep is applyStep after a restart.
func (s *step) resumeStep(step *txStep) (done bool) {
	if step.kind == 0 {
		if !step.record.IsZero() {
			s.publishStaged(step.record)
		}
		return true
	}
	done = true
	s.eachOf(step, func(q *queueState, seq queue.Seq, e *queue.Entry) {
		switch {
		case e.State != queue.Unacked, !done:
		case step.rejects() && s.full():
			done = false
		case step.kind == Ack:
			s.acked(q, seq)
			s.end(q, seq, fact.Acked)
		case step.flag:
			s.returnOne(q, seq, step.kind == Reject)
		default:
			s.deadLetter(q, seq, s.reasonOf(&Command{Kind: step.kind}), 0)
		}
		s.markDirty(q, 0)
	})
	return done
}

// publishStaged publishes a message of a transaction that lies in the log.
func (s *step) publishStaged(record storage.Ref) {
	m := s.readBack(record, storage.Ref{}, true)
	scan := m.scan()
	if scan.Expiration != nil {
		m.ttl, _ = settings.ParseExpiration(string(scan.Expiration)) // it was read before it was staged
	}
	if scan.Headers != nil {
		if m.askTime(&s.Stamp, scan.Headers) != nil {
			return
		}
		m.readFailure(scan.Headers)
	}
	x := s.topo.Exchange(string(m.content.Exchange))
	if x == nil || x.Internal {
		return
	}
	var targets []*queueState
	route := s.routeOf(x, &topology.Message{
		Key: m.content.Key, More: append(m.content.CC[:len(m.content.CC):len(m.content.CC)], m.content.BCC...),
		Properties: m.content.Properties, Headers: scan.Headers, Early: m.early(), Entropy: s.draw(),
	}, nil)
	for _, id := range route.Queues {
		if q := s.queues[id]; m.persistent || q.quorum {
			targets = append(targets, q)
		}
	}
	if len(route.Delayed) > 0 && m.delayRefusal != nil {
		return
	}
	s.keepRecent(&m, route.Recent)
	if len(route.Delayed) > 0 {
		s.postpone(route.Delayed, &m)
	}
	s.deliverTo(targets, &m, 0)
}

// eachOf calls fn for each durable message that a step settles and that is there.
func (v *VHost) eachOf(step *txStep, fn func(*queueState, queue.Seq, *queue.Entry)) {
	for _, r := range step.runs {
		for i := range r.n {
			q := v.queues[r.queue]
			if q == nil {
				break
			}
			if e := q.messages.Entry(r.seq + queue.Seq(i)); e != nil {
				fn(q, r.seq+queue.Seq(i), e)
			}
		}
	}
}

// txOf finds a staged transaction, which may be none.
func (v *VHost) txOf(id uint64) *stagedTx {
	i := slices.IndexFunc(v.txs, func(x *stagedTx) bool { return x.id == id })
	if i < 0 {
		return nil
	}
	return v.txs[i]
}

// txStaged applies TxStaged.
func (v *VHost) txStaged(f *fact.Fact) {
	x := v.txOf(f.N)
	if x == nil {
		x = &stagedTx{id: f.N}
		v.txs = append(v.txs, x)
	}
	r := fact.Decoder{Rest: f.Bytes}
	step := readStep(&r, v.log)
	v.retain(step.record, true)
	v.numbers(step.targets, true)
	x.steps = append(x.steps, step)
}

// txApplied applies TxApplied: n steps more are done.
func (v *VHost) txApplied(id, n uint64) {
	x := v.txOf(id)
	if x == nil {
		return
	}
	n = min(n, uint64(len(x.steps)))
	v.releaseSteps(x.steps[:n])
	if x.steps = x.steps[n:]; len(x.steps) == 0 {
		v.forgetTx(x)
	}
}

// txDropped applies TxDropped.
func (v *VHost) txDropped(id uint64) {
	if x := v.txOf(id); x != nil {
		v.releaseSteps(x.steps)
		v.forgetTx(x)
	}
}

func (v *VHost) releaseSteps(steps []txStep) {
	for i := range steps {
		v.release(steps[i].record, true)
	}
}

func (v *VHost) forgetTx(x *stagedTx) {
	v.txs = slices.DeleteFunc(v.txs, func(o *stagedTx) bool { return o == x })
}

// appendTxs adds the facts about all staged transactions.
func (v *VHost) appendTxs(b []byte) []byte {
	for _, x := range v.txs {
		for i := range x.steps {
			b = fact.Append(b, &fact.Fact{Kind: fact.TxStaged, N: x.id, Bytes: appendStep(nil, &x.steps[i])}, 0)
		}
		if x.committed {
			b = fact.Append(b, &fact.Fact{Kind: fact.TxCommitted, N: x.id}, 0)
		}
	}
	return b
}

// A step as bytes: what(1: 0 publish, 4 publish to named queues, else the settlement: 1 ack, 2 nack, 3 reject), then
// the ref of the record, with 4 count, queue × count; or requeue(1), count, (queue, seq, n) × count.
func appendStep(b []byte, x *txStep) []byte {
	if x.targets != nil {
		b = fact.AppendRef(append(b, txSpread), x.record)
		b = binary.AppendUvarint(b, uint64(len(x.targets)))
		for _, id := range x.targets {
			b = binary.AppendUvarint(b, uint64(id))
		}
		return b
	}
	b = append(b, txKinds[x.kind])
	if x.kind == 0 {
		return fact.AppendRef(b, x.record)
	}
	b = append(b, fact.Bits(x.flag))
	b = binary.AppendUvarint(b, uint64(len(x.runs)))
	for _, r := range x.runs {
		b = binary.AppendUvarint(b, uint64(r.queue))
		b = binary.AppendUvarint(b, uint64(r.seq))
		b = binary.AppendUvarint(b, r.n)
	}
	return b
}

const txSpread = 4 // beside those of txKinds

var txKinds = map[CommandKind]byte{0: 0, Ack: 1, Nack: 2, Reject: 3}

func readStep(r *fact.Decoder, log storage.LogID) (x txStep) {
	what := r.Byte()
	if what == 0 {
		if x.record = fact.ParseRef(r, log); x.record.Size == 0 {
			x.record = storage.Ref{}
		}
		return x
	}
	if what == txSpread {
		x.record = fact.ParseRef(r, log)
		x.targets = []fact.QueueID{}
		for n := r.Uint(); n > 0 && r.Err == nil; n-- {
			x.targets = append(x.targets, fact.QueueID(r.Uint()))
		}
		return x
	}
	x.kind = [4]CommandKind{0, Ack, Nack, Reject}[what&3]
	x.flag = r.Byte() != 0
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		x.runs = append(x.runs, run{fact.QueueID(r.Uint()), 0, queue.Seq(r.Uint()), r.Uint()})
	}
	return x
}

// checkStep reports what is wrong with a step that was read.
func checkStep(p []byte) error {
	r := fact.Decoder{Rest: p}
	if what := r.Byte(); what > txSpread {
		return fmt.Errorf("unknown step %d of a transaction", what)
	}
	r = fact.Decoder{Rest: p}
	readStep(&r, 0)
	return r.Err
}
