// Package clients is who asks a simulated broker for something: connections with their channels, consumers and
// deliveries, the messages that they publish, and the draws of what they do next. They see of the broker what a
// View shows; what becomes of a command, and whether that is right, the simulation decides.
package clients

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// View is what clients know of their broker.
type View interface {
	Topology() *topology.Topology
	Busy(fact.ConnID) bool // a command of the connection is not finished
	Ledger() *ledger.Ledger
	Wall() deadline.Instant
	Step() int
}

// Clients is all clients of a broker: what they have open, what they have published, and what they ask for next.
type Clients struct {
	dice        *rand.Rand
	view        View
	delays      bool // many messages are for later
	Connections []*Connection
	Channels    map[vhost.ChannelID]*Channel
	Messages    map[uint64]*Message // published, by number
	Published   uint64              // messages
	Revoked     bool                // the clerk may have no jobs now
	conns, chs  uint64              // identifiers given
}

// New is nobody yet. Many messages are for later in some lives.
func New(view View, dice *rand.Rand, delays bool) *Clients {
	return &Clients{view: view, dice: dice, delays: delays, Messages: map[uint64]*Message{}}
}

// Connection is a client's connection, and the engine's Session of it.
type Connection struct {
	ID       fact.ConnID
	Window   int64
	Notify   bool  // it is told when the broker cancels a consumer
	Used     int64 // bytes handed over and not granted back
	Arrived  int64 // of these, shown to the client
	Channels []*Channel
	Broken   bool // a refusal closes it: the client has to go
	Stopped  bool // it is about to end: its consumers get nothing more
}

// Channel is a client's channel, what it knows of it, and the engine's port.
type Channel struct {
	ID            vhost.ChannelID
	Conn          *Connection
	Dead          bool // closed in the machine; the client may not know yet
	Confirms      bool
	Published     uint64            // since confirms were selected
	Confirmed     uint64            // the last publish that was answered, in the machine
	Publishes     map[uint64]uint64 // publish number: message
	Tx            bool
	InTx          []uint64   // tags that held settlements name
	InTxPublishes []uint64   // messages of held publishes
	Committing    [][]uint64 // of each commit that is not answered yet
	Consumers     map[string]*Consumer
	Prefetch      int64 // for consumers to come
	Shared        int64 // global prefetch
	Used          int64 // outstanding, gets apart
	Held          map[uint64]*Delivery
	Late          map[uint64]*Delivery // taken back, and not settled yet
	Doubtful      map[uint64]bool      // overdue when their queues went: taken back before that, or gone with them
	Tag           uint64               // given last
	LastQueue     string
	Waiting       []Waiting // effects that may not leave yet
}

// Consumer is one subscription.
type Consumer struct {
	Tag      string
	Queue    string
	NoAck    bool
	Timeout  int64 // ms, -1: what its queue says
	Prefetch int64
	Used     int64
	Attached int // its rank among all consumers ever
}

// Delivery is a message that a client holds.
type Delivery struct {
	Channel  *Channel
	Consumer *Consumer // nil for a get
	Tag      uint64
	Shown    bool
	Orphan   bool             // its queue is gone
	Due      deadline.Instant // at which it is taken back, 0: never
	Entry    *ledger.Entry
}

// Orphaned notes that the queue is gone.
func (d *Delivery) Orphaned() { d.Orphan = true }

// Waiting is an effect on its way, with what it must turn out to say.
type Waiting struct {
	Effect   vhost.Effect
	Delivery *Delivery // nil without acks
	Message  uint64
	Deaths   []ledger.Death
	Way      ledger.Way        // of its last hop
	Of       vhost.ScheduledID // an answer
	Acquired int64             // x-acquired-count
	Counted  int64             // x-delivery-count
}

// Message is a message as it was published.
type Message struct {
	Body       []byte
	Exchange   string
	Keys       []string // its own, CC, BCC
	Headers    amqp.Table
	Persistent bool
	Priority   uint8
	TTL        int64         // ms, -1: none
	Delay      int64         // ms for which delayed exchanges keep it, 0: not at all
	Nonsense   bool          // its delay is none
	DeliverAt  int64         // wall clock, ms, 0: at once
	Key        string        // where it waits, "": none
	DurableAt  storage.Index // of the batch that holds its durable copies, 0: there are none
	Confirmed  bool          // and the client knows
	Step       int
}

// LetGo takes a delivery off its channel's and its consumer's account.
func (d *Delivery) LetGo() {
	if d.Channel.Held[d.Tag] != d {
		return
	}
	delete(d.Channel.Held, d.Tag)
	if d.Consumer != nil {
		d.Consumer.Used--
		d.Channel.Used--
	}
}

// Tags lists what a settlement names, in order.
func (ch *Channel) Tags(tag uint64, multiple bool) []uint64 {
	var all []uint64
	for _, t := range slices.Sorted(maps.Keys(ch.Held)) {
		if t == tag || multiple && (t < tag || tag == 0) {
			all = append(all, t)
		}
	}
	return all
}

// Undoubt forgets what a settlement names of what is doubtful.
func (ch *Channel) Undoubt(tag uint64, multiple bool) {
	maps.DeleteFunc(ch.Doubtful, func(t uint64, _ bool) bool { return t == tag || multiple && (t < tag || tag == 0) })
}

// HasCredit reports whether one more message may be handed to x, for sure: what is doubtful may count, or not.
func (ch *Channel) HasCredit(x *Consumer) bool {
	if ch.Dead || ch.Conn.Stopped || ch.Conn.Used >= ch.Conn.Window {
		return false
	}
	used := ch.Used + int64(len(ch.Doubtful))
	return (ch.Shared == 0 || used < ch.Shared) && (x.NoAck || x.Prefetch == 0 || x.Used < x.Prefetch)
}

// Overdue reports whether a delivery is held for too long. One of a queue that is gone is nobody's loss.
func (d *Delivery) Overdue(now deadline.Instant) bool { return d.Due != 0 && d.Due <= now && !d.Orphan }

// SaysDelayed reports whether properties say that m was kept until it was due.
func (m *Message) SaysDelayed(properties []byte) bool {
	p, err := amqp.ParseProperties(properties)
	if err != nil || m.Delay == 0 {
		return false
	}
	v, _ := p.Headers.Get("x-delay")
	return v.Kind == amqp.KindInt64 && v.Int == -m.Delay
}
