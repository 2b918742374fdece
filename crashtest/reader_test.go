//go:build linux

package crashtest

import (
	"math/rand/v2"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	proveEvery = 64 // deliveries between two questions that prove what is safe
	bulkOf     = 50 // deliveries that are acked at once
	triesMax   = 3  // rejections until a retried message is acked
)

// A reader takes messages on one channel, settles most of them, and notes what it did.
type reader struct {
	l           *load
	ch          *amqp.Channel
	s           *shape
	books       *ledger
	deadLetters bool
	number      uint64
	random      *rand.Rand
	order       *order

	rejections uint64
	hoard      []amqp.Delivery
	unproven   []id // settled since the last proof
	died       []id // the same, by rejection
	took       []id // and left unsettled
	sent       []id // everything settled on this channel
}

// consumer returns a consumer of the source of a shape, or of its dead letters.
func (l *load) consumer(s *shape, books *ledger, queue string, deadLetters bool) client {
	random := rand.New(rand.NewPCG(l.random.Uint64(), l.random.Uint64()))
	one := func() {}
	if s.fate == inQueue { // elsewhere dead letters may be rare
		one = l.goal("consumer of "+queue, 10, 200)
	}
	return func(conn *amqp.Connection, _ int) {
		ch, err := conn.Channel()
		if err != nil || ch.Qos(prefetch, 0, false) != nil {
			return
		}
		deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
		if err != nil {
			return
		}
		r := &reader{l: l, ch: ch, s: s, books: books, deadLetters: deadLetters, random: random, order: newOrder(s), number: uint64(l.round)<<16 | l.readers.Add(1)}
		for n := 1; ; n++ {
			select {
			case d, ok := <-deliveries:
				if !ok {
					r.doubt()
					return
				}
				r.take(&d)
			case <-l.quit:
				return
			}
			if n%proveEvery == 0 {
				r.prove()
			}
			one()
		}
	}
}

// doubt takes back what was noted as sent: the broker lives, and need not have read it.
func (r *reader) doubt() {
	if !r.l.doomed.Load() {
		r.books.settle(0, r.sent...)
	}
}

// take notes before it does: what cannot be sent any more may have been sent.
func (r *reader) take(d *amqp.Delivery) {
	i, err := idOf(d)
	if err != nil {
		r.books.fault("%v", err)
		return
	}
	if r.s.delayed {
		r.books.arrived(i, d)
	} else if !r.deadLetters && !d.Redelivered && r.s.style != retries {
		if wrong := r.order.next(i); wrong != "" {
			r.books.fault("delivered out of order: %s", wrong)
		}
	}
	luck := r.random.IntN(100)
	switch {
	case r.deadLetters:
		if wrong := r.s.wrongDeath(d); wrong != "" {
			r.books.fault("dead letter %v %s", i, wrong)
		}
		r.books.note(seenDead, i)
		if luck < 60 {
			r.ack(d, deadAcked, i)
		}
	case r.s.style == hoards:
		r.takeToHoard(d, i)
	case r.s.style == bulk:
		r.takeInBulk(d, i)
	case r.s.style == retries:
		r.retry(d, i)
	case r.s.style == rejects && luck < 80:
		r.reject(d, i)
	case r.s.style == requeues && luck < 45:
		r.requeue(d, i)
	case luck < 90:
		r.books.note(handed, i)
		r.ack(d, acked, i)
	case luck < 92:
		r.requeue(d, i)
	default:
		r.books.note(handed, i)
		r.took = append(r.took, i)
	}
}

func (r *reader) ack(d *amqp.Delivery, what known, i id) {
	r.books.note(what, i)
	r.settled(d.Ack(false), i)
	r.unproven = append(r.unproven, i)
}

func (r *reader) reject(d *amqp.Delivery, i id) {
	r.rejections++
	r.books.die(i, r.number<<32|r.rejections)
	r.settled(d.Nack(false, false), i)
	r.died = append(r.died, i)
}

func (r *reader) requeue(d *amqp.Delivery, i id) {
	r.books.note(handed, i)
	_ = d.Nack(false, true)
}

// retry rejects a message until that was often enough.
func (r *reader) retry(d *amqp.Delivery, i id) {
	n, err := r.s.tries(d)
	if err != nil {
		r.books.fault("message %v %v", i, err)
	}
	r.books.note(handed, i)
	r.books.tried(i, n)
	if n >= triesMax {
		r.ack(d, acked, i)
		return
	}
	r.books.try(i)
	_ = d.Nack(false, false)
}

// settled notes when the broker was sent a settlement.
func (r *reader) settled(err error, ids ...id) {
	if err != nil {
		return
	}
	r.books.settle(r.l.b.lived(), ids...)
	r.sent = append(r.sent, ids...)
}

// takeToHoard keeps a delivery, and acks any one of those that it has if they are too many.
func (r *reader) takeToHoard(d *amqp.Delivery, i id) {
	r.books.note(handed, i)
	r.hoard = append(r.hoard, *d)
	if len(r.hoard) < hoardMax {
		return
	}
	k, last := r.random.IntN(len(r.hoard)), len(r.hoard)-1
	one := r.hoard[k]
	r.hoard[k] = r.hoard[last]
	r.hoard = r.hoard[:last]
	if i, err := idOf(&one); err == nil {
		r.ack(&one, acked, i)
	}
}

// takeInBulk acks everything that it has, when there is enough of it.
func (r *reader) takeInBulk(d *amqp.Delivery, i id) {
	r.books.note(handed, i)
	r.took = append(r.took, i)
	if len(r.took) < bulkOf {
		return
	}
	ids := slices.Clone(r.took)
	r.took = r.took[:0]
	r.books.note(acked, ids...)
	r.settled(d.Ack(true), ids...)
	r.unproven = append(r.unproven, ids...)
}

// prove asks for what depends on all that this channel did so far. An answer that reveals a settlement waits until that
// is safe. What was handed over is on the disk with the next batch at the latest, so a later confirm proves it.
func (r *reader) prove() {
	queue := r.s.name
	if r.deadLetters || len(r.died) > 0 {
		queue = r.s.deadLetters()[0]
	}
	if _, err := r.ch.QueueDeclarePassive(queue, !r.s.volatile || queue != r.s.name, false, false, false, nil); err != nil {
		return
	}
	if r.deadLetters {
		r.books.note(deadAckedSafe, r.unproven...)
	} else {
		r.books.note(ackedSafe, r.unproven...)
	}
	r.books.note(rejectedSafe, r.died...)
	r.unproven, r.died = r.unproven[:0], r.died[:0]
	if r.s.style == bulk || len(r.took) == 0 {
		return
	}
	select {
	case r.l.probes <- proof{r.books, slices.Clone(r.took)}:
		r.took = r.took[:0]
	default: // asked with the next
	}
}
