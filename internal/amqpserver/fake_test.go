package amqpserver

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// script is an Engine whose answers a test writes. Like the real one it may step on the goroutine of Submit.
type script struct {
	view     *accounts.View
	refuse   *amqp.Error                                   // of Attach
	answer   func(s *scriptSession, c *vhost.Command) bool // false: as usual
	ending   func(s *scriptSession)                        // is called before a session has ended
	sessions chan *scriptSession
	lastID   atomic.Uint64
}

func newScript() *script {
	m := accounts.New()
	for _, c := range accounts.StandardDefaults().Commands(accounts.Salt{1, 2, 3, 4}) {
		var out accounts.Outcome
		if err := m.Step(c, &out); err != nil {
			panic(err)
		}
	}
	return &script{view: m.View(), sessions: make(chan *scriptSession, 100)}
}

func (s *script) Accounts() *accounts.View { return s.view }

func (s *script) Authenticate(user, password string, _ netip.Addr) (bool, string) {
	return s.view.Authenticate(user, password)
}

func (s *script) Attach(d engine.Frontend, info engine.ConnInfo) (Session, error) {
	if s.refuse != nil {
		return nil, s.refuse
	}
	session := &scriptSession{script: s, info: info, frontend: d, id: fact.ConnID(s.lastID.Add(1))}
	s.sessions <- session
	return session, nil
}

// scriptSession is a connection to a script.
type scriptSession struct {
	script  *script
	info    engine.ConnInfo
	id      fact.ConnID
	written atomic.Int64

	mu       sync.Mutex // serialises the frontend, as a vhost's owner does
	frontend engine.Frontend
	commands []vhost.Command // all that came, with slices of their own
	batches  int
	paced    atomic.Bool
	dead     map[vhost.ChannelID]bool
	parks    bool            // batches are kept
	parked   []*engine.Batch // those
	closed   bool
}

func (s *scriptSession) Conn() fact.ConnID           { return s.id }
func (s *scriptSession) NewChannel() vhost.ChannelID { return vhost.ChannelID(s.script.lastID.Add(1)) }
func (s *scriptSession) Paced() bool                 { return s.paced.Load() }
func (s *scriptSession) Written(cost int64)          { s.written.Add(cost) }

func (s *scriptSession) Close() {
	if s.script.ending != nil {
		s.script.ending(s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *scriptSession) Submit(b *engine.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.post(b)
}

func (s *scriptSession) post(b *engine.Batch) {
	s.batches++
	if s.parks {
		s.parked = append(s.parked, b)
		return
	}
	for i := range b.Commands {
		c := own(&b.Commands[i])
		s.commands = append(s.commands, c)
		if s.dead[c.Channel] || s.closed {
			continue
		}
		if s.script.answer == nil || !s.script.answer(s, &c) {
			s.usual(&c)
		}
	}
	s.frontend.Flush()
	for i := range b.Commands { // what the frontend lends must not be looked at later
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
func (s *scriptSession) park() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parks = true
}

func (s *scriptSession) unpark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	parked := s.parked
	s.parks, s.parked = false, nil
	for _, b := range parked {
		s.post(b)
	}
}

// usual answers as an empty virtual host would that has every queue and exchange.
func (s *scriptSession) usual(c *vhost.Command) {
	switch c.Kind {
	case vhost.Publish, vhost.Announce, vhost.Ack, vhost.Nack, vhost.Reject:
		return
	case vhost.Get:
		s.frontend.Emit(&vhost.Effect{Kind: vhost.DeliverNone, Channel: c.Channel, Command: c.Kind})
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
	s.frontend.Emit(&e)
	if c.Kind == vhost.CloseChannel {
		s.kill(c.Channel)
	}
}

// kill makes a channel ignore what follows, as after its end.
func (s *scriptSession) kill(id vhost.ChannelID) {
	if s.dead == nil {
		s.dead = make(map[vhost.ChannelID]bool)
	}
	s.dead[id] = true
}

// closeWith refuses a command.
func (s *scriptSession) closeWith(c *vhost.Command, err *amqp.Error) {
	s.kill(c.Channel)
	s.frontend.Emit(&vhost.Effect{Kind: vhost.Closed, Command: c.Kind, Channel: c.Channel, Err: err})
}

// emit sends effects of the broker's own accord.
func (s *scriptSession) emit(effects ...vhost.Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range effects {
		s.frontend.Emit(&effects[i])
	}
	s.frontend.Flush()
}

// got returns the commands of these kinds that came, all without kinds.
func (s *scriptSession) got(kinds ...vhost.CommandKind) []vhost.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.commands), func(c vhost.Command) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, c.Kind)
	})
}

func (s *scriptSession) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
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
	return vhost.Delivered{Record: r, Ref: storage.Ref{Size: uint32(len(r))}}
}
