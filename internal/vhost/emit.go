package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// emit makes f true: it is applied, and encoded if it is durable. Every change of the state in a step
// passes here, or through one of the two short cuts below it for the hot path.
func (s *step) emit(f *fact.Fact) {
	s.work += workOfFact
	if f.Durable {
		s.begin()
		s.out.flush()
		if f.Kind == fact.Returned || f.Kind == fact.Held {
			s.out.encodeHanded()
		}
		s.out.Batch = fact.Append(s.out.Batch, f, s.Index)
		s.batch = s.out.Batch
	}
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, *f)
	}
	s.apply(f)
}

// begin opens the batch, if it is not open: it carries the vhost's time.
func (s *step) begin() {
	if len(s.out.Batch) == 0 {
		s.out.Batch = append(s.out.Batch, fact.FormatVersion)
		s.out.Batch = binary.AppendUvarint(s.out.Batch, uint64(s.Now))
		s.logged = s.Now
	}
}

// end emits Ended for one copy. Copies that end in a row are one fact in the log.
func (s *step) end(q *queueState, seq queue.Seq, cause fact.Cause) {
	s.work += workOfEnd
	durable := q.messages.Entry(seq).Flags&queue.Persistent != 0
	if durable {
		s.begin()
		if !s.out.ended.extend(q.id, seq, cause) {
			s.out.flush()
			s.out.ended = run{q.id, cause, seq, 1}
		}
		s.batch = s.out.Batch
	}
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, fact.Fact{Kind: fact.Ended, Queue: q.id, Seq: seq, N: 1, Cause: cause, Durable: durable})
	}
	s.endOne(q, seq, cause)
}

// hand emits Handed for one message: it is unacked, and a lazy fact if it is durable.
func (s *step) hand(q *queueState, seq queue.Seq, e *queue.Entry) {
	durable := e.Flags&queue.Persistent != 0
	if durable {
		if k := len(s.out.handed) - 1; k < 0 || !s.out.handed[k].extend(q.id, seq, 0) {
			s.out.handed = append(s.out.handed, run{q.id, 0, seq, 1})
		}
		if s.handedAt == 0 {
			s.handedAt = s.From + handedDelay
			s.deadlines.Add(deadline.Entry{At: s.handedAt, Owner: ownHanded})
		}
	}
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, fact.Fact{Kind: fact.Handed, Queue: q.id, Seq: seq, N: 1, Durable: durable})
	}
	q.messages.Take(seq)
}

// writeHanded begins a batch if there are lazy facts that no other has carried: a message that kills the broker while
// nothing else happens must be known to have been handed over.
func (s *step) writeHanded() {
	if len(s.out.handed) > 0 {
		s.begin()
		s.batch = s.out.Batch
	}
}

// store puts a record, or a history, where a durable or a volatile copy can refer to it.
func (s *step) store(kind fact.Kind, durable bool, size int, fill func([]byte) []byte) storage.Ref {
	var r storage.Ref
	s.work += size
	if durable {
		s.begin()
		r = s.write(kind, size, fill)
	} else {
		r = s.volatile.store(size, fill)
	}
	s.traceStored(kind, durable, r)
	return r
}

// traceStored tells a trace what was stored.
func (s *step) traceStored(kind fact.Kind, durable bool, r storage.Ref) {
	if s.out.Trace {
		s.out.Facts = append(s.out.Facts, fact.Fact{Kind: kind, Durable: durable, Bytes: s.record(r)})
	}
}

// write appends a record, or a history, to the batch as a fact of its own, and names it.
func (s *step) write(kind fact.Kind, size int, fill func([]byte) []byte) storage.Ref {
	o := s.out
	o.flush()
	o.Batch = append(o.Batch, byte(kind))
	o.Batch = binary.BigEndian.AppendUint32(o.Batch, uint32(size))
	at := len(o.Batch)
	o.Batch = fill(o.Batch)
	size = len(o.Batch) - at
	binary.BigEndian.PutUint32(o.Batch[at-4:], uint32(size))
	s.batch = o.Batch
	return storage.Ref{Log: s.log, Index: s.Index, Offset: uint32(at), Size: uint32(size)}
}
