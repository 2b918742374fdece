package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// emit makes f true: it is folded, and encoded if it is durable. Every change of folded state in a step
// passes here, or through one of the two short cuts below it for the hot path.
func (v *VHost) emit(s *Stamp, f *Fact, out *Outcome) {
	v.work += workOfFact
	if f.Durable {
		v.begin(s, out)
		out.flush()
		if f.Kind == Returned || f.Kind == Held {
			out.encodeHanded()
		}
		out.Batch = appendFact(out.Batch, f, s.Index)
		v.batch = out.Batch
	}
	if out.Trace {
		out.Facts = append(out.Facts, *f)
	}
	v.apply(f)
}

// begin opens the batch, if it is not open: it carries the vhost's time.
func (v *VHost) begin(s *Stamp, out *Outcome) {
	if len(out.Batch) == 0 {
		out.Batch = append(out.Batch, formatVersion)
		out.Batch = binary.AppendUvarint(out.Batch, uint64(s.Now))
		v.logged = s.Now
	}
}

// end emits Ended for one copy. Copies that end in a row are one fact in the log.
func (v *VHost) end(s *Stamp, q *queueState, seq queue.Seq, cause Cause, out *Outcome) {
	v.work += workOfEnd
	durable := q.messages.Entry(seq).Flags&queue.Persistent != 0 && v.mutant != MutantForgetEnded
	if durable {
		v.begin(s, out)
		if !out.ended.extend(q.id, seq, cause) {
			out.flush()
			out.ended = run{q.id, cause, seq, 1}
		}
		v.batch = out.Batch
	}
	if out.Trace {
		out.Facts = append(out.Facts, Fact{Kind: Ended, Queue: q.id, Seq: seq, N: 1, Cause: cause, Durable: durable})
	}
	v.endOne(q, seq, cause)
}

// hand emits Handed for one message: it is unacked, and a lazy fact if it is durable.
func (v *VHost) hand(s *Stamp, q *queueState, seq queue.Seq, e *queue.Entry, out *Outcome) {
	durable := e.Flags&queue.Persistent != 0
	if durable {
		if k := len(out.handed) - 1; k < 0 || !out.handed[k].extend(q.id, seq, 0) {
			out.handed = append(out.handed, run{q.id, 0, seq, 1})
		}
		if v.handedAt == 0 {
			v.handedAt = s.From + handedDelay
			v.deadlines.Add(deadline.Entry{At: v.handedAt, Owner: ownHanded})
		}
	}
	if out.Trace {
		out.Facts = append(out.Facts, Fact{Kind: Handed, Queue: q.id, Seq: seq, N: 1, Durable: durable})
	}
	q.messages.Take(seq)
}

// writeHanded begins a batch if there are lazy facts that no other has carried: a message that kills the broker while
// nothing else happens must be known to have been handed over.
func (v *VHost) writeHanded(s *Stamp, out *Outcome) {
	if len(out.handed) > 0 {
		v.begin(s, out)
		v.batch = out.Batch
	}
}

// store puts a record, or a history, where a durable or a volatile copy can refer to it.
func (v *VHost) store(s *Stamp, kind FactKind, durable bool, size int, fill func([]byte) []byte, out *Outcome) place.Ref {
	var r place.Ref
	v.work += size
	if durable {
		v.begin(s, out)
		r = out.store(s, v.log, kind, size, fill)
		v.batch = out.Batch
	} else {
		r = v.volatile.store(size, fill)
	}
	if out.Trace {
		out.Facts = append(out.Facts, Fact{Kind: kind, Durable: durable, Bytes: v.record(r)})
	}
	return r
}
