package sim

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// connection is a client's connection, and the engine's Session of it.
type connection struct {
	id       fact.ConnID
	window   int64
	notify   bool  // it is told when the broker cancels a consumer
	used     int64 // bytes handed over and not granted back
	arrived  int64 // of these, shown to the client
	channels []*channel
	broken   bool // a refusal closes it: the client has to go
}

// channel is a client's channel, what it knows of it, and the engine's port.
type channel struct {
	id            vhost.ChannelID
	conn          *connection
	dead          bool // closed in the machine; the client may not know yet
	confirms      bool
	published     uint64            // since confirms were selected
	confirmed     uint64            // the last publish that was answered, in the machine
	publishes     map[uint64]uint64 // publish number: message
	tx            bool
	inTx          []uint64   // tags that held settlements name
	inTxPublishes []uint64   // messages of held publishes
	committing    [][]uint64 // of each commit that is not answered yet
	consumers     map[string]*consumer
	prefetch      int64 // for consumers to come
	shared        int64 // global prefetch
	used          int64 // outstanding, gets apart
	held          map[uint64]*delivery
	late          map[uint64]*delivery // taken back, and not settled yet
	tag           uint64               // given last
	lastQueue     string
	waiting       []waiting // effects that may not leave yet
}

// consumer is one subscription.
type consumer struct {
	tag      string
	queue    string
	noAck    bool
	timeout  int64 // ms, -1: what its queue says
	prefetch int64
	used     int64
	attached int // its rank among all consumers ever
}

// delivery is a message that a client holds.
type delivery struct {
	channel  *channel
	consumer *consumer // nil for a get
	tag      uint64
	shown    bool
	orphan   bool             // its queue is gone
	due      deadline.Instant // at which it is taken back, 0: never
	entry    *ledger.Entry
}

func (d *delivery) Orphaned() { d.orphan = true }

// holderOf is the delivery by which a client holds a copy.
func holderOf(e *ledger.Entry) *delivery {
	d, _ := e.Holder.(*delivery)
	return d
}

// waiting is an effect on its way, with what it must turn out to say.
type waiting struct {
	effect   vhost.Effect
	delivery *delivery // nil without acks
	message  uint64
	deaths   []ledger.Death
	of       vhost.ScheduledID // an answer
	acquired int64             // x-acquired-count
	counted  int64             // x-delivery-count
}

// message is a message as it was published.
type message struct {
	body       []byte
	exchange   string
	keys       []string // its own, CC, BCC
	headers    amqp.Table
	persistent bool
	priority   uint8
	ttl        int64         // ms, -1: none
	delay      int64         // ms for which delayed exchanges keep it, 0: not at all
	nonsense   bool          // its delay is none
	deliverAt  int64         // wall clock, ms, 0: at once
	key        string        // where it waits, "": none
	durableAt  storage.Index // of the batch that holds its durable copies, 0: there are none
	confirmed  bool          // and the client knows
	step       int
}

// emit sends an effect on its way, as the engine does: what it holds of the log is read now.
func (w *world) emit(e *vhost.Effect) {
	ch := w.channels[e.Channel]
	x := waiting{effect: *e}
	if e.Kind == vhost.Deliver || e.Kind == vhost.DeliverGot {
		if len(w.handed) == 0 {
			w.violate(Answers, "a delivery without a message")
			return
		}
		x = w.handed[0]
		w.handed = w.handed[1:]
		x.effect = *e
	}
	if e.Kind == vhost.Answered && e.Command >= vhost.Unschedule && e.Command <= vhost.FireNow && len(w.answers) > 0 {
		x.of, w.answers = w.answers[0], w.answers[1:]
	}
	if ch == nil {
		return
	}
	if !w.resolve(&x) {
		return
	}
	ch.waiting = append(ch.waiting, x)
	w.releaseChannel(ch)
}

// resolve reads what a message says, and compares it with what was published.
func (w *world) resolve(x *waiting) bool {
	m := &x.effect.Message
	if m.Record == nil && m.Ref.IsZero() {
		return true
	}
	err := unwound(func() {
		if m.Record == nil {
			m.Record = w.Record(m.Ref)
		}
		if m.History == nil && !m.HistoryRef.IsZero() {
			m.History = w.Record(m.HistoryRef)
		}
	})
	if err != nil {
		if !w.planned(err) && !w.spoilt(err) {
			w.violate(Readable, "message %d: %v", x.message, err)
		}
		w.unread = err
		return false
	}
	if x.effect.Kind != vhost.SendBack {
		w.checkContent(m, x, "a delivery")
	}
	return true
}

// checkContent compares a message as a client would see it with what was published.
func (w *world) checkContent(d *vhost.Delivered, x *waiting, where string) {
	view, err := d.View()
	number := x.message
	m := w.messages[number]
	switch {
	case err != nil:
		w.violate(w.unlike(), "message %d in %s: %v", number, where, err)
	case m == nil || !bytes.Equal(view.Body, m.body):
		w.violate(w.unlike(), "message %d in %s has another body than published", number, where)
	default:
		w.checkHeaders(&view, d.Dialect, x, where)
	}
}

// checkHeaders compares what the broker says of a message with what is known of it.
func (w *world) checkHeaders(view *vhost.View, dialect vhost.Dialect, x *waiting, where string) {
	want := slices.Clone(x.deaths)
	for i := range want {
		want[i].Reason = ledger.Speak(want[i].Reason, dialect)
	}
	p, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		w.violate(Readable, "message %d in %s: %v", x.message, where, err)
		return
	}
	if got := deathsIn(p.Headers); !slices.Equal(got, want) {
		w.violate(Deaths, "message %d in %s: x-death %v, expected %v", x.message, where, got, want)
	}
	told := int64(0)
	if dialect&vhost.DialectTotal != 0 {
		told = ledger.Total(x.deaths)
	}
	for _, c := range [...]struct {
		name    string
		want    int64
		checker Checker
	}{{"x-acquired-count", x.acquired, Counts}, {"x-delivery-count", x.counted, Counts}, {"x-death-total", told, Deaths}} {
		v, has := p.Headers.Get(c.name)
		if n, _ := v.Integer(); n != c.want || has != (c.want > 0) {
			w.violate(c.checker, "message %d in %s: %s is %d (%t), expected %d", x.message, where, c.name, n, has, c.want)
		}
	}
}

// release lets go what waited for batches that are safe now.
func (w *world) release() {
	for _, id := range slices.Sorted(maps.Keys(w.channels)) {
		if ch := w.channels[id]; ch != nil {
			w.releaseChannel(ch)
		}
	}
}

func (w *world) releaseChannel(ch *channel) {
	for len(ch.waiting) > 0 && ch.waiting[0].effect.After <= w.safe {
		x := ch.waiting[0]
		ch.waiting = ch.waiting[1:]
		w.show(ch, &x)
	}
}

// show is the moment at which a client sees an effect.
func (w *world) show(ch *channel, x *waiting) {
	e := &x.effect
	if e.After > w.journal.Safe(logID) {
		w.violate(Release, "effect %d of command %d depends on batch %d and was shown when %d was safe",
			e.Kind, e.Command, e.After, w.journal.Safe(logID))
		return
	}
	w.result.Effects[e.Kind]++
	switch e.Kind {
	case vhost.Deliver, vhost.DeliverGot:
		ch.conn.arrived += vhost.WindowCost(e.Message.Ref.Size)
		if x.delivery != nil {
			x.delivery.shown = true
		}
	case vhost.Answered:
		w.hear(x.of, e)
	case vhost.Confirm:
		if m := w.messages[ch.publishes[e.Tag]]; m != nil {
			m.confirmed = true
		}
	case vhost.Closed:
		if e.Err.ClosesConnection() {
			ch.conn.broken = true
		}
		w.dropChannel(ch)
	case vhost.Done:
		switch e.Command {
		case vhost.CloseChannel:
			w.dropChannel(ch)
		case vhost.CommitTx:
			for _, number := range ch.committing[0] {
				w.messages[number].confirmed = true
			}
			ch.committing = ch.committing[1:]
		}
	}
}

// dropChannel forgets a channel that the client knows to be closed.
func (w *world) dropChannel(ch *channel) {
	delete(w.channels, ch.id)
	ch.conn.channels = slices.DeleteFunc(ch.conn.channels, func(o *channel) bool { return o == ch })
}

// disconnectAll forgets every client: the machine that knew them is gone.
func (w *world) disconnectAll() {
	w.connections, w.channels, w.handed, w.answers = nil, map[vhost.ChannelID]*channel{}, nil, nil
}

// letGo takes a delivery off its channel's and its consumer's account.
func (d *delivery) letGo() {
	if d.channel.held[d.tag] != d {
		return
	}
	delete(d.channel.held, d.tag)
	if d.consumer != nil {
		d.consumer.used--
		d.channel.used--
	}
}

// deathsOf reads x-death.
func deathsOf(properties []byte) []ledger.Death {
	p, err := amqp.ParseProperties(properties)
	if err != nil {
		return []ledger.Death{{Queue: err.Error()}}
	}
	return deathsIn(p.Headers)
}

func deathsIn(headers amqp.Table) []ledger.Death {
	list, ok := headers.Get("x-death")
	if !ok {
		return nil
	}
	var all []ledger.Death
	for _, v := range list.Array {
		name, _ := v.Table.Get("queue")
		reason, _ := v.Table.Get("reason")
		count, _ := v.Table.Get("count")
		all = append(all, ledger.Death{Queue: name.Str, Reason: reason.Str, Count: count.Int})
	}
	return all
}
