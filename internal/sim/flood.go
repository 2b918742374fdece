package sim

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// flooded says which lives have more messages than one command handles: few, for they take long.
func (w *world) flooded() bool { return w.o.Seed%400 == 7 && w.floods == 0 }

// flood fills one queue, or one delayed exchange, with so many messages, more than are in a chunk, and then lets one
// command concern them all: a limit that was lowered, a deadline that all of them share, a purge, a cancellation. The
// excess leaves portion by portion.
func (w *world) flood(many int) {
	id, ch := w.floodable()
	if ch == nil {
		return
	}
	w.floods++
	name, later := w.live.Lines[id].Name, w.delayedExchange()
	recoveries := w.result.Recoveries
	lost := func() bool {
		return w.violation != nil || w.result.Recoveries != recoveries || w.Channels[ch.ID] == nil
	}
	w.rarely = true
	defer func() { w.rarely = false }()
	for n := many; n > 0 && !lost(); n-- {
		c := w.publishSmall(name, later)
		c.Conn, c.Channel = ch.Conn.ID, ch.ID
		if w.decide(c); n%300 == 0 && !lost() {
			w.finish()
			w.write()
		}
	}
	if lost() {
		return
	}
	w.finish()
	switch k := w.dice.IntN(3); {
	case later != "":
		w.decide(w.crowd(k, later, ch))
	case k == 0:
		w.decide(vhost.Command{Kind: vhost.SetPolicy, Policy: &vhost.Policy{Name: "p0", Definition: amqp.Table{
			{Name: "max-length", Value: amqp.Int64(int64(w.dice.IntN(20)))},
		}}})
	case k == 1:
		w.decide(vhost.Command{Kind: vhost.PurgeQueue, Conn: ch.Conn.ID, Channel: ch.ID, Definition: &vhost.Definition{Name: name}})
	}
	if lost() {
		return
	}
	w.finish()
	w.clock += 400_000_000
	if !lost() {
		w.tick()
	}
}

// floodable finds a queue, and a channel that may publish to it.
func (w *world) floodable() (fact.QueueID, *clients.Channel) {
	ids := slices.Sorted(maps.Keys(w.live.Lines))
	ids = slices.DeleteFunc(ids, func(id fact.QueueID) bool { return w.live.Lines[id].Kept != nil })
	if len(ids) == 0 || w.full || w.o.FullDisk {
		return 0, nil
	}
	for _, id := range slices.Sorted(maps.Keys(w.Channels)) {
		if ch := w.Channels[id]; !ch.Dead && !ch.Tx && !ch.Conn.Broken {
			return ids[w.dice.IntN(len(ids))], ch
		}
	}
	return 0, nil
}

// delayedExchange is one that is there, or "", at times though there is one.
func (w *world) delayedExchange() string {
	for _, name := range [...]string{"x0", "x1", "x2", "x3"} {
		if x := w.vhost.Topology().Exchange(name); x != nil && x.Delayed && !x.Internal && !w.Chance(4) {
			return name
		}
	}
	return ""
}

// crowd is a command that concerns many scheduled messages: all are purged, or many cancelled, or moved to one instant.
func (w *world) crowd(k int, exchange string, ch *clients.Channel) vhost.Command {
	c := vhost.Command{Kind: vhost.PurgeSchedule, Conn: ch.Conn.ID, Channel: ch.ID, Definition: &vhost.Definition{Name: exchange}}
	q := w.live.ScheduleOf(exchange)
	if k == 0 || q == nil {
		return c
	}
	c.Kind = []vhost.CommandKind{vhost.Unschedule, vhost.Reschedule}[k-1]
	c.Selection = &vhost.Selection{At: w.stamp().Wall + 100}
	for i, s := range q.Seqs() {
		if len(c.Selection.Scheduled) < vhost.SelectionMax && i%7 > 0 {
			c.Selection.Scheduled = append(c.Selection.Scheduled, vhost.ScheduledID{Schedule: q.ID, Number: uint64(s)})
		}
	}
	return c
}

// publishSmall is a message of a few bytes straight to a queue, with one of two lives, or to a delayed exchange.
func (w *world) publishSmall(name, later string) vhost.Command {
	m := &clients.Message{TTL: []int64{-1, 60, 60, 61}[w.dice.IntN(4)], Step: w.step, Persistent: w.dice.IntN(4) > 0, Keys: []string{name}}
	if later == "" {
		return w.Compose(m, nil, name, 8)
	}
	m.Exchange, m.Delay = later, []int64{60, 60, 61, 350}[w.dice.IntN(4)]
	m.Headers = amqp.Table{{Name: "x-delay", Value: amqp.Int64(m.Delay)}}
	c := w.Compose(m, nil, name, 8)
	c.Exchange = []byte(later)
	return c
}
