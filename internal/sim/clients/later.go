package clients

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// delay lets a message be for later: by a delay, with a key or without one, by a time of delivery, or both; or by a
// delay that is none.
func (cl *Clients) delay(m *Message) {
	header := func(name string, v amqp.Value) { m.Headers = append(m.Headers, amqp.Field{Name: name, Value: v}) }
	switch n := cl.duration() - 1; {
	case cl.Chance(40):
		m.Nonsense = true
		header("x-delay", amqp.String("soon"))
	case cl.Chance(4):
		m.Delay = max(n, 0)
		header("x-delay", amqp.String(strconv.FormatInt(n, 10)))
	default:
		m.Delay = max(n, 0)
		header("x-delay", amqp.Int32(int32(n)))
	}
	if m.Delay > 0 && cl.Chance(6) {
		m.Key = []string{"a", "b"}[cl.dice.IntN(2)]
		header(vhost.KeyHeader, amqp.String(m.Key))
	}
	if cl.Chance(6) {
		m.DeliverAt = int64(cl.view.Wall()) + cl.duration()*2 - 3
		header("x-opt-delivery-time", amqp.Int64(m.DeliverAt))
	}
}

// scheduled cancels, moves or fires some messages that wait, in delayed exchanges and queues, or purges an exchange's;
// some that wait no more, some twice.
func (cl *Clients) scheduled() vhost.Command {
	if cl.Chance(15) {
		name := cl.exchangeName()
		return vhost.Command{Kind: vhost.PurgeSchedule, Definition: &vhost.Definition{Name: name}}
	}
	kinds := [...]vhost.CommandKind{vhost.Unschedule, vhost.Reschedule, vhost.FireNow}
	c := vhost.Command{Kind: kinds[cl.dice.IntN(len(kinds))], Selection: &vhost.Selection{}}
	var there, all []vhost.ScheduledID
	for q := range cl.view.Ledger().All() {
		for _, s := range q.Seqs() {
			if q.Copies[s].State == queue.Waiting {
				there = append(there, vhost.ScheduledID{Schedule: q.ID, Number: uint64(s)})
			}
		}
		if q.Kept != nil {
			all = append(all, vhost.ScheduledID{Schedule: q.ID, Number: uint64(q.Last[0])})
		}
	}
	for range 1 + cl.dice.IntN(5) {
		id := vhost.ScheduledID{Schedule: fact.QueueID(cl.dice.IntN(9)), Number: uint64(cl.dice.IntN(9))}
		switch ids := c.Selection.Scheduled; {
		case len(ids) > 0 && cl.Chance(8):
			id = ids[0]
		case len(there) > 0 && !cl.Chance(3):
			id = there[cl.dice.IntN(len(there))]
		case len(all) > 0:
			id = all[cl.dice.IntN(len(all))]
			id.Number = uint64(cl.dice.IntN(int(id.Number) + 2))
		}
		c.Selection.Scheduled = append(c.Selection.Scheduled, id)
	}
	c.Selection.At = cl.view.Wall() + deadline.Instant(cl.duration()-5)
	return c
}
