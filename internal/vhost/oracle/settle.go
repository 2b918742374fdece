package oracle

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// settle decides basic.ack, basic.nack and basic.reject, in the order of delivery.
// Source: AMQP basic.ack, basic.reject; RabbitMQ nack; docs/compat/dead-lettering.md#10.
func (v *VHost) settle(ch *channel, c *Command) uint16 {
	found := slices.ContainsFunc(ch.unacked, func(d *delivery) bool { return d.tag == c.Tag })
	if i := slices.Index(ch.late, c.Tag); !found && i >= 0 {
		ch.late = slices.Delete(ch.late, i, i+1)
		found = true
	}
	if !found && !(c.Multiple && c.Tag == 0) {
		return amqp.CodePreconditionFailed
	}
	for _, d := range slices.Clone(ch.unacked) {
		if d.tag != c.Tag && !(c.Multiple && (c.Tag == 0 || d.tag < c.Tag)) {
			continue
		}
		if c.Kind != Ack && c.Requeue {
			v.giveBack(ch, d, c.Kind == Reject)
			continue
		}
		ch.settled(d)
		switch {
		case !v.has(d):
		case c.Kind == Ack:
			v.end(d.queue, d.copy, "acked")
		case c.Kind == Nack && v.isOn("reject-reasons"):
			v.die(d.queue, d.copy, nacked)
		default:
			v.die(d.queue, d.copy, rejected)
		}
	}
	return 0
}

func (ch *channel) settled(d *delivery) {
	ch.unacked = slices.DeleteFunc(ch.unacked, func(o *delivery) bool { return o == d })
}

// has reports whether the delivery's copy is still there: its queue may be gone.
func (v *VHost) has(d *delivery) bool { return slices.Contains(d.queue.copies, d.copy) }

// giveBack returns a message unsettled: it dies if it has come back too often, or too late; else it waits, or is ready
// where it was. Source: docs/compat/quorum-and-retry.md#1, #2, #5, #6; docs/compat/dead-lettering.md#2.
func (v *VHost) giveBack(ch *channel, d *delivery, failed bool) {
	ch.settled(d)
	if !v.has(d) {
		return
	}
	q, c := d.queue, d.copy
	if q.settings.counts {
		c.Acquired++
		if failed {
			c.Failed++
		}
	}
	c.Redelivered = true
	c.Place = Ready
	switch delay := q.retryDelay(c, failed); {
	case q.settings.limit >= 0 && int64(q.countOf(c)) > q.settings.limit:
		v.die(q, c, deliveryLimit)
	case c.due(v.Now) && !q.settings.headOnly:
		v.die(q, c, expired)
	case delay > 0:
		c.Place, c.Until = Waiting, v.Now+delay
	}
}

// countOf is the count that the limit and the backoff look at. Source: docs/compat/quorum-and-retry.md#2; ours,
// docs/compat/differences.md#queues.
func (q *queue) countOf(c *Copy) int {
	if q.settings.countMode == "failed" {
		return c.Failed
	}
	return c.Acquired
}

// retryDelay is how long a returned message waits, ms; 0 for not at all. Source: docs/compat/quorum-and-retry.md#6.
func (q *queue) retryDelay(c *Copy, failed bool) int64 {
	s := &q.settings
	if s.retryMin <= 0 || s.retryType == "disabled" || s.retryType == "failed" && !failed || s.retryType == "returned" && failed {
		return 0
	}
	return min(s.retryMin*int64(max(1, q.countOf(c))), max(s.retryMax, 0))
}
