package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// checkDeadline computes a copy's deadline anew: the lesser of both TTLs, from the moment rounded up.
func (w *world) checkDeadline(st *step, e *ledger.Entry, m *clients.Message) {
	if e.ExpireAt == st.stamp.Now {
		e.Zero, e.ZeroIn = w.audits, st.portions
	}
	view := w.view(st, e.Line)
	if view == nil {
		return // it is gone by now
	}
	ttl, own := view.Settings.TTL, !e.HasHistory || e.Resent.Restored
	if hops := w.live.Number("hops-max"); e.HasHistory && (!w.live.Truth("ttl-in-dlq") || hops > 0 && ledger.Total(e.Deaths) >= hops) {
		ttl, own = -1, false
	}
	if own && m.TTL >= 0 && (ttl < 0 || m.TTL < ttl) && st.command.Kind != vhost.Republish {
		ttl = m.TTL
	}
	from, want := w.checkDelivery(st, e, m), deadline.Instant(0)
	switch {
	case ttl == 0 && e.Until == 0:
		want = st.stamp.Now
	case ttl >= 0:
		want = from + deadline.Instant(ttl)
	}
	if e.ExpireAt != want {
		w.violate(Expiry, "message %d in %q expires at %d, expected %d", e.Message, e.Line.Name, e.ExpireAt, want)
	}
}

// checkLane makes sure that a copy is in the lane of its priority.
func (w *world) checkLane(e *ledger.Entry, m *clients.Message) {
	most, want := e.Line.Lanes, int64(m.Priority)
	if e.Line.Quorum && most == 0 {
		if most = 31; m.Priority == 0 {
			want = 4 // it has no such property
		}
	}
	if want = min(want, most); int64(ledger.LaneOf(e.Seq)) != want {
		w.violate(Order, "message %d with priority %d is in lane %d of %q, expected %d", e.Message, m.Priority, ledger.LaneOf(e.Seq), e.Line.Name, want)
	}
}

// checkHanded makes sure that a copy may be delivered, and is delivered as it is.
func (w *world) checkHanded(st *step, e *ledger.Entry, eff *vhost.Effect) {
	if head := e.Line.Head(); head != e {
		w.violate(Order, "%q handed out copy %d (message %d), its head is %d (message %d)", e.Line.Name, e.Seq, e.Message, head.Seq, head.Message)
	}
	if e.ExpireAt != 0 && e.ExpireAt <= st.stamp.Now && e.Zero != w.audits {
		w.violate(Expiry, "message %d of %q was delivered at %d, it expired at %d", e.Message, e.Line.Name, st.stamp.Now, e.ExpireAt)
	}
	if eff.After < e.At {
		w.violate(Release, "a delivery of message %d waits for batch %d, it was enqueued in %d", e.Message, eff.After, e.At)
	}
	if e.State != queue.Ready {
		w.violate(Answers, "message %d of %q was delivered, and is not ready: %d", e.Message, e.Line.Name, e.State)
	}
	if eff.Redelivered != e.Redelivered {
		w.violate(Answers, "message %d of %q: redelivered=%t, expected %t", e.Message, e.Line.Name, eff.Redelivered, e.Redelivered)
	}
}

// noteDelivery checks a delivery, and notes it.
func (w *world) noteDelivery(st *step, e *ledger.Entry) *clients.Delivery {
	if len(st.deliveries) == 0 {
		w.violate(Answers, "message %d left %q without a delivery", e.Message, e.Line.Name)
		return nil
	}
	eff := &st.effects[st.deliveries[0]]
	st.deliveries = st.deliveries[1:]
	w.checkHanded(st, e, eff)
	ch := w.Channels[eff.Channel]
	if ch == nil {
		w.violate(Answers, "a delivery on channel %d, which is closed", eff.Channel)
		return nil
	}
	d := &clients.Delivery{Channel: ch, Tag: eff.Tag, Entry: e}
	if eff.Tag != ch.Tag+1 {
		w.violate(Answers, "delivery tag %d after %d", eff.Tag, ch.Tag)
	}
	ch.Tag = eff.Tag
	noAck := false
	timeout := int64(0)
	view := w.view(st, e.Line)
	if view != nil {
		timeout = view.Settings.ConsumerTimeout
	}
	if eff.Kind == vhost.Deliver {
		if d.Consumer = ch.Consumers[eff.ConsumerTag]; d.Consumer == nil || d.Consumer.Queue != e.Line.Name {
			w.violate(Answers, "a delivery from %q to consumer %q, who is not there", e.Line.Name, eff.ConsumerTag)
			return nil
		}
		noAck = d.Consumer.NoAck
		if d.Consumer.Timeout >= 0 {
			timeout = d.Consumer.Timeout
		}
		w.checkActive(d.Consumer)
		w.checkCredit(ch, d.Consumer, eff.Message.Ref.Size)
	} else {
		noAck = st.command.Definition.NoAck
		ch.Conn.Used += vhost.WindowCost(eff.Message.Ref.Size)
	}
	if timeout > 0 {
		d.Due = st.stamp.From + deadline.Instant(timeout)
	}
	x := clients.Waiting{Message: e.Message, Deaths: e.Deaths, Way: e.Way}
	if view != nil && view.Settings.Counts {
		x.Acquired, x.Counted = int64(e.Acquired), e.Counted(&view.Settings)
	}
	if got := &eff.Message; view != nil && (int64(got.Acquired) != x.Acquired || int64(got.Count) != x.Counted) {
		w.violate(Counts, "message %d of %q is delivered with counts %d and %d, expected %d and %d",
			e.Message, e.Line.Name, got.Acquired, got.Count, x.Acquired, x.Counted)
	}
	if !noAck {
		ch.Held[d.Tag] = d
		x.Delivery = d
	}
	w.handed = append(w.handed, x)
	return d
}

// checkCredit makes sure that one more may be handed to x, and counts it.
func (w *world) checkCredit(ch *clients.Channel, x *clients.Consumer, size uint32) {
	if ch.Conn.Stopped {
		w.violate(Prefetch, "consumer %q got a message after the deliveries to its connection %d were stopped", x.Tag, ch.Conn.ID)
	}
	if ch.Conn.Used >= ch.Conn.Window {
		w.violate(Prefetch, "%d bytes are on their way to connection %d, its window is %d", ch.Conn.Used, ch.Conn.ID, ch.Conn.Window)
	}
	ch.Conn.Used += vhost.WindowCost(size)
	if x.Prefetch > 0 && x.Used >= x.Prefetch && !x.NoAck || ch.Shared > 0 && ch.Used >= ch.Shared {
		w.violate(Prefetch, "consumer %q holds %d of %d, its channel %d of %d, and was handed one more",
			x.Tag, x.Used, x.Prefetch, ch.Used, ch.Shared)
	}
	if x.NoAck {
		return
	}
	x.Used++
	ch.Used++
}

// returning reports whether copies of q that were with consumers before a restart are not back yet: they come in
// portions, and are not in the way of the others until then.
func (w *world) returning(st *step, q *ledger.Line) bool {
	n, _ := w.away(st, q)
	return n > 0
}

// away counts them.
func (w *world) away(st *step, q *ledger.Line) (n int, bytes int64) {
	view := w.view(st, q)
	if !w.continues(st) || view != nil && !view.Settings.Counts { // where nothing is counted, they are back at once
		return 0, 0
	}
	for _, e := range q.Copies {
		if e.Handed {
			n, bytes = n+1, bytes+e.Bytes
		}
	}
	return n, bytes
}

// checkDropped makes sure that it is the head that a full queue drops, or the head of the lowest lane.
func (w *world) checkDropped(st *step, e *ledger.Entry) {
	if w.returning(st, e.Line) {
		return
	}
	head := e.Line.Head()
	if view := w.view(st, e.Line); view != nil && view.Settings.Overflow == vhost.DropLowest {
		head = e.Line.Lowest()
	}
	if head != e {
		w.violate(Order, "%q dropped copy %d (message %d) for its length, and not its head", e.Line.Name, e.Seq, e.Message)
	}
}
