package vhost

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Reason says why a message died. Source: RabbitMQ dlx.
type Reason uint8

// The reasons, in RabbitMQ's words (String).
const (
	Rejected Reason = iota + 1
	Expired
	MaxLen
	DeliveryLimit
)

// String is the word that x-death carries.
func (r Reason) String() string {
	if r > DeliveryLimit {
		return "unknown"
	}
	return [...]string{"", "rejected", "expired", "maxlen", "delivery_limit"}[r]
}

// A Death is one {queue, reason} by which a message died, Count times. Source: RabbitMQ dlx#effects.
type Death struct {
	Queue      string
	Reason     Reason
	Count      int64
	Time       int64  // of the first, seconds since the Unix epoch
	Exchange   string // to which the message had been published in the hop that ended so, the first time
	Keys       []string
	Expiration string // the expiration property that the message had, if HadExpiration
	HadTTL     bool
}

// History is what became of a dead letter: where the last hop published it, and how it died before. It is
// written once per hop, beside the record, and rendered as headers at the door.
type History struct {
	Exchange string   // of the last hop: a dead-letter exchange
	Keys     []string // of the last hop; the first is the routing key that a consumer sees
	Deaths   []Death  // newest first
	First    Origin   // of the first death
	Last     Origin   // of the newest
	Share    uint32   // how many letters this one may still become, where exchanges multiply them
}

// Origin is what x-first-death-* and x-last-death-* tell.
type Origin struct {
	Reason          Reason
	Queue, Exchange string
}

// died returns h with one more death. The count of a {queue, reason} that is known rises, and its entry
// moves to the front; its other fields keep what the first death wrote. Source: RabbitMQ dlx#effects.
func (h *History) died(d Death) History {
	n := *h
	n.Last = Origin{d.Reason, d.Queue, d.Exchange}
	if len(h.Deaths) == 0 {
		n.First = n.Last
	}
	if len(h.Deaths) == 0 || d.Reason == Rejected {
		n.Share = lettersMax
	}
	n.Deaths = make([]Death, 0, len(h.Deaths)+1)
	i := slices.IndexFunc(h.Deaths, func(o Death) bool { return o.Queue == d.Queue && o.Reason == d.Reason })
	if i >= 0 {
		d = h.Deaths[i]
		d.Count++
	}
	n.Deaths = append(n.Deaths, d)
	for k, o := range h.Deaths {
		if k != i {
			n.Deaths = append(n.Deaths, o)
		}
	}
	return n
}

// cycles reports whether a dead letter that died for reason would come to queue again without ever having
// been rejected since it was there. Source: RabbitMQ dlx#routing (automatic cycles).
func (h *History) cycles(queue string, reason Reason) bool {
	if reason == Rejected {
		return false
	}
	for _, d := range h.Deaths {
		if d.Reason == Rejected {
			return false
		}
		if d.Queue == queue {
			return true
		}
	}
	return false
}

// A history as bytes, all numbers varints, strings with their length before them:
//
//	exchange keys share first last count { reason queue count time exchange keys [expiration] }*
func appendHistory(b []byte, h *History) []byte {
	b = appendText(b, h.Exchange)
	b = appendTexts(b, h.Keys)
	b = binary.AppendUvarint(b, uint64(h.Share))
	for _, o := range [2]Origin{h.First, h.Last} {
		b = append(b, byte(o.Reason))
		b = appendText(b, o.Queue)
		b = appendText(b, o.Exchange)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Deaths)))
	for i := range h.Deaths {
		d := &h.Deaths[i]
		reason := byte(d.Reason)
		if d.HadTTL {
			reason |= 0x80
		}
		b = append(b, reason)
		b = appendText(b, d.Queue)
		b = binary.AppendUvarint(b, uint64(d.Count))
		b = binary.AppendVarint(b, d.Time)
		b = appendText(b, d.Exchange)
		b = appendTexts(b, d.Keys)
		if d.HadTTL {
			b = appendText(b, d.Expiration)
		}
	}
	return b
}

var errHistory = errors.New("vhost: history is malformed")

func parseHistory(p []byte) (History, error) {
	r := reader{rest: p}
	h := History{Exchange: r.text(), Keys: r.texts(), Share: uint32(r.uint())}
	for _, o := range [2]*Origin{&h.First, &h.Last} {
		o.Reason, o.Queue, o.Exchange = Reason(r.byte()), r.text(), r.text()
	}
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		reason := r.byte()
		d := Death{Reason: Reason(reason &^ 0x80), HadTTL: reason&0x80 != 0, Queue: r.text()}
		d.Count, d.Time = int64(r.uint()), r.int()
		d.Exchange, d.Keys = r.text(), r.texts()
		if d.HadTTL {
			d.Expiration = r.text()
		}
		if d.Reason == 0 || d.Reason > DeliveryLimit {
			return h, errHistory
		}
		h.Deaths = append(h.Deaths, d)
	}
	return h, r.err
}

// origins are the headers that a headers exchange can match. Source: reference dead-lettering 3.
func (h *History) origins() amqp.Table {
	return amqp.Table{
		{Name: "x-first-death-reason", Value: amqp.String(h.First.Reason.String())},
		{Name: "x-first-death-queue", Value: amqp.String(h.First.Queue)},
		{Name: "x-first-death-exchange", Value: amqp.String(h.First.Exchange)},
		{Name: "x-last-death-reason", Value: amqp.String(h.Last.Reason.String())},
		{Name: "x-last-death-queue", Value: amqp.String(h.Last.Queue)},
		{Name: "x-last-death-exchange", Value: amqp.String(h.Last.Exchange)},
	}
}
