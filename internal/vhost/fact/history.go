package fact

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// Reason says why a message died. Source: RabbitMQ dlx.
type Reason uint8

// The reasons, in RabbitMQ's words (String).
const (
	Rejected Reason = iota + 1
	Expired
	MaxLen
	DeliveryLimit
	Nacked // Rejected by basic.nack, where the vhost tells that from basic.reject
	Reasons
)

// String is the word that x-death carries.
func (r Reason) String() string {
	if r >= Reasons {
		return "unknown"
	}
	return [Reasons]string{"", "rejected", "expired", "maxlen", "delivery_limit", "rejected"}[r]
}

// Word is the word that x-death carries in a dialect. Source: docs/compat/dead-lettering.md#15.
func (r Reason) Word(d settings.Dialect) string {
	if d&settings.DialectReasons != 0 {
		switch r {
		case Rejected:
			return "reject"
		case Nacked:
			return "nack"
		case DeliveryLimit:
			return "Consumption limit exceeded"
		}
	}
	return r.String()
}

// rejected reports whether a consumer did not want the message.
func (r Reason) rejected() bool { return r == Rejected || r == Nacked }

// A Death is one {queue, reason} by which a message died, Count times. Source: RabbitMQ dlx#effects.
type Death struct {
	Queue      string
	Reason     Reason
	Count      int64
	Time       int64  // of the first, seconds since the Unix epoch
	Exchange   string // to which the message had been published in the hop that ended so, the first time
	Keys       []string
	Expiration string // the expiration property that the message had, if HadTTL
	HadTTL     bool
	// TTLInRecord says that Expiration is not in the history: it is that of the record. See Complete.
	TTLInRecord bool
}

// History is what became of a dead letter: where the last hop published it, and how it died before. It is
// written once per hop, beside the record, and rendered as headers when it is delivered.
type History struct {
	Exchange string      // of the last hop: a dead-letter exchange
	Keys     []string    // of the last hop; the first is the routing key that a consumer sees
	Deaths   []Death     // newest first
	First    Origin      // of the first death
	Last     Origin      // of the newest
	At       int64       // of the newest, ms since the Unix epoch; 0: nobody has noted it
	Share    uint32      // how many dead letters this one may still become, where exchanges multiply them
	HideCC   bool        // consumers do not see the CC header any more
	Redrive  RedriveMark // how it was sent back
}

// RedriveMark is what a message that was sent back by hand carries on.
type RedriveMark struct {
	Times    uint32 // how often
	Job      JobID  // that did it last, 0: none did
	Restored bool   // it has its publisher's expiration again, until it dies again
	CameBack bool   // it has died since
	AtWork   bool   // it was returned to where it is worked on, and has not died since: it is no dead letter
}

// Again is what the message carries on when it is sent back once more, by a job or, with 0, by none. Times
// does not wrap: a client may have told a large one, and a message without times has no job that knows it
// again.
func (x RedriveMark) Again(job JobID) RedriveMark {
	return RedriveMark{Times: max(x.Times+1, x.Times), Job: job}
}

// Origin is what x-first-death-* and x-last-death-* tell.
type Origin struct {
	Reason          Reason
	Queue, Exchange string
}

// Died returns h with one more death. The count of a {queue, reason} that is known rises, and its entry
// moves to the front; its other fields keep what the first death wrote. Source: RabbitMQ dlx#effects.
func (h *History) Died(d Death) History {
	n := *h
	n.Last = Origin{d.Reason, d.Queue, d.Exchange}
	if len(h.Deaths) == 0 {
		n.First = n.Last
	}
	if len(h.Deaths) == 0 || d.Reason.rejected() {
		n.Share = DeadLettersMax / uint32(1+(len(d.Queue)+d.keyBytes())>>10)
	}
	n.Deaths = make([]Death, 0, len(h.Deaths)+1)
	i := slices.IndexFunc(h.Deaths, func(o Death) bool { return o.Queue == d.Queue && o.Reason == d.Reason })
	if i >= 0 {
		if d = h.Deaths[i]; d.Count < math.MaxInt64 { // a publisher may have begun anywhere
			d.Count++
		}
	}
	d.Count = max(d.Count, 1) // a publisher's entry may have none
	n.Deaths = append(n.Deaths, d)
	for k, o := range h.Deaths {
		if k != i {
			o.Count = max(o.Count, 1)
			n.Deaths = append(n.Deaths, o)
		}
	}
	return n
}

// Complete fills in what the deaths leave to the record: expiration is the property there.
func (h *History) Complete(expiration []byte) {
	for i := range h.Deaths {
		if d := &h.Deaths[i]; d.TTLInRecord {
			d.TTLInRecord, d.Expiration = false, string(expiration)
		}
	}
}

// IsComplete reports whether Complete would change nothing.
func (h *History) IsComplete() bool {
	return !slices.ContainsFunc(h.Deaths, func(d Death) bool { return d.TTLInRecord })
}

// FirstDeath is the entry that tells of the first death, nil if there was none. Entries move to the front when a death
// repeats, so the last is not always it.
func (h *History) FirstDeath() *Death {
	for i := range h.Deaths {
		if d := &h.Deaths[i]; d.Queue == h.First.Queue && d.Reason == h.First.Reason {
			return d
		}
	}
	if k := len(h.Deaths) - 1; k >= 0 {
		return &h.Deaths[k]
	}
	return nil
}

// DiedAt is when the newest death was, in ms since the Unix epoch: where nobody has noted it, the first time of its
// kind, to the second; 0 if there was none.
func (h *History) DiedAt() int64 {
	switch {
	case len(h.Deaths) == 0:
		return 0
	case h.At != 0:
		return h.At
	}
	return h.Deaths[0].Time * 1000
}

// Cycles reports whether a dead letter that died for reason would come to queue again without ever having
// been rejected since it was there. Source: RabbitMQ dlx#routing (automatic cycles).
func (h *History) Cycles(queue string, reason Reason) bool {
	return !reason.rejected() && Cycles(h.Deaths, queue)
}

// Cycles reports whether a message that has died so, the newest first, was in a queue without having been rejected
// since.
func Cycles(deaths []Death, queue string) bool {
	for i := range deaths {
		d := &deaths[i]
		if d.Reason.rejected() {
			return false
		}
		if d.Queue == queue {
			return true
		}
	}
	return false
}

// Unite makes one entry of two by the same queue that only a dialect tells apart, nacked and rejected. The newer one
// stays, with what the older one wrote first.
func (h *History) Unite() {
	var deaths []Death
	for _, d := range h.Deaths {
		if d.Reason == Nacked {
			d.Reason = Rejected
		}
		i := slices.IndexFunc(deaths, func(o Death) bool { return o.Queue == d.Queue && o.Reason == d.Reason })
		if i < 0 {
			deaths = append(deaths, d)
			continue
		}
		d.Count += deaths[i].Count
		deaths[i] = d
	}
	h.Deaths = deaths
}

// Total counts the deaths.
func (h *History) Total() (n int64) {
	for i := range h.Deaths {
		n += min(h.Deaths[i].Count, math.MaxInt32)
	}
	return n
}

// Size is about how many bytes the history takes: what its keys and names do.
func (h *History) Size() (n int) {
	for i := range h.Deaths {
		d := &h.Deaths[i]
		n += len(d.Queue) + len(d.Exchange) + d.keyBytes()
	}
	return n
}

func (d *Death) keyBytes() (n int) {
	for _, k := range d.Keys {
		n += len(k)
	}
	return n
}

// Automatic counts the ways to die that follow on the newest rejection.
func (h *History) Automatic() int {
	if i := slices.IndexFunc(h.Deaths, func(d Death) bool { return d.Reason.rejected() }); i >= 0 {
		return i
	}
	return len(h.Deaths)
}

// AppendHistory encodes a history, all numbers varints, strings with their length before them:
//
//	exchange keys share first last [times job flags] [at] count { reason queue count time exchange keys [expiration] }*
//
// The reason of first has bit 7 set if CC is hidden, that of last if it was sent back by hand and how follows, and bit
// 6 if the time of the last death does; that of a death has bit 7 set if an expiration follows, bit 6 if it is the
// record's.
func AppendHistory(b []byte, h *History) []byte {
	b = AppendText(b, h.Exchange)
	b = appendTexts(b, h.Keys)
	b = binary.AppendUvarint(b, uint64(h.Share))
	for i, o := range [2]Origin{h.First, h.Last} {
		reason := byte(o.Reason)
		if i == 0 && h.HideCC || i == 1 && h.Redrive.Times > 0 {
			reason |= ReasonMarked
		}
		if i == 1 && h.At != 0 {
			reason |= ReasonTimed
		}
		b = append(b, reason)
		b = AppendText(b, o.Queue)
		b = AppendText(b, o.Exchange)
	}
	if x := &h.Redrive; x.Times > 0 {
		b = binary.AppendUvarint(b, uint64(x.Times))
		b = binary.AppendUvarint(b, uint64(x.Job))
		b = append(b, Bits(x.Restored, x.CameBack, x.AtWork))
	}
	if h.At != 0 {
		b = binary.AppendVarint(b, h.At)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Deaths)))
	for i := range h.Deaths {
		d := &h.Deaths[i]
		reason := byte(d.Reason)
		switch {
		case d.TTLInRecord:
			reason |= ReasonTimed
		case d.HadTTL:
			reason |= ReasonMarked
		}
		b = append(b, reason)
		b = AppendText(b, d.Queue)
		b = binary.AppendUvarint(b, uint64(d.Count))
		b = binary.AppendVarint(b, d.Time)
		b = AppendText(b, d.Exchange)
		b = appendTexts(b, d.Keys)
		if d.HadTTL && !d.TTLInRecord {
			b = AppendText(b, d.Expiration)
		}
	}
	return b
}

// ReasonMarked is the bit of a reason that says something more: of the first, that CC is hidden; of the last, that how
// it was sent back follows; of a death, that an expiration does.
const ReasonMarked = 0x80

// ReasonTimed is the bit of the last reason that says that the time of that death follows; of the reason of a death,
// that its expiration is the record's.
const ReasonTimed = 0x40

var errHistory = errors.New("fact: history is malformed")

// ParseHistory reads what Remembered holds.
func ParseHistory(p []byte) (History, error) { return ReadHistory(&Decoder{Rest: p}) }

func ReadHistory(r *Decoder) (History, error) {
	h := History{Exchange: r.Text(), Keys: r.texts(), Share: uint32(r.Uint())}
	for _, o := range [2]*Origin{&h.First, &h.Last} {
		o.Reason, o.Queue, o.Exchange = Reason(r.Byte()), r.Text(), r.Text()
	}
	h.HideCC, h.First.Reason = h.First.Reason&ReasonMarked != 0, h.First.Reason&^ReasonMarked
	marked := h.Last.Reason
	h.Last.Reason &^= ReasonMarked | ReasonTimed
	if marked&ReasonMarked != 0 {
		if h.Redrive = ReadRedrive(r); h.Redrive.Times == 0 {
			return h, errHistory
		}
	}
	if marked&ReasonTimed != 0 {
		h.At = r.Int()
	}
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		reason := r.Byte()
		d := Death{
			Reason: Reason(reason &^ (ReasonMarked | ReasonTimed)), Queue: r.Text(),
			HadTTL: reason&(ReasonMarked|ReasonTimed) != 0, TTLInRecord: reason&ReasonTimed != 0,
		}
		d.Count, d.Time = int64(r.Uint()), r.Int()
		d.Exchange, d.Keys = r.Text(), r.texts()
		if d.HadTTL && !d.TTLInRecord {
			d.Expiration = r.Text()
		}
		if d.Reason == 0 || d.Reason >= Reasons {
			return h, errHistory
		}
		h.Deaths = append(h.Deaths, d)
	}
	return h, r.Err
}

func ReadRedrive(r *Decoder) RedriveMark {
	x := RedriveMark{Times: uint32(r.Uint()), Job: JobID(r.Uint())}
	flags := r.Byte()
	x.Restored, x.CameBack, x.AtWork = flags&1 != 0, flags&2 != 0, flags&4 != 0
	return x
}

// Origins are the headers that a headers exchange can match. They are made when one asks for them.
// Source: docs/compat/dead-lettering.md#3.
type Origins struct {
	History *History
	Dialect settings.Dialect
}

// Get returns a header of that name.
func (o Origins) Get(name string) (v amqp.Value, ok bool) {
	of := &o.History.First
	rest, ok := strings.CutPrefix(name, "x-first-death-")
	if !ok {
		of = &o.History.Last
		if rest, ok = strings.CutPrefix(name, "x-last-death-"); !ok {
			return v, false
		}
	}
	switch rest {
	case "reason":
		return amqp.String(of.Reason.Word(o.Dialect)), true
	case "queue":
		return amqp.String(of.Queue), true
	case "exchange":
		return amqp.String(of.Exchange), true
	}
	return v, false
}

// DeadLettersMax is how many dead letters one message, if its keys are short, may become between two
// rejections, where each hop goes to several queues that pass it on by themselves: without it, n full queues
// whose dead-letter exchange leads to all of them would make n! of one message.
const DeadLettersMax = 1 << 14

// SentBy is the job that sent a message, 0 if none did or it has died since.
func (x *RedriveMark) SentBy() JobID {
	if x.CameBack {
		return 0
	}
	return x.Job
}

// FirstQueue is where a dead letter died first, "" if it never did.
func (h *History) FirstQueue() string {
	if k := len(h.Deaths); h.First.Queue == "" && k > 0 {
		return h.Deaths[k-1].Queue
	}
	return h.First.Queue
}

// Address sends a dead letter to the dead-letter exchange of a queue: with its key, or the dead letter's own
// keys if it has none.
func (h *History) Address(s *settings.Settings) {
	if h.Exchange = s.DeadLetterExchange; s.HasDLRK {
		h.Keys = []string{s.DeadLetterRoutingKey}
	}
}
