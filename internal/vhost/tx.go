package vhost

import (
	"bytes"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
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

// selectTx decides tx.select. Source: AMQP tx.select; reference amqp-surface 14.
func (v *VHost) selectTx(ch *channel, c *Command, out *Outcome) *amqp.Error {
	if ch.confirms {
		return amqp.PreconditionFailed("cannot switch from confirm to tx mode")
	}
	if ch.tx == nil {
		ch.tx = newTransaction()
	}
	v.done(ch, c, out, Effect{})
	return nil
}

func (v *VHost) selectConfirms(ch *channel, c *Command, out *Outcome) *amqp.Error {
	if ch.tx != nil {
		return amqp.PreconditionFailed("cannot switch from tx to confirm mode")
	}
	ch.confirms = true
	v.done(ch, c, out, Effect{})
	return nil
}

// settles reports whether tx, which may be nil, holds a settlement of an outstanding delivery. What is delivered later has a
// greater tag.
func (tx *transaction) settles(tag uint64) bool {
	return tx != nil && (tag <= tx.through || tx.settled[tag])
}

// hold keeps a publish or a settlement until commit. What is wrong with it is refused now.
func (v *VHost) hold(s *Stamp, ch *channel, c *Command) *amqp.Error {
	tx := ch.tx
	h := heldCommand{command: *c}
	if c.Kind == Publish {
		properties, err := v.checkHeld(s, ch, c)
		if err != nil {
			return err
		}
		k := &h.command
		k.Exchange, k.Key = bytes.Clone(c.Exchange), bytes.Clone(c.Key)
		k.Properties, k.Body = bytes.Clone(properties), bytes.Clone(c.Body)
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
	v.uncommitted.add(ch.conn.id, n)
	tx.held = append(tx.held, h)
	return nil
}

// uncommitted counts the bytes that transactions hold: until they are committed, or rolled back, or their channels end.
type uncommitted struct {
	total int64
	of    map[ConnID]int64 // without zeros
}

func (u *uncommitted) add(c ConnID, n int) {
	if n == 0 {
		return
	}
	u.total += int64(n)
	if u.of[c] += int64(n); u.of[c] == 0 {
		delete(u.of, c)
	}
}

// Uncommitted is how many bytes all transactions hold that are not committed yet.
func (v *VHost) Uncommitted() int64 { return v.uncommitted.total }

// UncommittedOf is how many of them are a connection's. What it has committed in portions counts until the last one, also
// when the connection has ended.
func (v *VHost) UncommittedOf(c ConnID) int64 { return v.uncommitted.of[c] }

// endTx forgets what ch holds since its last commit.
func (v *VHost) endTx(ch *channel) {
	if ch.tx != nil {
		v.uncommitted.add(ch.conn.id, -ch.tx.bytes)
		ch.tx = nil
	}
}

// checkUncommitted compares the count of what transactions hold with the transactions. What is being committed in portions
// has left its channel.
func (v *VHost) checkUncommitted() error {
	var total int64
	held := map[ConnID]int64{}
	for _, ch := range v.channels {
		if ch.tx != nil {
			held[ch.conn.id] += int64(ch.tx.bytes)
		}
	}
	for _, x := range v.ongoing {
		held[x.conn.id] += int64(x.commits)
	}
	for id, n := range v.uncommitted.of {
		if total += n; n != held[id] {
			return fmt.Errorf("vhost: connection %d holds %d uncommitted bytes, %d are counted", id, held[id], n)
		}
	}
	if total != v.uncommitted.total {
		return fmt.Errorf("vhost: %d uncommitted bytes of connections, %d of all", total, v.uncommitted.total)
	}
	return nil
}

// checkHeld makes the checks that a publish in a transaction must pass at once. It returns the properties, with
// the channel's name for direct replies in them.
func (v *VHost) checkHeld(s *Stamp, ch *channel, c *Command) ([]byte, *amqp.Error) {
	if c.Immediate {
		return nil, amqp.NotImplemented("immediate=true")
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(c.Properties); err != nil {
		return nil, malformed(err)
	}
	m := message{content: content{properties: c.Properties}}
	if string(c.Exchange) == ControlExchange {
		if _, _, err := v.requestOf(s, c, &scan); err != nil {
			return nil, err
		}
		return ch.withReplyTo(&scan, c.Properties)
	}
	if err := v.checkPublish(s, ch, c, &scan, &m); err != nil {
		return nil, err
	}
	return ch.withReplyTo(&scan, c.Properties)
}

// copies counts, up to most, the copies that the publishes of a transaction would make now. An error is what one of them is
// refused with.
func (v *VHost) copies(s *Stamp, ch *channel, held []heldCommand, most int) (n int, err *amqp.Error) {
	defer func(drawn uint64) { v.chances = drawn }(v.chances) // what is left to chance falls the same way again
	for i := 0; i < len(held) && n <= most; i++ {
		c := &held[i].command
		if c.Kind == Publish && string(c.Exchange) == ControlExchange {
			m := message{content: content{properties: c.Properties}}
			if _, _, err := v.requestOf(s, c, m.scan()); err != nil {
				return n, err // its exchange was there when it was held
			}
		}
		x := v.topo.Exchange(string(c.Exchange))
		if c.Kind != Publish || x == nil {
			continue
		}
		m := message{content: content{exchange: c.Exchange, key: c.Key, properties: c.Properties}}
		scan := m.scan()
		if scan.Headers != nil {
			if err := m.senderSelected(scan.Headers); err != nil {
				panic(err) // checked when it was held
			}
			if err := m.askTime(s, scan.Headers); err != nil {
				return n, err // it was near enough when it was held
			}
		}
		targets, err := v.routePublish(s, ch, c, scan, &m, v.flowOf(c.Exchange))
		if err != nil {
			return n, err
		}
		n += len(targets)
		if keepers := v.topo.Keepers(); len(keepers) > 0 && m.nonsense != nil {
			return n, m.nonsense
		}
		n += len(v.topo.Keepers())
	}
	return n, nil
}

// commitTx decides tx.commit: everything held happens, in order, or nothing: in one batch, or as a stagedTx if that is too much
// for a step. What would make too many copies does not happen at all.
func (v *VHost) commitTx(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	if ch.tx == nil {
		return amqp.PreconditionFailed("channel is not transactional")
	}
	held, size := ch.tx.held, ch.tx.bytes
	small := v.stepMax / workOfFact
	n, err := 0, (*amqp.Error)(nil)
	if len(held) <= small && size <= v.stepMax {
		if n, err = v.copies(s, ch, held, small); err != nil {
			return err
		}
		for i := range held {
			n += len(held[i].tags)
		}
	} else {
		n = small + 1
	}
	ch.tx = newTransaction()
	if n > small {
		v.commitInPortions(s, ch, c, held, size, out)
		return nil
	}
	v.uncommitted.add(ch.conn.id, -size)
	v.refused = false
	for i := range held {
		h := &held[i]
		if h.command.Kind == Publish {
			v.publishHeld(s, ch, &h.command, out)
			continue
		}
		for _, tag := range h.tags {
			v.settle(s, ch, tag, &h.command, out)
		}
	}
	if v.refused { // what was taken stays. Source: rabbitmq-server 3.10 and 4.0
		v.closeFor(s, ch, CommitTx, partialCommit(), out)
		return nil
	}
	v.done(ch, c, out, Effect{})
	return nil
}

func partialCommit() *amqp.Error { return amqp.PreconditionFailed("partial tx completion") }

func tooManyCopies() *amqp.Error {
	return amqp.PreconditionFailed("transaction makes more than %d copies of messages", txCopiesMax)
}

// publishHeld publishes a message of a transaction. It was checked when it was held: what is wrong with it since goes nowhere.
func (v *VHost) publishHeld(s *Stamp, ch *channel, c *Command, out *Outcome) {
	if x := v.topo.Exchange(string(c.Exchange)); (x == nil || x.Internal) && string(c.Exchange) != ControlExchange {
		m := message{content: content{exchange: c.Exchange, key: c.Key, properties: c.Properties, body: c.Body}}
		gone := &flow{} // deleted since, or made again as another
		v.received(ch, c, gone, nil, 0)
		v.publishToNone(s, ch, c, &m, gone, out)
		return
	}
	if err := v.publish(s, ch, c, out); err != nil {
		v.traffic.Received++
		v.traffic.Dropped++
	}
}

// rollbackTx decides tx.rollback: publishes are dropped, settlements undone.
func (v *VHost) rollbackTx(ch *channel, c *Command, out *Outcome) *amqp.Error {
	if ch.tx == nil {
		return amqp.PreconditionFailed("channel is not transactional")
	}
	v.endTx(ch)
	ch.tx = newTransaction()
	v.done(ch, c, out, Effect{})
	return nil
}
