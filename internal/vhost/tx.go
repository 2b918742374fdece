package vhost

import (
	"bytes"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// transaction holds what a transactional channel asked for since its last commit.
type transaction struct {
	held    []heldCommand
	settled map[uint64]bool // tags that held settlements of one name
	through uint64          // held settlements of many name all that is outstanding up to here
	count   int             // of deliveries that held settlements name
	bytes   int
}

func newTransaction() *transaction { return &transaction{settled: map[uint64]bool{}} }

// heldCommand is a publish, or the settlement of tags.
type heldCommand struct {
	command Command // slices are its own
	tags    []uint64
}

// txRejectWeight is for how many copies a delivery counts that a transaction rejects: each dies by itself,
// and nobody knows before how far its dead letter has to be routed.
const txRejectWeight = 1 << 10

// weight is for how many copies a delivery counts that h settles.
func (h *heldCommand) weight() int {
	if rejects(h.command.Kind, h.command.Requeue) {
		return txRejectWeight
	}
	return 1
}

// selectTx decides tx.select. Source: AMQP tx.select; docs/compat/amqp-surface.md#14.
func (s *step) selectTx(ch *channel, c *Command) *amqp.Error {
	if ch.confirms {
		return amqp.PreconditionFailed("cannot switch from confirm to tx mode")
	}
	if ch.tx == nil {
		ch.tx = newTransaction()
	}
	s.done(ch, c, Effect{})
	return nil
}

func (s *step) selectConfirms(ch *channel, c *Command) *amqp.Error {
	if ch.tx != nil {
		return amqp.PreconditionFailed("cannot switch from tx to confirm mode")
	}
	ch.confirms = true
	s.done(ch, c, Effect{})
	return nil
}

// settles reports whether tx, which may be nil, holds a settlement of an outstanding delivery. What is delivered later
// has a greater tag.
func (tx *transaction) settles(tag uint64) bool {
	return tx != nil && (tag <= tx.through || tx.settled[tag])
}

// bufferInTx keeps a publish or a settlement until commit. What is wrong with it is refused now.
func (s *step) bufferInTx(ch *channel, c *Command) *amqp.Error {
	tx := ch.tx
	h := heldCommand{command: *c}
	if c.Kind == Publish {
		properties, err := s.checkHeld(ch, c)
		if err != nil {
			return err
		}
		k := &h.command
		k.Exchange, k.Key = bytes.Clone(c.Exchange), bytes.Clone(c.Key)
		if k.Properties = bytes.Clone(properties); c.Owned == nil {
			k.Body = bytes.Clone(c.Body)
		}
	} else {
		first, last, err := ch.tags(c)
		if err == nil && ch.unacked.at(c.Tag) != nil && tx.settles(c.Tag) {
			err = amqp.PreconditionFailed("unknown delivery tag %d", c.Tag)
		}
		if err != nil {
			return err
		}
		if c.Multiple {
			first = max(first, tx.through+1)
		}
		for d := ch.unacked.from(first); d != nil && d.tag <= last; d = ch.unacked.from(d.tag + 1) {
			if tx.settles(d.tag) {
				continue
			}
			if h.tags = append(h.tags, d.tag); !c.Multiple {
				tx.settled[d.tag] = true
			}
		}
		if tx.count += len(h.tags); c.Multiple {
			tx.through = max(tx.through, last)
		}
	}
	n := len(c.Body) + len(c.Properties) + txCommandBytes + txTagBytes*len(h.tags)
	if tx.bytes+n > txBytesMax {
		return amqp.PreconditionFailed("transaction is larger than %d bytes", txBytesMax)
	}
	tx.bytes += n
	s.uncommitted.add(ch.conn.id, n)
	tx.held = append(tx.held, h)
	return nil
}

// endTx forgets what ch holds since its last commit.
func (v *VHost) endTx(ch *channel) {
	if ch.tx != nil {
		v.uncommitted.add(ch.conn.id, -ch.tx.bytes)
		ch.tx = nil
	}
}

// checkUncommitted compares the count of what transactions hold with the transactions. What is being committed in
// portions has left its channel.
func (v *VHost) checkUncommitted() error {
	held := map[fact.ConnID]int64{}
	for _, ch := range v.channels {
		if ch.tx != nil {
			held[ch.conn.id] += int64(ch.tx.bytes)
		}
	}
	for _, x := range v.ongoing {
		held[x.conn.id] += int64(x.commits)
	}
	return v.uncommitted.check("uncommitted", held)
}

// checkHeld makes the checks that a publish in a transaction must pass at once. It returns the properties, with
// the channel's name for direct replies in them.
func (s *step) checkHeld(ch *channel, c *Command) ([]byte, *amqp.Error) {
	p := publication{ch: ch}
	if err := p.parse(c); err != nil {
		return nil, err
	}
	if string(c.Exchange) == ControlExchange {
		if _, _, err := s.requestOf(c, &p.scan); err != nil {
			return nil, err
		}
	} else if err := s.checkPublish(&p); err != nil {
		return nil, err
	}
	return ch.withReplyTo(&p.scan, c.Properties)
}

// copies counts the copies that the publishes of a transaction would make now, until they are more than most or to
// count them has filled the step: then it returns more than most. An error is what one of them is refused with.
func (s *step) copies(ch *channel, held []heldCommand, most int) (n int, err *amqp.Error) {
	defer func(drawn uint64) { s.draws = drawn }(s.draws) // what is left to chance falls the same way again
	for i := 0; i < len(held) && n <= most; i++ {
		if s.full() {
			return most + 1, nil
		}
		c := &held[i].command
		if c.Kind != Publish {
			continue
		}
		p, err := s.targetsOf(ch, c)
		if err != nil {
			return n, err
		}
		n += p.copies()
	}
	return n, nil
}

// targetsOf finds where a publish goes that was checked when it was held: nowhere if its exchange is gone.
func (s *step) targetsOf(ch *channel, c *Command) (p publication, err *amqp.Error) {
	p = publication{ch: ch}
	if err := p.parse(c); err != nil {
		panic(err) // checked when it was held
	}
	if string(c.Exchange) == ControlExchange {
		_, _, err = s.requestOf(c, &p.scan) // its exchange was there when it was held
		return p, err
	}
	if s.topo.Exchange(string(c.Exchange)) == nil {
		return p, nil
	}
	if p.scan.Headers != nil {
		if err := p.senderSelected(p.scan.Headers); err != nil {
			panic(err) // checked when it was held
		}
		if err := p.askTime(&s.Stamp, p.scan.Headers); err != nil {
			return p, err // it was near enough when it was held
		}
	}
	return p, s.findWay(&p)
}

// copies is how many copies a publication makes.
func (p *publication) copies() int { return len(p.way.Queues) + len(p.way.Delayed) }

// commitTx decides tx.commit: everything held happens, in order, or nothing: in one batch, or as a stagedTx if that is
// too much for a step. What would make too many copies does not happen at all.
func (s *step) commitTx(ch *channel, c *Command) *amqp.Error {
	if ch.tx == nil {
		return amqp.PreconditionFailed("channel is not transactional")
	}
	held, size := ch.tx.held, ch.tx.bytes
	small := s.stepMax / workOfFact
	n, err := 0, (*amqp.Error)(nil)
	if len(held) <= small && size <= s.stepMax {
		if n, err = s.copies(ch, held, small); err != nil {
			return err
		}
		for i := range held {
			n += len(held[i].tags) * held[i].weight()
		}
	} else {
		n = small + 1
	}
	ch.tx = newTransaction()
	if n > small {
		s.commitInPortions(ch, c, held, size)
		return nil
	}
	s.uncommitted.add(ch.conn.id, -size)
	full := false
	for i := range held {
		h := &held[i]
		if h.command.Kind == Publish {
			full = s.publishHeld(storage.Ref{}, ch, &h.command) || full
			continue
		}
		for _, tag := range h.tags {
			s.settle(ch, tag, &h.command)
		}
	}
	if full { // what was taken stays. Source: rabbitmq-server 3.10 and 4.0
		s.closeFor(ch, CommitTx, partialCommit())
		return nil
	}
	s.done(ch, c, Effect{})
	return nil
}

func partialCommit() *amqp.Error { return amqp.PreconditionFailed("partial tx completion") }

func tooManyCopies() *amqp.Error {
	return amqp.PreconditionFailed("transaction makes more than %d copies of messages", txCopiesMax)
}

// publishHeld publishes a message of a transaction. It was checked when it was held: what is wrong with it since goes
// nowhere. record and full are as for publishFrom.
func (s *step) publishHeld(record storage.Ref, ch *channel, c *Command) (full bool) {
	if x := s.topo.Exchange(string(c.Exchange)); (x == nil || x.Internal) && string(c.Exchange) != ControlExchange {
		var m message
		m.content, m.body = contentOf(c)
		gone := &flow{} // deleted since, or made again as another
		s.received(ch, c, gone, nil, 0)
		s.publishToNone(ch, c, &m, gone)
		return false
	}
	full, err := s.publishFrom(record, ch, c)
	if err != nil {
		s.traffic.Received++
		s.traffic.Dropped++
	}
	return full
}

// rollbackTx decides tx.rollback: publishes are dropped, settlements undone.
func (s *step) rollbackTx(ch *channel, c *Command) *amqp.Error {
	if ch.tx == nil {
		return amqp.PreconditionFailed("channel is not transactional")
	}
	s.endTx(ch)
	ch.tx = newTransaction()
	s.done(ch, c, Effect{})
	return nil
}
