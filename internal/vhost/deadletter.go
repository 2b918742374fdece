package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// die ends a copy for reason: it moves through the queue's dead-letter exchange, in this same batch, or is
// gone. Source: RabbitMQ dlx.
func (v *VHost) die(s *Stamp, q *queueState, seq queue.Seq, reason Reason, depth int, out *Outcome) {
	q.stats.Died[reason]++
	if !q.settings.hasDLX {
		v.end(s, q, seq, reason.withoutDLX(), out)
		v.touch(q, depth)
		return
	}
	m := v.recall(q, seq)
	cause := v.move(s, q, &m, reason, depth, out)
	v.end(s, q, seq, cause, out)
	v.touch(q, depth)
}

// recall reads a copy back as the message it is.
func (v *VHost) recall(q *queueState, seq queue.Seq) message {
	e := q.messages.Entry(seq)
	m := message{ttl: -1, priority: e.Priority}
	ref := e.Ref(v.log)
	if e.Flags&queue.Volatile != 0 {
		m.recordVolatile = ref
	} else {
		m.record = ref
	}
	var err error
	if m.content, err = parseRecord(v.record(ref)); err != nil {
		panic(err) // our own bytes, under a checksum
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(m.content.properties); err != nil {
		panic(err) // it was scanned when it was published
	}
	m.persistent = scan.Persistent()
	if e.Flags&queue.Letter != 0 {
		h, err := parseHistory(v.record(q.messages.Side(seq).History))
		if err != nil {
			panic(err) // our own bytes
		}
		m.history = &h
	}
	return m
}

// move publishes a message that died in from to its dead-letter exchange. It returns what became of the copy:
// Moved if at least one queue took it, else the cause of its loss. The message's own copy, if it has one, is
// still there: the caller ends it.
// Source: RabbitMQ dlx#routing, dlx#effects; reference dead-lettering 3 to 9.
func (v *VHost) move(s *Stamp, from *queueState, m *message, reason Reason, depth int, out *Outcome) Cause {
	if depth > 0 {
		if v.moves++; depth >= hopsMax || v.moves > movesMax {
			return v.lose(from, LostHops)
		}
	}
	var scan amqp.PropertyScan
	if err := scan.Scan(m.content.properties); err != nil {
		panic(err) // it was scanned when it was published
	}
	h := v.bury(s, from, m, &scan, reason)
	keys := m.hopKeys()
	if from.settings.hasDLRK {
		keys = []string{from.settings.DeadLetterRoutingKey}
	}
	h.Exchange, h.Keys = from.settings.DeadLetterExchange, keys

	x := v.topo.Exchange(h.Exchange)
	if x == nil {
		return v.lose(from, LostExchange)
	}
	t := topology.Message{
		Key: []byte(keys[0]), Properties: m.content.properties, Headers: scan.Headers, Extra: h.origins(), Entropy: v.chance(s),
	}
	for _, k := range keys[1:] {
		t.More = append(t.More, []byte(k))
	}
	ids, _ := v.topo.Route(x, &t, nil)
	if len(ids) == 0 {
		return v.lose(from, LostRoute)
	}
	if h.Share /= uint32(len(ids)); h.Share == 0 {
		if len(h.Deaths) > 1 {
			return v.lose(from, LostHops)
		}
		h.Share = 1 // one exchange that leads to more queues than that: they get it, and no others from them
	}
	letter := *m
	letter.history, letter.ttl = &h, -1
	letter.letter, letter.historyVolatile = place.Ref{}, place.Ref{} // of the hop before, if that queue refused it
	lost := Moved
	taken := false
	for i, id := range ids {
		q := v.queues[id]
		switch {
		case v.mutant == MutantLoseMove && i == len(ids)-1:
			taken = true
		case h.cycles(q.object.Name, reason):
			lost = v.lose(from, LostCycle)
		case q.refuses(&letter):
			lost = v.lose(from, LostRefused)
			if q.settings.Overflow == RejectPublishDLX && q.settings.hasDLX {
				taken = v.move(s, q, &letter, MaxLen, depth+1, out) == Moved || taken
			}
		default:
			v.enqueue(s, q, &letter, out)
			v.touch(q, depth+1)
			taken = true
		}
	}
	if taken {
		return Moved
	}
	return lost
}

// bury returns m's history with the new death in it.
func (v *VHost) bury(s *Stamp, from *queueState, m *message, scan *amqp.PropertyScan, reason Reason) History {
	d := Death{Queue: from.object.Name, Reason: reason, Count: 1, Time: int64(s.Wall) / 1000}
	old := History{}
	if m.history != nil {
		old = *m.history
		d.Exchange, d.Keys = old.Exchange, old.Keys
	} else {
		d.Exchange, d.Keys = string(m.content.exchange), m.content.publicKeys()
		if scan.Expiration != nil {
			d.HadTTL, d.Expiration = true, string(scan.Expiration)
		}
	}
	if v.mutant == MutantForgetDeath && m.history != nil {
		return old
	}
	return old.died(d)
}

// hopKeys are the routing keys of the message's last hop. Source: reference dead-lettering 4.
func (m *message) hopKeys() []string {
	if m.history != nil {
		return m.history.Keys
	}
	return m.content.keys()
}

// lose counts a dead letter that found no place.
func (v *VHost) lose(from *queueState, c Cause) Cause {
	from.stats.Lost[c]++
	if len(v.losses) < lossesMax {
		v.losses = append(v.losses, Loss{from.object.Name, c})
	}
	return c
}

// A Loss is a dead letter of Queue that found no place.
type Loss struct {
	Queue string
	Cause Cause
}

// TakeLosses returns the losses since it was called last, the first lossesMax of them, for the log of whoever
// runs the vhost; how many there were in all is in QueueStats. The slice is lent until the next command.
func (v *VHost) TakeLosses() []Loss {
	list := v.losses
	v.losses = v.losses[:0]
	return list
}
