package sim

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// holderOf is the delivery by which a client holds a copy.
func holderOf(e *ledger.Entry) *clients.Delivery {
	d, _ := e.Holder.(*clients.Delivery)
	return d
}

// emit sends an effect on its way, as the engine does: what it holds of the log is read now.
func (w *world) emit(e *vhost.Effect) {
	ch := w.Channels[e.Channel]
	x := clients.Waiting{Effect: *e}
	if e.Kind == vhost.Deliver || e.Kind == vhost.DeliverGot {
		if len(w.handed) == 0 {
			w.violate(Answers, "a delivery without a message")
			return
		}
		x = w.handed[0]
		w.handed = w.handed[1:]
		x.Effect = *e
	}
	if e.Kind == vhost.Answered && e.Command >= vhost.Unschedule && e.Command <= vhost.FireNow && len(w.answers) > 0 {
		x.Of, w.answers = w.answers[0], w.answers[1:]
	}
	if ch == nil {
		return
	}
	if !w.resolve(&x) {
		return
	}
	ch.Waiting = append(ch.Waiting, x)
	w.releaseChannel(ch)
}

// resolve reads what a message says, and compares it with what was published.
func (w *world) resolve(x *clients.Waiting) bool {
	m := &x.Effect.Message
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
			w.violate(Readable, "message %d: %v", x.Message, err)
		}
		w.unread = err
		return false
	}
	if x.Effect.Kind != vhost.SendBack {
		w.checkContent(m, x, "a delivery")
	}
	return true
}

// checkContent compares a message as a client would see it with what was published.
func (w *world) checkContent(d *vhost.Delivered, x *clients.Waiting, where string) {
	view, err := d.View()
	number := x.Message
	m := w.Messages[number]
	switch {
	case err != nil:
		w.violate(w.unlike(), "message %d in %s: %v", number, where, err)
	case m == nil || !bytes.Equal(view.Body, m.Body):
		w.violate(w.unlike(), "message %d in %s has another body than published", number, where)
	default:
		if to := x.Way; to.Keys != nil && (string(view.Exchange) != to.Exchange || string(view.RoutingKey) != to.Keys[0]) {
			w.violate(w.unlike(), "message %d in %s shows %q and %q, it came by %+v",
				number, where, view.Exchange, view.RoutingKey, to)
		}
		w.checkHeaders(&view, d.Dialect, x, where)
	}
}

// checkHeaders compares what the broker says of a message with what is known of it.
func (w *world) checkHeaders(view *vhost.View, dialect vhost.Dialect, x *clients.Waiting, where string) {
	want := slices.Clone(x.Deaths)
	for i := range want {
		want[i].Reason = ledger.Speak(want[i].Reason, dialect)
	}
	p, err := amqp.ParseProperties(view.Properties)
	if err != nil {
		w.violate(Readable, "message %d in %s: %v", x.Message, where, err)
		return
	}
	if got := deathsIn(p.Headers); !slices.Equal(got, want) {
		w.violate(Deaths, "message %d in %s: x-death %v, expected %v", x.Message, where, got, want)
	}
	told := int64(0)
	if dialect&vhost.DialectTotal != 0 {
		told = ledger.Total(x.Deaths)
	}
	for _, c := range [...]struct {
		name    string
		want    int64
		checker Checker
	}{{"x-acquired-count", x.Acquired, Counts}, {"x-delivery-count", x.Counted, Counts}, {"x-death-total", told, Deaths}} {
		v, has := p.Headers.Get(c.name)
		if n, _ := v.Integer(); n != c.want || has != (c.want > 0) {
			w.violate(c.checker, "message %d in %s: %s is %d (%t), expected %d", x.Message, where, c.name, n, has, c.want)
		}
	}
}

// release lets go what waited for batches that are safe now.
func (w *world) release() {
	for _, id := range slices.Sorted(maps.Keys(w.Channels)) {
		if ch := w.Channels[id]; ch != nil {
			w.releaseChannel(ch)
		}
	}
}

func (w *world) releaseChannel(ch *clients.Channel) {
	for len(ch.Waiting) > 0 && ch.Waiting[0].Effect.After <= w.safe {
		x := ch.Waiting[0]
		ch.Waiting = ch.Waiting[1:]
		w.show(ch, &x)
	}
}

// show is the moment at which a client sees an effect.
func (w *world) show(ch *clients.Channel, x *clients.Waiting) {
	e := &x.Effect
	if e.After > w.journal.Safe(logID) {
		w.violate(Release, "effect %d of command %d depends on batch %d and was shown when %d was safe",
			e.Kind, e.Command, e.After, w.journal.Safe(logID))
		return
	}
	w.result.Effects[e.Kind]++
	switch e.Kind {
	case vhost.Deliver, vhost.DeliverGot:
		ch.Conn.Arrived += vhost.WindowCost(e.Message.Ref.Size)
		if x.Delivery != nil {
			x.Delivery.Shown = true
		}
	case vhost.Answered:
		w.hear(x.Of, e)
	case vhost.Confirm:
		if m := w.Messages[ch.Publishes[e.Tag]]; m != nil {
			m.Confirmed = true
		}
	case vhost.Closed:
		if e.Err.ClosesConnection() {
			ch.Conn.Broken = true
		}
		w.dropChannel(ch)
	case vhost.Done:
		switch e.Command {
		case vhost.CloseChannel:
			w.dropChannel(ch)
		case vhost.CommitTx:
			for _, number := range ch.Committing[0] {
				w.Messages[number].Confirmed = true
			}
			ch.Committing = ch.Committing[1:]
		}
	}
}

// dropChannel forgets a channel that the client knows to be closed.
func (w *world) dropChannel(ch *clients.Channel) {
	delete(w.Channels, ch.ID)
	ch.Conn.Channels = slices.DeleteFunc(ch.Conn.Channels, func(o *clients.Channel) bool { return o == ch })
}

// disconnectAll forgets every client: the machine that knew them is gone.
func (w *world) disconnectAll() {
	w.Connections, w.Channels, w.handed, w.answers = nil, map[vhost.ChannelID]*clients.Channel{}, nil, nil
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
