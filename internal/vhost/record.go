package vhost

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// What the machine decides depends on the heads of records, never on bodies: those are read to be delivered, to be
// stored in another record, and for filters that look into them. So a message is read back without its body, unless it
// is small.

// HeadBytes is how much of a record is read for its head at first: nearly all heads have less, and small records are
// read whole.
const HeadBytes = workOfRead

// A body is that of a message: its octets or, until they are needed, where they lie.
type body struct {
	octets []byte
	at     storage.Ref // zero if it is in octets
}

// size is how many octets it has.
func (b *body) size() uint32 {
	if b.at.IsZero() {
		return uint32(len(b.octets))
	}
	return b.at.Size
}

// octetsOf returns the octets of a body, which are read now if they are only known to lie somewhere. They are lent
// until the next command.
func (v *VHost) octetsOf(b *body) []byte {
	if !b.at.IsZero() {
		v.work += int(b.at.Size)
		*b = body{octets: v.record(b.at)}
	}
	return b.octets
}

// record returns the bytes that r names; they are lent until the next command.
func (v *VHost) record(r storage.Ref) []byte {
	if p, ok := v.inMemory(r); ok {
		return p
	}
	return v.records.Record(r)
}

// inMemory returns the bytes that r names if the machine has them itself, or keeps what no log has.
func (v *VHost) inMemory(r storage.Ref) (p []byte, ok bool) {
	switch {
	case r.Log == storage.Volatile:
		return v.volatile.read(r), true
	case r.Index == v.index && int(r.Offset+r.Size) <= len(v.batch):
		return v.batch[r.Offset : r.Offset+r.Size], true
	}
	return nil, false
}

// head reads the head of the record that r names. Of a large record it reads no more than the beginning.
func (v *VHost) head(r storage.Ref) (h fact.Head, b body) {
	for n := v.headBytes; ; {
		p, ok := v.inMemory(r.First(n))
		if !ok {
			p = v.records.Head(r, n)
		}
		h, size := fact.ParseHead(p)
		switch {
		case size > int(r.Size):
			panic(errMalformedRecord) // our own bytes, under a checksum
		case size > len(p):
			n = max(size, 2*n) // keys and properties may be long
		case len(p) == int(r.Size):
			return h, body{octets: p[size:]}
		default:
			return h, body{at: r.Behind(size)}
		}
	}
}

var errMalformedRecord = errors.New("vhost: a record is malformed")

// BoundHeads sets how much of a record is read for its head at first. Tests set it low.
func (v *VHost) BoundHeads(bytes int) { v.headBytes = bytes }

// loadMessage reads a copy back as the message it is.
func (v *VHost) loadMessage(q *queueState, seq queue.Seq) message {
	e := q.messages.Entry(seq)
	history := storage.Ref{}
	if e.Flags&queue.HasHistory != 0 {
		history = q.messages.Side(seq).History
	}
	m := v.readBack(e.Ref(v.log), history, e.Flags&queue.Persistent != 0)
	m.reportsFailure = e.Flags&queue.ReportsFailure != 0
	m.arrived = q.messages.Side(seq).Arrived
	return m
}

// readBack makes a message of its record and its history, which is zero if it has none. durable says that they belong
// to something durable.
func (v *VHost) readBack(record, history storage.Ref, durable bool) message {
	m := message{ttl: -1, borrowed: !durable}
	if m.liesAt(record); record.Log != storage.Volatile && record.Index != v.readAt { // neighbours are read together
		v.readAt = record.Index
		v.work += workOfRead
	}
	m.content, m.body = v.head(record)
	v.work += max(int(record.Size-m.body.at.Size)-workOfRead, 0) // what was read, about
	scan := m.scan()
	m.persistent, m.priority, m.prioritized = scan.Persistent(), scan.Priority, scan.Flags&amqp.FlagPriority != 0
	if !history.IsZero() {
		h := v.historyAt(history)
		h.Complete(scan.Expiration)
		m.history = &h
	}
	return m
}

// liesAt says where the record of m is.
func (m *message) liesAt(record storage.Ref) {
	if record.Log == storage.Volatile {
		m.recordVolatile = record
	} else {
		m.record = record
	}
}

// historyAt reads a history back.
func (v *VHost) historyAt(r storage.Ref) fact.History {
	h, err := fact.ParseHistory(v.record(r))
	if err != nil {
		panic(err) // our own bytes, under a checksum
	}
	return h
}

// scan looks through the properties of a message that was published, once.
func (m *message) scan() *amqp.PropertyScan {
	if !m.scanned {
		if err := m.properties.Scan(m.content.Properties); err != nil {
			panic(err) // it was scanned when it was published
		}
		m.scanned = true
	}
	return &m.properties
}

// recordOf names m's record where a copy can refer to it, storing it first if need be. A durable copy takes no record
// of an older batch that only transient copies refer to: the log may have given it back where those are not known.
func (s *step) recordOf(m *message, durable bool) storage.Ref {
	borrowed := m.borrowed && m.record.Index != s.Index
	if !m.record.IsZero() && !(durable && borrowed) {
		return m.record
	}
	if !durable && !m.recordVolatile.IsZero() {
		return m.recordVolatile
	}
	c, octets := &m.content, s.octetsOf(&m.body)
	if !durable && s.volatile.isOffered(octets) {
		if m.recordVolatile = s.adopt(c, octets); !m.recordVolatile.IsZero() {
			return m.recordVolatile
		}
	}
	size := 1 + 2 + len(c.Exchange) + len(c.Key) + 4 + len(c.Properties) + len(octets)
	ref := s.store(fact.Stored, durable, size, func(b []byte) []byte { return fact.AppendRecord(b, c, octets) })
	if durable {
		m.record = ref
	} else {
		m.recordVolatile = ref
	}
	return ref
}

// headSpare is how many bytes most heads of records have at most.
const headSpare = 512

// adopt makes a record of the memory that a body came in: zero if the head has no space before it.
func (s *step) adopt(head *fact.Head, octets []byte) storage.Ref {
	h := fact.AppendHead(make([]byte, 0, headSpare), head)
	ref := s.volatile.adopt(h, octets)
	if ref.IsZero() {
		return ref
	}
	s.work += len(h)
	s.traceStored(fact.Stored, false, ref)
	return ref
}

// historySpare is how many bytes an encoded history of few deaths has besides its keys and names, about.
const historySpare = 160

func (s *step) historyOf(m *message, durable bool) storage.Ref {
	if !m.historyRef.IsZero() {
		return m.historyRef
	}
	if !durable && !m.historyVolatile.IsZero() {
		return m.historyVolatile
	}
	b := fact.AppendHistory(make([]byte, 0, m.history.Size()+historySpare), m.history)
	ref := s.store(fact.Remembered, durable, len(b), func(to []byte) []byte { return append(to, b...) })
	if durable {
		m.historyRef = ref
	} else {
		m.historyVolatile = ref
	}
	return ref
}
