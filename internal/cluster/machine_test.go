package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/cluster"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// machine is the virtual host of a replica. It is made from the log of its node alone: a leader's decides, and is made
// again when it leads no more.
type machine struct {
	n       *node
	v       *vhost.VHost
	out     vhost.Outcome
	at      storage.Index            // the last batch that it has decided or applied
	recent  map[storage.Index][]byte // decided, and perhaps not on the disk yet
	hashes  map[storage.Index]uint64 // of its state after what it has decided
	pages   map[storage.Ref][]byte
	page    storage.Index
	conn    fact.ConnID
	channel vhost.ChannelID // 0: none is open
	opened  vhost.ChannelID
}

func newMachine(n *node) *machine {
	m := &machine{
		n: n, recent: map[storage.Index][]byte{}, hashes: map[storage.Index]uint64{}, pages: map[storage.Ref][]byte{},
	}
	m.v = vhost.New("/", group, m, m)
	return m
}

var stateSeed = maphash.MakeSeed()

// comparedEvery is how often the states of machines are compared, in batches.
const comparedEvery = 4

// foldTo applies what the log has up to a batch.
func (m *machine) foldTo(to storage.Index) error {
	for m.at < to {
		batch, err := m.n.ReadBatch(m.at + 1)
		if err != nil {
			return err
		}
		if err := m.fold(m.at+1, batch); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) fold(i storage.Index, batch []byte) error {
	if m.at = i; !cluster.IsControl(batch) {
		if err := m.v.ApplyBatch(i, batch); err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
	}
	if i%comparedEvery == 0 {
		m.compare(i, maphash.Bytes(stateSeed, m.v.Projection()))
	}
	return nil
}

// compare makes sure that a state after a batch that is committed is what others had there.
func (m *machine) compare(i storage.Index, state uint64) {
	w := m.n.w
	if known, ok := w.states[i]; !ok {
		w.states[i] = state
	} else if w.seen.compared++; known != state {
		w.violate("node %d has another virtual host after batch %d than others", m.n.id, i)
	}
}

// committed notes that a batch is committed: it is applied, unless the machine has decided it.
func (m *machine) committed(i storage.Index, batch []byte) {
	if i > m.at {
		if err := m.fold(i, batch); err != nil {
			m.n.w.violate("node %d: %w", m.n.id, err)
		}
		return
	}
	if state, ok := m.hashes[i]; ok {
		m.compare(i, state)
	}
	delete(m.hashes, i)
	delete(m.recent, i)
}

// lead begins to decide.
func (m *machine) lead() {
	m.decide(vhost.Command{Kind: vhost.Recovered})
	m.propose()
}

// stamp is the time of the node, which never goes back for the virtual host.
func (m *machine) stamp() vhost.Stamp {
	now := max(deadline.Instant(m.n.clock/1000), m.v.Logged())
	return vhost.Stamp{Now: now, From: now, Wall: now, Index: m.n.group.Next(), Entropy: m.n.w.dice.Uint64()}
}

func (m *machine) decide(c vhost.Command) {
	s := m.stamp()
	err := m.v.Step(s, c, &m.out)
	if err == nil {
		return
	}
	refused := new(amqp.Error)
	if !errors.As(err, &refused) {
		m.n.w.violate("node %d: %w", m.n.id, err)
		return
	}
	m.v.Refuse(s, c, refused, &m.out)
	m.channel = 0
}

// propose gives what was decided to the log.
func (m *machine) propose() {
	batch, _ := m.out.Seal()
	batch = bytes.Clone(batch)
	if m.out.Next(nil); batch == nil {
		return
	}
	i := m.n.group.Next()
	if err := m.n.group.Propose(batch); err != nil {
		m.n.w.violate("node %d has decided batch %d in vain: %w", m.n.id, i, err)
		return
	}
	m.at, m.recent[i] = i, batch
	if i%comparedEvery == 0 {
		m.hashes[i] = maphash.Bytes(stateSeed, m.v.Projection())
	}
}

// work decides something: queues with a TTL and a limit, whose dead letters go round, and what clients do with them.
func (m *machine) work() {
	if !m.n.group.Leads() {
		return
	}
	m.open()
	w := m.n.w
	queue := fmt.Sprintf("q%d", w.dice.IntN(3))
	c := vhost.Command{Conn: m.conn, Channel: m.channel, Definition: &vhost.Definition{Name: queue, Durable: true}}
	switch w.dice.IntN(12) {
	case 0, 1:
		c.Kind = vhost.DeclareQueue
		c.Definition.Arguments = amqp.Table{
			{Name: "x-dead-letter-exchange", Value: amqp.String("")},
			{Name: "x-dead-letter-routing-key", Value: amqp.String(fmt.Sprintf("q%d", (queue[1]-'0'+1)%3))},
			{Name: "x-message-ttl", Value: amqp.Int64(50)},
			{Name: "x-max-length", Value: amqp.Int64(20)},
		}
	case 2:
		c.Kind = vhost.PurgeQueue
	case 3, 4:
		c.Kind = vhost.Get
	case 5:
		c.Kind, c.Multiple = vhost.Ack, true
	case 6:
		c.Kind, c.Multiple = vhost.Nack, true
	case 7:
		c = vhost.Command{Kind: vhost.Tick}
	default:
		c.Kind, c.Key, c.Body = vhost.Publish, []byte(queue), make([]byte, w.dice.IntN(200))
		mode := uint8(1 + w.dice.IntN(2)) // transient, persistent
		c.Properties = amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: mode})
	}
	m.decide(c)
	m.propose()
}

// open opens a channel, if none is.
func (m *machine) open() {
	if m.channel != 0 {
		return
	}
	if m.conn == 0 {
		m.conn = fact.ConnID(m.n.life)
		user := &vhost.Definition{User: "u"}
		m.decide(vhost.Command{Kind: vhost.Connect, Conn: m.conn, Window: 1 << 20, Definition: user})
	}
	m.opened++
	m.channel = m.opened
	m.decide(vhost.Command{Kind: vhost.OpenChannel, Conn: m.conn, Channel: m.channel})
}

// Record implements storage.Records.
func (m *machine) Record(r storage.Ref) []byte {
	if b, ok := m.recent[r.Index]; ok {
		return b[r.Offset : r.Offset+r.Size]
	}
	b, err := m.n.journal.Read(nil, r)
	if err != nil {
		panic(storage.Fault{Err: err})
	}
	return b
}

// Head implements storage.Records.
func (m *machine) Head(r storage.Ref, n int) []byte { return m.Record(r.First(n)) }

// Put implements storage.Pages: they stay in memory, for the log has all that they are made from.
func (m *machine) Put(p []byte, transient bool) storage.Ref {
	m.page++
	r := storage.Ref{Log: group.Pages(), Index: m.page, Size: uint32(len(p))}
	if transient {
		r.Log = storage.Volatile.Pages()
	}
	m.pages[storage.Ref{Log: r.Log, Index: r.Index}] = bytes.Clone(p)
	return r
}

// Get implements storage.Pages.
func (m *machine) Get(r storage.Ref) []byte {
	return m.pages[storage.Ref{Log: r.Log, Index: r.Index}][r.Offset:][:r.Size]
}

// Drop implements storage.Pages.
func (m *machine) Drop(r storage.Ref) { delete(m.pages, storage.Ref{Log: r.Log, Index: r.Index}) }
