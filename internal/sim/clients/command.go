package clients

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

// Command draws what somebody asks for next.
func (cl *Clients) Command() (vhost.Command, bool) {
	k := cl.dice.IntN(1000)
	if len(cl.Connections) == 0 || k < 12 && len(cl.Connections) < 4 {
		return cl.Connect(), true
	}
	n := cl.Connections[cl.dice.IntN(len(cl.Connections))]
	switch {
	case !n.Broken && !n.Stopped && k == 14: // what it asks for until it ends is done
		return vhost.Command{Kind: vhost.StopDeliveries, Conn: n.ID}, true
	case n.Broken, k < 15, n.Stopped && k%8 == 0:
		return vhost.Command{Kind: vhost.Disconnect, Conn: n.ID}, true
	}
	if cl.view.Busy(n.ID) {
		return vhost.Command{}, false
	}
	if len(n.Channels) == 0 || k < 35 && len(n.Channels) < 3 {
		return cl.OpenChannel(n), true
	}
	if k < 90 && n.Arrived > 0 {
		c := vhost.Command{Kind: vhost.Grant, Conn: n.ID, Window: n.Arrived}
		if k%4 == 0 {
			c.WindowMax = 1 + cl.dice.Int64N(40_000)
		}
		n.Arrived = 0
		return c, true
	}
	ch := n.Channels[cl.dice.IntN(len(n.Channels))]
	c := cl.request(ch)
	c.Conn, c.Channel = n.ID, ch.ID
	return c, c.Kind != 0
}

// Connect opens a connection.
func (cl *Clients) Connect() vhost.Command {
	cl.conns++
	n := &Connection{ID: fact.ConnID(cl.conns), Window: 1 + cl.dice.Int64N(40_000), Notify: cl.dice.IntN(3) > 0}
	cl.Connections = append(cl.Connections, n)
	return vhost.Command{Kind: vhost.Connect, Conn: n.ID, Window: n.Window, Definition: &vhost.Definition{
		Name: fmt.Sprintf("client %d", n.ID), CancelNotify: n.Notify,
	}}
}

// OpenChannel opens a channel of a connection.
func (cl *Clients) OpenChannel(n *Connection) vhost.Command {
	cl.chs++
	ch := &Channel{
		ID: vhost.ChannelID(cl.chs), Conn: n, Publishes: map[uint64]uint64{}, Consumers: map[string]*Consumer{},
		Held: map[uint64]*Delivery{}, Late: map[uint64]*Delivery{},
		Doubtful: map[uint64]bool{},
	}
	n.Channels = append(n.Channels, ch)
	cl.Channels[ch.ID] = ch
	return vhost.Command{Kind: vhost.OpenChannel, Conn: n.ID, Channel: ch.ID, Number: uint16(cl.chs)}
}

// request draws what is asked for on a channel.
func (cl *Clients) request(ch *Channel) vhost.Command {
	noWait := cl.dice.IntN(4) == 0
	switch k := cl.dice.IntN(1000); {
	case k < 5:
		return vhost.Command{Kind: vhost.Announce, Exchange: []byte(cl.exchangeName()), Key: []byte(cl.key())}
	case k < 400:
		return cl.publish()
	case k < 600:
		return cl.settlement(ch)
	case k < 660:
		return vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{
			Name: cl.queueName(), NoAck: cl.dice.IntN(3) == 0,
		}}
	case k < 730:
		return cl.consume(noWait)
	case k < 750:
		return vhost.Command{Kind: vhost.Cancel, NoWait: noWait, Definition: &vhost.Definition{
			ConsumerTag: "c" + strconv.Itoa(cl.dice.IntN(20)),
		}}
	case k < 780:
		return vhost.Command{Kind: vhost.Qos, Definition: &vhost.Definition{
			Prefetch: uint16(cl.dice.IntN(6)), Global: cl.dice.IntN(3) == 0,
		}}
	case k < 792:
		return vhost.Command{Kind: vhost.Recover, Requeue: cl.dice.IntN(60) > 0, NoWait: noWait}
	case k < 812:
		return vhost.Command{Kind: vhost.SelectConfirms, NoWait: noWait}
	case k < 816:
		return vhost.Command{Kind: vhost.SelectTx}
	case k < 836:
		if !ch.Tx {
			return vhost.Command{}
		}
		ends := []vhost.CommandKind{vhost.CommitTx, vhost.CommitTx, vhost.RollbackTx}
		return vhost.Command{Kind: ends[cl.dice.IntN(3)]}
	case k < 846:
		return vhost.Command{Kind: vhost.CloseChannel}
	case k < 851:
		return vhost.Command{Kind: vhost.PurgeQueue, NoWait: noWait, Definition: &vhost.Definition{
			Name: cl.queueName(),
		}}
	case k < 859:
		return cl.lostLetters()
	case k < 866:
		return cl.redrive()
	case k < 886 || k < 906 && cl.delays:
		return cl.scheduled()
	}
	c := cl.definition()
	c.NoWait = noWait
	return c
}

// consume subscribes to a queue.
func (cl *Clients) consume(noWait bool) vhost.Command {
	d := &vhost.Definition{Name: cl.queueName(), NoAck: cl.dice.IntN(4) == 0, Exclusive: cl.dice.IntN(12) == 0}
	if noWait || cl.dice.IntN(3) > 0 {
		d.ConsumerTag = "c" + strconv.Itoa(cl.dice.IntN(20))
	}
	if cl.dice.IntN(4) == 0 {
		d.Arguments = append(d.Arguments, amqp.Field{Name: "x-priority", Value: amqp.Int32(int32(cl.dice.IntN(5)) - 2)})
	}
	if cl.dice.IntN(4) == 0 {
		d.Arguments = append(d.Arguments, amqp.Field{Name: "x-consumer-timeout", Value: amqp.Int64(cl.duration())})
	}
	return vhost.Command{Kind: vhost.Consume, NoWait: noWait && d.ConsumerTag != "", Definition: d}
}

// lostLetters sends some lost letters on, or discards them; some that are not there, some twice.
func (cl *Clients) lostLetters() vhost.Command {
	c := vhost.Command{Kind: vhost.Republish, Selection: &vhost.Selection{}}
	if cl.Chance(4) {
		c.Kind = vhost.Discard
	}
	there := cl.view.Ledger().LostStore.Seqs()
	for range 1 + cl.dice.IntN(4) {
		id := uint64(1 + cl.dice.IntN(9))
		if len(there) > 0 && !cl.Chance(9) {
			id = uint64(there[cl.dice.IntN(len(there))]) + 1
		}
		c.Selection.IDs = append(c.Selection.IDs, id)
	}
	if s := c.Selection; cl.Chance(2) {
		s.Elsewhere = true
		if s.RoutingKey = cl.queueName(); cl.Chance(2) {
			s.Exchange, s.RoutingKey = cl.exchangeName(), cl.key()
		}
	}
	return c
}

// settlement acks, nacks or rejects something that the client has seen.
func (cl *Clients) settlement(ch *Channel) vhost.Command {
	var tags []uint64
	for _, t := range ch.Tags(0, true) {
		if ch.Held[t].Shown {
			tags = append(tags, t)
		}
	}
	if cl.Chance(4) { // the client may not know that it is late
		for _, t := range slices.Sorted(maps.Keys(ch.Late)) {
			if ch.Late[t].Shown {
				tags = append(tags, t)
			}
		}
	}
	c := vhost.Command{Kind: vhost.Ack, Multiple: cl.dice.IntN(4) == 0}
	switch cl.dice.IntN(8) {
	case 0, 1:
		c.Kind, c.Requeue = vhost.Nack, cl.dice.IntN(2) == 0
	case 2, 3:
		c.Kind, c.Multiple, c.Requeue = vhost.Reject, false, cl.dice.IntN(3) == 0
	}
	switch {
	case cl.dice.IntN(300) == 0:
		c.Tag = uint64(cl.dice.IntN(20)) + 1
	case len(tags) == 0:
		return vhost.Command{}
	default:
		c.Tag = tags[cl.dice.IntN(len(tags))]
		if c.Multiple && cl.dice.IntN(4) == 0 {
			c.Tag = 0
		}
	}
	return c
}

// publish makes a message that there is only one of.
func (cl *Clients) publish() vhost.Command {
	m := &Message{TTL: -1, Step: cl.view.Step(), Persistent: cl.dice.IntN(3) > 0}
	size := 8 + cl.dice.IntN(60)
	if cl.Chance(12) {
		size = 8 + cl.dice.IntN(9000)
	}
	if cl.Chance(4) {
		m.Priority = uint8(cl.dice.IntN(7))
	}
	if cl.Chance(4) {
		m.TTL = cl.duration()
	}
	exchange, key := cl.exchangeName(), cl.key()
	if cl.Chance(2) {
		exchange, key = "", cl.queueName()
	}
	m.Exchange, m.Keys = exchange, []string{key}
	if cl.Chance(5) {
		m.Headers = append(m.Headers, amqp.Field{Name: "h", Value: amqp.Int32(int32(cl.dice.IntN(3)))})
	}
	if cl.Chance(6) || cl.delays && cl.Chance(2) {
		cl.delay(m)
	}
	var hidden amqp.Table // from consumers
	for _, name := range [2]string{"CC", "BCC"} {
		if cl.Chance(12) {
			k := cl.queueName()
			m.Keys = append(m.Keys, k)
			f := amqp.Field{Name: name, Value: amqp.Array(amqp.String(k))}
			if name == "CC" {
				m.Headers = append(m.Headers, f)
			} else {
				hidden = append(hidden, f)
			}
		}
	}
	c := cl.Compose(m, hidden, key, size)
	c.Exchange, c.Mandatory = []byte(exchange), cl.Chance(4)
	return c
}

// Compose gives a message its number, which its body begins with, and its properties.
func (cl *Clients) Compose(m *Message, hidden amqp.Table, key string, size int) vhost.Command {
	cl.Published++
	cl.Messages[cl.Published] = m
	m.Body = make([]byte, size)
	binary.BigEndian.PutUint64(m.Body, cl.Published)
	for i := 8; i < size; i++ {
		m.Body[i] = byte(cl.Published) + byte(i)
	}
	c := vhost.Command{Kind: vhost.Publish, Key: []byte(key), Properties: m.properties(hidden), Body: m.Body}
	if cl.Published%3 == 0 { // some have space for the head of a record, some have too little
		c.Owned = append(make([]byte, 41*int(cl.Published/3%8)), m.Body...)
		c.Body = c.Owned[len(c.Owned)-size:]
	}
	return c
}

// properties are a message's as its publisher sends them, with headers that consumers do not see.
func (m *Message) properties(hidden amqp.Table) []byte {
	p := amqp.Properties{Headers: append(m.Headers[:len(m.Headers):len(m.Headers)], hidden...)}
	if len(p.Headers) > 0 {
		p.Has |= amqp.FlagHeaders
	}
	if m.Persistent {
		p.Has, p.DeliveryMode = p.Has|amqp.FlagDeliveryMode, amqp.Persistent
	}
	if m.Priority > 0 {
		p.Has, p.Priority = p.Has|amqp.FlagPriority, m.Priority
	}
	if m.TTL >= 0 {
		p.Has, p.Expiration = p.Has|amqp.FlagExpiration, strconv.FormatInt(m.TTL, 10)
	}
	return amqp.AppendProperties(nil, &p)
}

// RawHeaders are a message's headers as on the wire, without the size before them.
func (m *Message) RawHeaders() []byte {
	if len(m.Headers) == 0 {
		return nil
	}
	var scan amqp.PropertyScan
	p := amqp.Properties{Has: amqp.FlagHeaders, Headers: m.Headers}
	if scan.Scan(amqp.AppendProperties(nil, &p)) != nil {
		return nil
	}
	return scan.Headers
}
