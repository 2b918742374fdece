package vhost

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Outcome collects what a run of commands led to, in order: all those of one batch. It is reused from batch
// to batch (Next), and keeps lazy facts until a batch comes that carries them.
type Outcome struct {
	Facts   []fact.Fact // what is now true, volatile facts included; only if Trace
	Batch   []byte      // the durable projection, encoded as it is emitted: all that enters the log
	Effects []Effect    // what the frontends have to do
	Trace   bool        // keep Facts

	step   step  // memory of the present one
	urgent bool  // somebody waits for the batch
	ended  run   // copies ended in a row, not encoded yet
	handed []run // lazy
}

// run is a range of one queue's Seqs.
type run struct {
	queue fact.QueueID
	cause fact.Cause
	seq   queue.Seq
	n     uint64
}

// extend adds seq to r if it follows.
func (r *run) extend(q fact.QueueID, s queue.Seq, c fact.Cause) bool {
	if r.n == 0 || r.queue != q || r.cause != c || r.seq+queue.Seq(r.n) != s {
		return false
	}
	r.n++
	return true
}

// extendBy adds n numbers from s on to r if they follow.
func (r *run) extendBy(q fact.QueueID, s queue.Seq, n uint64, c fact.Cause) bool {
	if r.n == 0 || r.queue != q || r.cause != c || r.seq+queue.Seq(r.n) != s {
		return false
	}
	r.n += n
	return true
}

// Next empties o for the next batch; the old Batch is given away, buf takes its place. Lazy facts stay.
func (o *Outcome) Next(buf []byte) {
	clear(o.Effects)
	clear(o.Facts)
	o.Facts, o.Effects, o.Batch, o.urgent = o.Facts[:0], o.Effects[:0], buf[:0], false
}

// Seal ends the batch and returns it: nil if nothing durable happened. Urgent tells whether an effect waits
// for it; if not, it may be synced with the next.
func (o *Outcome) Seal() (batch []byte, urgent bool) {
	o.flush()
	if len(o.Batch) == 0 {
		return nil, false
	}
	o.encodeHanded()
	return o.Batch, o.urgent
}

// encodeHanded writes the lazy facts so far: at the latest before one of the messages returns or is held.
func (o *Outcome) encodeHanded() {
	for _, r := range o.handed {
		o.Batch = append(o.Batch, byte(fact.Handed))
		o.Batch = binary.AppendUvarint(o.Batch, uint64(r.queue))
		o.Batch = binary.AppendUvarint(o.Batch, uint64(r.seq))
		o.Batch = binary.AppendUvarint(o.Batch, r.n)
	}
	o.handed = o.handed[:0]
}

// flush encodes the open run.
func (o *Outcome) flush() {
	if o.ended.n == 0 {
		return
	}
	r := o.ended
	o.ended = run{}
	o.Batch = append(o.Batch, byte(fact.Ended), byte(r.cause))
	o.Batch = binary.AppendUvarint(o.Batch, uint64(r.queue))
	o.Batch = binary.AppendUvarint(o.Batch, uint64(r.seq))
	o.Batch = binary.AppendUvarint(o.Batch, r.n)
}

// effect appends e and remembers whether it waits for the batch to be.
func (s *step) effect(e Effect) {
	if e.After >= s.Index {
		s.out.urgent = true
	}
	s.out.Effects = append(s.out.Effects, e)
}
