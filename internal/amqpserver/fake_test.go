package amqpserver

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/place"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// script is an Engine whose answers a test writes. Like the real one it may step on the poster's goroutine.
type script struct {
	view   *access.View
	refuse *amqp.Error                                // of Attach
	answer func(l *scriptLink, c *vhost.Command) bool // false: as usual
	links  chan *scriptLink
	lastID atomic.Uint64
}

func newScript() *script {
	m := access.New()
	for _, c := range access.StandardDefaults().Commands(access.Salt{1, 2, 3, 4}) {
		var out access.Outcome
		if err := m.Step(c, &out); err != nil {
			panic(err)
		}
	}
	return &script{view: m.View(), links: make(chan *scriptLink, 100)}
}

func (s *script) Access() *access.View { return s.view }

func (s *script) Authenticate(user, password string, _ netip.Addr) (bool, string) {
	return s.view.Authenticate(user, password)
}

func (s *script) Attach(d engine.Door, info engine.ConnInfo) (Link, error) {
	if s.refuse != nil {
		return nil, s.refuse
	}
	l := &scriptLink{script: s, info: info, door: d, id: vhost.ConnID(s.lastID.Add(1))}
	s.links <- l
	return l, nil
}

// scriptLink is a connection to a script.
type scriptLink struct {
	script  *script
	info    engine.ConnInfo
	id      vhost.ConnID
	written atomic.Int64

	mu       sync.Mutex // serialises the door, as a vhost's owner does
	door     engine.Door
	commands []vhost.Command // all that came, with slices of their own
	batches  int
	dead     map[vhost.ChannelID]bool
	parks    bool            // batches are kept
	parked   []*engine.Batch // those
	closed   bool
}

func (l *scriptLink) Conn() vhost.ConnID          { return l.id }
func (l *scriptLink) NewChannel() vhost.ChannelID { return vhost.ChannelID(l.script.lastID.Add(1)) }
func (l *scriptLink) Written(cost int64)          { l.written.Add(cost) }

func (l *scriptLink) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *scriptLink) Post(b *engine.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.post(b)
}

func (l *scriptLink) post(b *engine.Batch) {
	l.batches++
	if l.parks {
		l.parked = append(l.parked, b)
		return
	}
	for i := range b.Commands {
		c := own(&b.Commands[i])
		l.commands = append(l.commands, c)
		if l.dead[c.Channel] || l.closed {
			continue
		}
		if l.script.answer == nil || !l.script.answer(l, &c) {
			l.usual(&c)
		}
	}
	l.door.Flush()
	for i := range b.Commands { // what the door lends must not be looked at later
		if b.Commands[i].Kind == vhost.Announce {
			continue // the channel's own
		}
		for _, p := range [][]byte{b.Commands[i].Exchange, b.Commands[i].Key, b.Commands[i].Properties, b.Commands[i].Body} {
			clear(p)
		}
	}
	if b.Free != nil {
		b.Free(b)
	}
}

// park makes the engine fall behind; unpark lets it go on.
func (l *scriptLink) park() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parks = true
}

func (l *scriptLink) unpark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	parked := l.parked
	l.parks, l.parked = false, nil
	for _, b := range parked {
		l.post(b)
	}
}

// usual answers as an empty virtual host would that has every queue and exchange.
func (l *scriptLink) usual(c *vhost.Command) {
	switch c.Kind {
	case vhost.Publish, vhost.Announce, vhost.Ack, vhost.Nack, vhost.Reject:
		return
	case vhost.Get:
		l.door.Emit(&vhost.Effect{Kind: vhost.DeliverNone, Channel: c.Channel, Command: c.Kind})
		return
	}
	if c.NoWait {
		return
	}
	e := vhost.Effect{Kind: vhost.Done, Command: c.Kind, Channel: c.Channel}
	if d := c.Definition; d != nil {
		e.Name = d.Name
		if c.Kind == vhost.Consume || c.Kind == vhost.Cancel {
			e.Name = d.ConsumerTag
		}
	}
	l.door.Emit(&e)
	if c.Kind == vhost.CloseChannel {
		l.kill(c.Channel)
	}
}

// kill makes a channel ignore what follows, as after its end.
func (l *scriptLink) kill(id vhost.ChannelID) {
	if l.dead == nil {
		l.dead = make(map[vhost.ChannelID]bool)
	}
	l.dead[id] = true
}

// closeWith refuses a command.
func (l *scriptLink) closeWith(c *vhost.Command, err *amqp.Error) {
	l.kill(c.Channel)
	l.door.Emit(&vhost.Effect{Kind: vhost.Closed, Command: c.Kind, Channel: c.Channel, Err: err})
}

// emit sends effects of the broker's own accord.
func (l *scriptLink) emit(effects ...vhost.Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range effects {
		l.door.Emit(&effects[i])
	}
	l.door.Flush()
}

// got returns the commands of these kinds that came, all without kinds.
func (l *scriptLink) got(kinds ...vhost.CommandKind) []vhost.Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.commands), func(c vhost.Command) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, c.Kind)
	})
}

func (l *scriptLink) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func own(c *vhost.Command) vhost.Command {
	o := *c
	o.Exchange, o.Key = slices.Clone(c.Exchange), slices.Clone(c.Key)
	o.Properties, o.Body = slices.Clone(c.Properties), slices.Clone(c.Body)
	return o
}

// message is a delivery as the machine stores it: flags, exchange, key, size of properties, properties, body.
func message(exchange, key, properties, body string) vhost.Delivered {
	r := amqp.AppendShortString([]byte{0}, exchange)
	r = amqp.AppendShortString(r, key)
	r = binary.BigEndian.AppendUint32(r, uint32(len(properties)))
	r = append(append(r, properties...), body...)
	return vhost.Delivered{Record: r, Ref: place.Ref{Size: uint32(len(r))}}
}
