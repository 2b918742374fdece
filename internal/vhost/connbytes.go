package vhost

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ConnBytes counts bytes of memory that connections make the vhost hold.
type ConnBytes struct {
	total   int64
	of      map[fact.ConnID]int64 // without zeros
	changed []fact.ConnID         // since TakeChanged, the same one perhaps several times
}

func (b *ConnBytes) add(c fact.ConnID, n int) {
	if n == 0 {
		return
	}
	if b.of == nil {
		b.of = map[fact.ConnID]int64{}
	}
	b.total += int64(n)
	if b.of[c] += int64(n); b.of[c] == 0 {
		delete(b.of, c)
	}
	if k := len(b.changed); k == 0 || b.changed[k-1] != c {
		b.changed = append(b.changed, c)
	}
}

// Of is how many bytes are of a connection. They may be counted for a while after it has ended.
func (b *ConnBytes) Of(c fact.ConnID) int64 { return b.of[c] }

// TakeChanged lists the connections of which there are more or fewer bytes than when it was called last, one perhaps
// several times. The slice is lent until the next command.
func (b *ConnBytes) TakeChanged() []fact.ConnID {
	changed := b.changed
	b.changed = b.changed[:0]
	return changed
}

// check compares the count with what is held, by connection.
func (b *ConnBytes) check(what string, held map[fact.ConnID]int64) error {
	total := int64(0)
	for id, n := range held {
		if total += n; n != b.of[id] {
			return fmt.Errorf("vhost: connection %d holds %d %s bytes, %d are counted", id, n, what, b.of[id])
		}
	}
	if total != b.total {
		return fmt.Errorf("vhost: connections hold %d %s bytes, %d are counted", total, what, b.total)
	}
	return nil
}

// Uncommitted counts what transactions hold: until they are committed, or rolled back, or their channels end. What a
// connection has committed in portions counts until the last one.
func (v *VHost) Uncommitted() *ConnBytes { return &v.uncommitted }

// Subscribed counts what channels and their consumers take, about, without what they hold.
func (v *VHost) Subscribed() *ConnBytes { return &v.subscribed }

// channelBytes is what an open channel takes in the whole process, about, and consumerBytes a consumer beside its tag
// and its arguments.
const (
	channelBytes  = 800
	consumerBytes = 240
)

func bytesOfConsumer(x *queue.Consumer) int { return consumerBytes + len(x.Tag) + x.Arguments.Memory() }

// subscribes counts a consumer that is new.
func (v *VHost) subscribes(n *conn, x *queue.Consumer) {
	v.extra += extraOf(x.Arguments)
	v.subscribed.add(n.id, bytesOfConsumer(x))
}

// unsubscribes takes a consumer that is gone off the count.
func (v *VHost) unsubscribes(n *conn, x *queue.Consumer) {
	v.extra -= extraOf(x.Arguments)
	v.subscribed.add(n.id, -bytesOfConsumer(x))
}

// checkSubscribed compares the count with the channels.
func (v *VHost) checkSubscribed() error {
	held := map[fact.ConnID]int64{}
	for _, ch := range v.channels {
		held[ch.conn.id] += channelBytes
		for _, x := range ch.consumers {
			held[ch.conn.id] += int64(bytesOfConsumer(x))
		}
	}
	return v.subscribed.check("subscribed", held)
}
