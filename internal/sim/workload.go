package sim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// work lets clients ask for a few things; all of it is one batch, as after one read of a socket or several.
func (w *world) work() {
	recoveries := w.result.Recoveries
	if !w.heedRoom() {
		return
	}
	for range 1 + w.dice.IntN(6) {
		c, ok := w.command()
		if !ok {
			continue
		}
		if w.full && w.vhost.Grows(&c) {
			continue // publishers wait while the disk is full
		}
		w.decide(c)
		if w.violation != nil || w.result.Recoveries != recoveries || w.deferred != nil {
			return
		}
	}
	w.finish()
	w.pace()
}

// pass lets time go by, little or much.
func (w *world) pass() {
	w.clock += []int64{0, 300_000, 1_000_000, 7_400_000, 40_000_000, 1_000_000_000}[w.dice.IntN(6)] * (1 + w.dice.Int64N(2))
	if w.dice.IntN(20) == 0 {
		w.skew = w.dice.Int64N(10_000_000_000) - 5_000_000_000
	}
}

// tick lets everything that is due happen, round by round, as the engine does.
func (w *world) tick() {
	recoveries := w.result.Recoveries
	if !w.heedRoom() {
		return
	}
	for w.violation == nil {
		if at, ok := w.vhost.Due(); !ok || at > w.stamp().Now {
			w.checkPunctual()
			return
		}
		w.decide(vhost.Command{Kind: vhost.Tick})
		if w.violation != nil || w.result.Recoveries != recoveries {
			return
		}
		w.finish()
		if w.pace(); w.result.Recoveries != recoveries || !w.heedRoom() {
			return
		}
	}
}

// command draws what somebody asks for next.
func (w *world) command() (vhost.Command, bool) {
	k := w.dice.IntN(1000)
	if len(w.connections) == 0 || k < 12 && len(w.connections) < 4 {
		return w.connect(), true
	}
	n := w.connections[w.dice.IntN(len(w.connections))]
	if n.broken || k < 15 {
		return vhost.Command{Kind: vhost.Disconnect, Conn: n.id}, true
	}
	if w.vhost.Busy(n.id) {
		return vhost.Command{}, false
	}
	if len(n.channels) == 0 || k < 35 && len(n.channels) < 3 {
		return w.openChannel(n), true
	}
	if k < 90 && n.arrived > 0 {
		c := vhost.Command{Kind: vhost.Grant, Conn: n.id, Window: n.arrived}
		n.arrived = 0
		return c, true
	}
	ch := n.channels[w.dice.IntN(len(n.channels))]
	c := w.request(ch)
	c.Conn, c.Channel = n.id, ch.id
	return c, c.Kind != 0
}

func (w *world) connect() vhost.Command {
	w.conns++
	n := &connection{id: fact.ConnID(w.conns), window: 1 + w.dice.Int64N(40_000), notify: w.dice.IntN(3) > 0}
	w.connections = append(w.connections, n)
	return vhost.Command{Kind: vhost.Connect, Conn: n.id, Window: n.window, Definition: &vhost.Definition{
		Name: fmt.Sprintf("client %d", n.id), CancelNotify: n.notify,
	}}
}

func (w *world) openChannel(n *connection) vhost.Command {
	w.chs++
	ch := &channel{
		id: vhost.ChannelID(w.chs), conn: n, publishes: map[uint64]uint64{}, consumers: map[string]*consumer{},
		held: map[uint64]*delivery{}, late: map[uint64]*delivery{},
	}
	n.channels = append(n.channels, ch)
	w.channels[ch.id] = ch
	return vhost.Command{Kind: vhost.OpenChannel, Conn: n.id, Channel: ch.id, Number: uint16(w.chs)}
}

// request draws what is asked for on a channel.
func (w *world) request(ch *channel) vhost.Command {
	noWait := w.dice.IntN(4) == 0
	switch k := w.dice.IntN(1000); {
	case k < 5:
		return vhost.Command{Kind: vhost.Announce, Exchange: []byte(w.exchangeName()), Key: []byte(w.key())}
	case k < 400:
		return w.publish()
	case k < 600:
		return w.settlement(ch)
	case k < 660:
		return vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: w.queueName(), NoAck: w.dice.IntN(3) == 0}}
	case k < 730:
		return w.consume(noWait)
	case k < 750:
		return vhost.Command{Kind: vhost.Cancel, NoWait: noWait, Definition: &vhost.Definition{ConsumerTag: "c" + strconv.Itoa(w.dice.IntN(20))}}
	case k < 780:
		return vhost.Command{Kind: vhost.Qos, Definition: &vhost.Definition{Prefetch: uint16(w.dice.IntN(6)), Global: w.dice.IntN(3) == 0}}
	case k < 792:
		return vhost.Command{Kind: vhost.Recover, Requeue: w.dice.IntN(60) > 0, NoWait: noWait}
	case k < 812:
		return vhost.Command{Kind: vhost.SelectConfirms, NoWait: noWait}
	case k < 816:
		return vhost.Command{Kind: vhost.SelectTx}
	case k < 836:
		if !ch.tx {
			return vhost.Command{}
		}
		return vhost.Command{Kind: []vhost.CommandKind{vhost.CommitTx, vhost.CommitTx, vhost.RollbackTx}[w.dice.IntN(3)]}
	case k < 846:
		return vhost.Command{Kind: vhost.CloseChannel}
	case k < 851:
		return vhost.Command{Kind: vhost.PurgeQueue, NoWait: noWait, Definition: &vhost.Definition{Name: w.queueName()}}
	case k < 859:
		return w.lostLetters()
	case k < 866:
		return w.redrive()
	case k < 886 || k < 906 && w.delays():
		return w.scheduled()
	}
	c := w.definition()
	c.NoWait = noWait
	return c
}

// consume subscribes to a queue.
func (w *world) consume(noWait bool) vhost.Command {
	d := &vhost.Definition{Name: w.queueName(), NoAck: w.dice.IntN(4) == 0, Exclusive: w.dice.IntN(12) == 0}
	if noWait || w.dice.IntN(3) > 0 {
		d.ConsumerTag = "c" + strconv.Itoa(w.dice.IntN(20))
	}
	if w.dice.IntN(4) == 0 {
		d.Arguments = append(d.Arguments, amqp.Field{Name: "x-priority", Value: amqp.Int32(int32(w.dice.IntN(5)) - 2)})
	}
	if w.dice.IntN(4) == 0 {
		d.Arguments = append(d.Arguments, amqp.Field{Name: "x-consumer-timeout", Value: amqp.Int64(w.duration())})
	}
	return vhost.Command{Kind: vhost.Consume, NoWait: noWait && d.ConsumerTag != "", Definition: d}
}

// lostLetters sends some letters of the shelf on, or discards them; some that are not there, some twice.
func (w *world) lostLetters() vhost.Command {
	c := vhost.Command{Kind: vhost.Republish, Selection: &vhost.Selection{}}
	if w.chance(4) {
		c.Kind = vhost.Discard
	}
	there := w.live.Shelf.Seqs()
	for range 1 + w.dice.IntN(4) {
		id := uint64(1 + w.dice.IntN(9))
		if len(there) > 0 && !w.chance(9) {
			id = uint64(there[w.dice.IntN(len(there))]) + 1
		}
		c.Selection.IDs = append(c.Selection.IDs, id)
	}
	if s := c.Selection; w.chance(2) {
		s.Elsewhere = true
		if s.RoutingKey = w.queueName(); w.chance(2) {
			s.Exchange, s.RoutingKey = w.exchangeName(), w.key()
		}
	}
	return c
}

// settlement acks, nacks or rejects something that the client has seen.
func (w *world) settlement(ch *channel) vhost.Command {
	var tags []uint64
	for _, t := range ch.tags(0, true) {
		if ch.held[t].shown {
			tags = append(tags, t)
		}
	}
	if w.chance(4) { // the client may not know that it is late
		for _, t := range slices.Sorted(maps.Keys(ch.late)) {
			if ch.late[t].shown {
				tags = append(tags, t)
			}
		}
	}
	c := vhost.Command{Kind: vhost.Ack, Multiple: w.dice.IntN(4) == 0}
	switch w.dice.IntN(8) {
	case 0, 1:
		c.Kind, c.Requeue = vhost.Nack, w.dice.IntN(2) == 0
	case 2, 3:
		c.Kind, c.Multiple, c.Requeue = vhost.Reject, false, w.dice.IntN(3) == 0
	}
	switch {
	case w.dice.IntN(300) == 0:
		c.Tag = uint64(w.dice.IntN(20)) + 1
	case len(tags) == 0:
		return vhost.Command{}
	default:
		c.Tag = tags[w.dice.IntN(len(tags))]
		if c.Multiple && w.dice.IntN(4) == 0 {
			c.Tag = 0
		}
	}
	return c
}

// publish makes a message that there is only one of.
func (w *world) publish() vhost.Command {
	m := &message{ttl: -1, step: w.step, persistent: w.dice.IntN(3) > 0}
	size := 8 + w.dice.IntN(60)
	if w.chance(12) {
		size = 8 + w.dice.IntN(9000)
	}
	if w.chance(4) {
		m.priority = uint8(w.dice.IntN(7))
	}
	if w.chance(4) {
		m.ttl = w.duration()
	}
	exchange, key := w.exchangeName(), w.key()
	if w.chance(2) {
		exchange, key = "", w.queueName()
	}
	m.exchange, m.keys = exchange, []string{key}
	if w.chance(5) {
		m.headers = append(m.headers, amqp.Field{Name: "h", Value: amqp.Int32(int32(w.dice.IntN(3)))})
	}
	if w.chance(6) || w.delays() && w.chance(2) {
		w.delay(m)
	}
	var hidden amqp.Table // from consumers
	for _, name := range [2]string{"CC", "BCC"} {
		if w.chance(12) {
			k := w.queueName()
			m.keys = append(m.keys, k)
			f := amqp.Field{Name: name, Value: amqp.Array(amqp.String(k))}
			if name == "CC" {
				m.headers = append(m.headers, f)
			} else {
				hidden = append(hidden, f)
			}
		}
	}
	c := w.compose(m, hidden, key, size)
	c.Exchange, c.Mandatory = []byte(exchange), w.chance(4)
	return c
}

// compose gives a message its number, which its body begins with, and its properties.
func (w *world) compose(m *message, hidden amqp.Table, key string, size int) vhost.Command {
	w.published++
	w.messages[w.published] = m
	m.body = make([]byte, size)
	binary.BigEndian.PutUint64(m.body, w.published)
	for i := 8; i < size; i++ {
		m.body[i] = byte(w.published) + byte(i)
	}
	return vhost.Command{Kind: vhost.Publish, Key: []byte(key), Properties: m.properties(hidden), Body: m.body}
}

// properties are a message's as its publisher sends them, with headers that consumers do not see.
func (m *message) properties(hidden amqp.Table) []byte {
	p := amqp.Properties{Headers: append(m.headers[:len(m.headers):len(m.headers)], hidden...)}
	if len(p.Headers) > 0 {
		p.Has |= amqp.FlagHeaders
	}
	if m.persistent {
		p.Has, p.DeliveryMode = p.Has|amqp.FlagDeliveryMode, amqp.Persistent
	}
	if m.priority > 0 {
		p.Has, p.Priority = p.Has|amqp.FlagPriority, m.priority
	}
	if m.ttl >= 0 {
		p.Has, p.Expiration = p.Has|amqp.FlagExpiration, strconv.FormatInt(m.ttl, 10)
	}
	return amqp.AppendProperties(nil, &p)
}

// rawHeaders are a message's headers as on the wire, without the size before them.
func (m *message) rawHeaders() []byte {
	if len(m.headers) == 0 {
		return nil
	}
	var scan amqp.PropertyScan
	p := amqp.Properties{Has: amqp.FlagHeaders, Headers: m.headers}
	if scan.Scan(amqp.AppendProperties(nil, &p)) != nil {
		return nil
	}
	return scan.Headers
}
