package oracle

import (
	"fmt"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// channel is a channel with what is outstanding on it.
type channel struct {
	id        int
	tags      uint64 // given so far
	unacked   []*delivery
	prefetch  int      // of all consumers together, 0 for none
	each      int      // of each consumer to come
	late      []uint64 // tags that were taken back, and not settled since
	confirms  bool
	published int
}

// delivery is a message that a client has to settle.
type delivery struct {
	tag      uint64
	queue    *queue
	copy     *Copy
	consumer *consumer // nil of a get
	due      int64     // when it is taken back, 0: never
}

// consumer is a subscription.
type consumer struct {
	tag      string
	channel  *channel
	prefetch int
	priority int64
	noAck    bool
	timeout  int64 // ms, -1: as its queue says
}

func (v *VHost) answer(channel int, kind AnswerKind, format string, args ...any) {
	v.Answers = append(v.Answers, Answer{channel, kind, fmt.Sprintf(format, args...)})
}

// hasCredit reports whether the consumer may take one more. Source: AMQP basic.qos; RabbitMQ consumer-prefetch.
func (x *consumer) hasCredit() bool {
	own, all := 0, 0
	for _, d := range x.channel.unacked {
		if d.consumer != nil {
			all++
		}
		if d.consumer == x {
			own++
		}
	}
	if x.channel.prefetch > 0 && all >= x.channel.prefetch { // of consumers without acks, too
		return false
	}
	return x.noAck || x.prefetch == 0 || own < x.prefetch
}

// takers is the consumers that may get the next message: those with credit, and of these the ones of the highest
// priority. Source: RabbitMQ consumer-priority.
func (v *VHost) takers(q *queue) (best []*consumer) {
	for _, x := range q.consumers {
		switch {
		case !x.hasCredit():
		case len(best) == 0 || x.priority > best[0].priority:
			best = []*consumer{x}
		case x.priority == best[0].priority:
			best = append(best, x)
		}
	}
	return best
}

// handTo gives the head of q to one of the consumers that may have it.
func (v *VHost) handTo(q *queue, c *Copy, takers []*consumer) {
	ids := make([]ConsumerID, len(takers))
	for i, x := range takers {
		ids[i] = ConsumerID{x.channel.id, x.tag}
	}
	x := takers[v.Choices.Taker(ids)]
	x.channel.tags++
	v.answer(x.channel.id, Delivered, "deliver %s tag=%d %s", x.tag, x.channel.tags, v.show(q, c))
	v.hand(x.channel, q, c, x, x.noAck)
}

// hand makes a copy unacked, or ends it where nothing is to be settled.
func (v *VHost) hand(ch *channel, q *queue, c *Copy, x *consumer, noAck bool) {
	if noAck {
		v.end(q, c, "acked")
		return
	}
	c.Place, c.fresh = Unacked, false
	d := &delivery{tag: ch.tags, queue: q, copy: c, consumer: x}
	timeout := q.settings.consumerTimeout
	if x != nil && x.timeout >= 0 {
		timeout = x.timeout
	}
	if timeout > 0 {
		d.due = v.Now + timeout
	}
	ch.unacked = append(ch.unacked, d)
}

// timeOut takes back what a channel has not settled in time, which is no failure. Its consumers are cancelled; a
// channel that holds such a message from a get is closed. Source: docs/compat/quorum-and-retry.md#7.
func (v *VHost) timeOut(ch *channel) {
	var late []*delivery
	for _, d := range ch.unacked {
		if d.due != 0 && d.due <= v.Now && v.has(d) {
			late = append(late, d)
		}
	}
	if slices.ContainsFunc(late, func(d *delivery) bool { return d.consumer == nil }) {
		for _, d := range late { // the end of the channel is a failure of the others
			v.giveBack(ch, d, false)
		}
		v.answer(ch.id, Answered, "refused %d", amqp.CodePreconditionFailed)
		v.closeChannel(ch)
		return
	}
	for _, d := range late {
		for _, q := range slices.Clone(v.queues) {
			if i := slices.Index(q.consumers, d.consumer); i >= 0 {
				q.consumers = slices.Delete(q.consumers, i, i+1)
				v.answer(ch.id, Cancelled, "cancelled %s", d.consumer.tag)
				v.consumerLeft(q)
			}
		}
		v.giveBack(ch, d, false)
		ch.late = append(ch.late, d.tag)
	}
}

// get decides basic.get. Source: AMQP basic.get.
func (v *VHost) get(ch *channel, c *Command) uint16 {
	q := v.queue(c.Name)
	if q == nil {
		return amqp.CodeNotFound
	}
	v.used(q)
	x := q.head()
	for x != nil && x.due(v.Now) {
		v.die(q, x, expired)
		x = q.head()
	}
	if x == nil {
		v.answer(ch.id, Answered, "got none")
		return 0
	}
	n, _ := q.count(Ready)
	ch.tags++
	v.answer(ch.id, Answered, "got tag=%d left=%d %s", ch.tags, n-1, v.show(q, x))
	v.hand(ch, q, x, nil, c.NoAck)
	return 0
}

// consume decides basic.consume. Source: AMQP basic.consume.
func (v *VHost) consume(ch *channel, c *Command) uint16 {
	q := v.queue(c.Name)
	if q == nil {
		return amqp.CodeNotFound
	}
	if q.quorum && ch.prefetch > 0 { // docs/compat/quorum-and-retry.md#10
		return amqp.CodeNotImplemented
	}
	for _, o := range v.queues {
		for _, x := range o.consumers {
			if x.channel == ch && x.tag == c.Consumer {
				return amqp.CodeNotAllowed
			}
		}
	}
	x := &consumer{tag: c.Consumer, channel: ch, prefetch: ch.each, noAck: c.NoAck, timeout: -1}
	x.priority, _ = number(c.Arguments, "x-priority")
	if n, ok := number(c.Arguments, "x-consumer-timeout"); ok {
		x.timeout = n
	}
	q.consumers = append(q.consumers, x)
	q.consumed = true
	q.unused = 0
	return 0
}

// cancel decides basic.cancel: what the consumer holds stays with its channel. Source: AMQP basic.cancel.
func (v *VHost) cancel(ch *channel, c *Command) {
	for _, q := range slices.Clone(v.queues) {
		n := len(q.consumers)
		q.consumers = slices.DeleteFunc(q.consumers, func(x *consumer) bool { return x.channel == ch && x.tag == c.Consumer })
		if len(q.consumers) < n {
			v.consumerLeft(q)
		}
	}
}

// consumerLeft lets auto-delete strike, or the queue's own expiry begin.
func (v *VHost) consumerLeft(q *queue) {
	switch {
	case len(q.consumers) > 0:
	case q.autoDelete:
		v.deleteQueue(q)
	default:
		v.used(q)
	}
}

// closeChannel ends a channel: its consumers go, then what is unacked returns in the order of delivery.
// Source: AMQP channel.close; docs/compat/quorum-and-retry.md#2.
func (v *VHost) closeChannel(ch *channel) {
	var left []*queue
	for _, q := range v.queues {
		n := len(q.consumers)
		q.consumers = slices.DeleteFunc(q.consumers, func(x *consumer) bool { return x.channel == ch })
		if len(q.consumers) < n {
			left = append(left, q)
		}
	}
	for _, d := range slices.Clone(ch.unacked) {
		v.giveBack(ch, d, true)
	}
	delete(v.channels, ch.id)
	for _, q := range left {
		v.consumerLeft(q)
	}
}

// Outstanding lists the tags that a channel has to settle.
func (v *VHost) Outstanding(channel int) (tags []uint64) {
	if ch := v.channels[channel]; ch != nil {
		for _, d := range ch.unacked {
			tags = append(tags, d.tag)
		}
	}
	return tags
}

// Late lists the tags that were taken back from a channel, and that it has not settled since.
func (v *VHost) Late(channel int) []uint64 {
	if ch := v.channels[channel]; ch != nil {
		return slices.Clone(ch.late)
	}
	return nil
}

// Open reports whether a channel is open.
func (v *VHost) Open(channel int) bool { return v.channels[channel] != nil }
