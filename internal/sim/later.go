package sim

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// delays says which lives have many messages that are for later.
func (w *world) delays() bool { return w.o.Seed%4 == 3 }

// delay lets a message be for later: by a delay, with a key or without one, by a time of delivery, or both; or by a
// delay that is none.
func (w *world) delay(m *message) {
	header := func(name string, v amqp.Value) { m.headers = append(m.headers, amqp.Field{Name: name, Value: v}) }
	switch n := w.duration() - 1; {
	case w.chance(40):
		m.nonsense = true
		header("x-delay", amqp.String("soon"))
	case w.chance(4):
		m.delay = max(n, 0)
		header("x-delay", amqp.String(strconv.FormatInt(n, 10)))
	default:
		m.delay = max(n, 0)
		header("x-delay", amqp.Int32(int32(n)))
	}
	if m.delay > 0 && w.chance(6) {
		m.key = []string{"a", "b"}[w.dice.IntN(2)]
		header(vhost.KeyHeader, amqp.String(m.key))
	}
	if w.chance(6) {
		m.deliverAt = int64(w.stamp().Wall) + w.duration()*2 - 3
		header("x-opt-delivery-time", amqp.Int64(m.deliverAt))
	}
}

// scheduled cancels, moves or fires some messages that wait, in delayed exchanges and queues, or purges an exchange's;
// some that wait no more, some twice.
func (w *world) scheduled() vhost.Command {
	if w.chance(15) {
		name := w.exchangeName()
		return vhost.Command{Kind: vhost.PurgeSchedule, Definition: &vhost.Definition{Name: name}}
	}
	kinds := [...]vhost.CommandKind{vhost.Unschedule, vhost.Reschedule, vhost.FireNow}
	c := vhost.Command{Kind: kinds[w.dice.IntN(len(kinds))], Selection: &vhost.Selection{}}
	var there, all []vhost.ScheduledID
	for q := range w.live.All() {
		for _, s := range q.Seqs() {
			if q.Copies[s].State == queue.Waiting {
				there = append(there, vhost.ScheduledID{Schedule: q.ID, Number: uint64(s)})
			}
		}
		if q.Kept != nil {
			all = append(all, vhost.ScheduledID{Schedule: q.ID, Number: uint64(q.Last[0])})
		}
	}
	for range 1 + w.dice.IntN(5) {
		id := vhost.ScheduledID{Schedule: fact.QueueID(w.dice.IntN(9)), Number: uint64(w.dice.IntN(9))}
		switch ids := c.Selection.Scheduled; {
		case len(ids) > 0 && w.chance(8):
			id = ids[0]
		case len(there) > 0 && !w.chance(3):
			id = there[w.dice.IntN(len(there))]
		case len(all) > 0:
			id = all[w.dice.IntN(len(all))]
			id.Number = uint64(w.dice.IntN(int(id.Number) + 2))
		}
		c.Selection.Scheduled = append(c.Selection.Scheduled, id)
	}
	c.Selection.At = w.stamp().Wall + deadline.Instant(w.duration()-5)
	return c
}
