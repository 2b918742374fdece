package sim

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// checkDeadline computes a copy's deadline anew: the lesser of both TTLs, from the moment rounded up.
func (w *world) checkDeadline(st *step, e *ledger.Entry, m *message) {
	if e.ExpireAt == st.stamp.Now {
		e.Zero = w.audits
	}
	view := w.view(st, e.Line)
	if view == nil {
		return // it is gone by now
	}
	ttl, own := view.Settings.TTL, !e.Letter || e.Resent.Restored
	if hops := w.live.Number("hops-max"); e.Letter && (!w.live.Truth("ttl-in-dlq") || hops > 0 && ledger.Total(e.Deaths) >= hops) {
		ttl, own = -1, false
	}
	if own && m.ttl >= 0 && (ttl < 0 || m.ttl < ttl) && st.command.Kind != vhost.Republish {
		ttl = m.ttl
	}
	from, want := w.checkDelivery(st, e, m), deadline.Instant(0)
	switch {
	case ttl == 0 && from == st.stamp.From:
		want = st.stamp.Now
	case ttl >= 0:
		want = from + deadline.Instant(ttl)
	}
	if e.ExpireAt != want {
		w.violate(Expiry, "message %d in %q expires at %d, expected %d", e.Message, e.Line.Name, e.ExpireAt, want)
	}
}

// checkLane makes sure that a copy is in the lane of its priority.
func (w *world) checkLane(e *ledger.Entry, m *message) {
	most, want := e.Line.Lanes, int64(m.priority)
	if e.Line.Quorum && most == 0 {
		if most = 31; m.priority == 0 {
			want = 4 // it has no such property
		}
	}
	if want = min(want, most); int64(ledger.LaneOf(e.Seq)) != want {
		w.violate(Order, "message %d with priority %d is in lane %d of %q, expected %d", e.Message, m.priority, ledger.LaneOf(e.Seq), e.Line.Name, want)
	}
}

// handOver checks a delivery, and notes it.
func (w *world) handOver(st *step, e *ledger.Entry) *delivery {
	if len(st.deliveries) == 0 {
		w.violate(Answers, "message %d left %q without a delivery", e.Message, e.Line.Name)
		return nil
	}
	eff := &st.effects[st.deliveries[0]]
	st.deliveries = st.deliveries[1:]
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
	ch := w.channels[eff.Channel]
	if ch == nil {
		w.violate(Answers, "a delivery on channel %d, which is closed", eff.Channel)
		return nil
	}
	d := &delivery{channel: ch, tag: eff.Tag, entry: e}
	if eff.Tag != ch.tag+1 {
		w.violate(Answers, "delivery tag %d after %d", eff.Tag, ch.tag)
	}
	ch.tag = eff.Tag
	noAck := false
	timeout := int64(0)
	view := w.view(st, e.Line)
	if view != nil {
		timeout = view.Settings.ConsumerTimeout
	}
	if eff.Kind == vhost.Deliver {
		if d.consumer = ch.consumers[eff.ConsumerTag]; d.consumer == nil || d.consumer.queue != e.Line.Name {
			w.violate(Answers, "a delivery from %q to consumer %q, who is not there", e.Line.Name, eff.ConsumerTag)
			return nil
		}
		noAck = d.consumer.noAck
		if d.consumer.timeout >= 0 {
			timeout = d.consumer.timeout
		}
		w.checkActive(d.consumer)
		w.checkCredit(ch, d.consumer, eff.Message.Ref.Size)
	} else {
		noAck = st.command.Definition.NoAck
		ch.conn.used += vhost.WindowCost(eff.Message.Ref.Size)
	}
	if timeout > 0 {
		d.due = st.stamp.From + deadline.Instant(timeout)
	}
	x := waiting{message: e.Message, deaths: e.Deaths}
	if view != nil && view.Settings.Counts {
		x.acquired, x.counted = int64(e.Acquired), e.Counted(&view.Settings)
	}
	if got := &eff.Message; view != nil && (int64(got.Acquired) != x.acquired || int64(got.Count) != x.counted) {
		w.violate(Counts, "message %d of %q is delivered with counts %d and %d, expected %d and %d",
			e.Message, e.Line.Name, got.Acquired, got.Count, x.acquired, x.counted)
	}
	if !noAck {
		ch.held[d.tag] = d
		x.delivery = d
	}
	w.handed = append(w.handed, x)
	return d
}

// checkCredit makes sure that one more may be handed to x, and counts it.
func (w *world) checkCredit(ch *channel, x *consumer, size uint32) {
	if ch.conn.used >= ch.conn.window {
		w.violate(Prefetch, "%d bytes are on their way to connection %d, its window is %d", ch.conn.used, ch.conn.id, ch.conn.window)
	}
	ch.conn.used += vhost.WindowCost(size)
	if x.prefetch > 0 && x.used >= x.prefetch && !x.noAck || ch.shared > 0 && ch.used >= ch.shared {
		w.violate(Prefetch, "consumer %q holds %d of %d, its channel %d of %d, and was handed one more",
			x.tag, x.used, x.prefetch, ch.used, ch.shared)
	}
	if x.noAck {
		return
	}
	x.used++
	ch.used++
}

// checkDropped makes sure that it is the head that a full queue drops, or the head of the lowest lane.
func (w *world) checkDropped(st *step, e *ledger.Entry) {
	for _, o := range e.Line.Copies {
		if o.Handed && w.continues(st) {
			return // those that are not back yet, which come in portions, are not in its way
		}
	}
	head := e.Line.Head()
	if view := w.view(st, e.Line); view != nil && view.Settings.Overflow == vhost.DropLowest {
		head = e.Line.Lowest()
	}
	if head != e {
		w.violate(Order, "%q dropped copy %d (message %d) for its length, and not its head", e.Line.Name, e.Seq, e.Message)
	}
}
