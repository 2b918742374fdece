package amqpserver

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Who closed a channel first. It is decided once, by compare and swap, after the side has made sure that its frame is
// in the outbox before whatever the other side sends.
//
//	           client's channel.close          broker's channel.close is in the outbox
//	closedByClient ◀──────────────── open ────────────────▶ closedByBroker
const (
	open uint32 = iota
	closedByClient
	closedByBroker
)

// channel is what the frontend knows of one channel.
type channel struct {
	number uint16
	id     vhost.ChannelID
	state  atomic.Uint32

	// The reader's.
	content content
	refused bool // refusal is set

	// refusal is what the reader found wrong. It is set before the CloseChannel command that makes the answer come
	// in order, and read at the answer to it.
	refusal *amqp.Error

	// The encoder's: confirms of this flush that one basic.ack will carry.
	ackThrough uint64
	acks       int
}

// isDeaf reports whether the client's frames on this channel are to be ignored: all but close and close-ok. The
// reader calls it.
func (ch *channel) isDeaf() bool { return ch.refused || ch.state.Load() == closedByBroker }

// channels finds a channel by the engine's id, until its close or close-ok is on its way.
type channels struct {
	mu struct {
		sync.Mutex
		byID map[vhost.ChannelID]*channel
	}
}

func (t *channels) add(ch *channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.byID == nil {
		t.mu.byID = make(map[vhost.ChannelID]*channel)
	}
	t.mu.byID[ch.id] = ch
}

func (t *channels) find(id vhost.ChannelID) *channel {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.byID[id]
}

func (t *channels) remove(id vhost.ChannelID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mu.byID, id)
}

func (t *channels) pictures() []Channel {
	t.mu.Lock()
	list := make([]Channel, 0, len(t.mu.byID))
	for id, ch := range t.mu.byID {
		list = append(list, Channel{Number: ch.number, ID: id})
	}
	t.mu.Unlock()
	slices.SortFunc(list, func(a, b Channel) int { return cmp.Compare(a.Number, b.Number) })
	return list
}
