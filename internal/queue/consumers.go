package queue

import (
	"sort"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Limit is a bound that several consumers may share. Max 0 means none.
type Limit struct{ Max, Used int64 }

// Open reports whether one more may be taken.
func (l *Limit) Open() bool { return l.Max == 0 || l.Used < l.Max }

// Fits reports whether so much more may be taken.
func (l *Limit) Fits(n int64) bool { return l.Max == 0 || l.Used+n <= l.Max }

// Consumer is one subscription. Its fields are set by the vhost before Add and do not change, but Own.Used.
// Source: AMQP basic.consume, basic.qos; RabbitMQ consumers, consumer-priority.
type Consumer struct {
	Tag       string
	Channel   uint64 // the vhost's ChannelID
	Queue     uint32 // the vhost's QueueID
	Priority  int64  // x-priority
	NoAck     bool
	Exclusive bool

	Own       Limit      // prefetch of this consumer, in messages
	Shared    *Limit     // prefetch of its channel, in messages
	Window    *Limit     // bytes that its connection may still be sent
	Arguments amqp.Table // as given
	Timeout   int64      // ms that it may hold a message, 0: for ever, -1: what its queue says

	ordinal uint64 // order of attaching
	gone    bool   // detached, and not swept out yet
}

// Can reports whether c can take a message now. A consumer without acks has no prefetch of its own and uses up none of
// its channel's, but waits with the others when that is used up. Source: RabbitMQ consumer-prefetch; rabbitmq-server
// 3.10.
func (c *Consumer) Can() bool {
	return !c.gone && c.Window.Open() && c.Shared.Open() && (c.NoAck || c.Own.Open())
}

// Consumers is who listens to one queue.
type Consumers struct {
	all      []*Consumer // by priority, highest first, then by order of attaching; some may be gone
	gone     int         // of all, fewer than half: so many may leave at once
	turn     int         // where the search for the next one begins
	may      bitset      // places in all: the others have no credit, and nobody has said that they have again
	wakeAll  bool        // all may
	vain     int         // see Vain
	first    int         // those before this place in all are gone
	stuck    bool        // single: the active one has no credit, and nothing has changed since
	attached uint64
	single   bool      // only one may take messages. Source: RabbitMQ consumers#single-active-consumer
	ranked   bool      // that one is chosen by priority. Source: RabbitMQ quorum-queues, single active consumer
	active   *Consumer // that one, nil if there is none
	oldest   *Consumer // that attached first, if somebody had to ask; it may be gone
}

// SetSingle lets only one consumer take messages at a time: the one that attached first, or, ranked, one of the
// highest priority. A consumer of higher priority takes over when the active one holds nothing any more.
func (cs *Consumers) SetSingle(on, ranked bool) { cs.single, cs.ranked = on, ranked }

// Len counts consumers.
func (cs *Consumers) Len() int { return len(cs.all) - cs.gone }

// All lists the consumers in order of priority; the slice is lent.
func (cs *Consumers) All() []*Consumer {
	cs.sweep()
	return cs.all
}

// A ConsumerMark is a place in the order of All that stays where it is while consumers come and go. The zero
// mark is before all.
type ConsumerMark struct {
	priority int64
	ordinal  uint64
}

// After lists at most n of the consumers behind a mark, in the order of All, and tells where to go on and
// whether there are more. The slice is lent.
func (cs *Consumers) After(m ConsumerMark, n int) (some []*Consumer, next ConsumerMark, more bool) {
	cs.sweep()
	i := 0
	if m.ordinal > 0 {
		i = sort.Search(len(cs.all), func(i int) bool {
			x := cs.all[i]
			return x.Priority < m.priority || x.Priority == m.priority && x.ordinal > m.ordinal
		})
	}
	some = cs.all[i:min(i+n, len(cs.all))]
	if len(some) > 0 {
		last := some[len(some)-1]
		m = ConsumerMark{last.Priority, last.ordinal}
	}
	return some, m, i+n < len(cs.all)
}

// Exclusive reports whether a consumer has the queue for itself.
func (cs *Consumers) Exclusive() bool { return len(cs.all) > 0 && cs.all[0].Exclusive }

// Active reports whether c may take messages at all: always, but for single active consumer.
func (cs *Consumers) Active(c *Consumer) bool {
	if !cs.single {
		return true
	}
	if cs.active != nil {
		return cs.active == c
	}
	return cs.best() == c
}

// best is the consumer that is to be the active one.
func (cs *Consumers) best() *Consumer {
	for cs.all[cs.first].gone {
		cs.first++
	}
	best := cs.all[cs.first]
	if cs.ranked || best.Priority == cs.all[len(cs.all)-1].Priority {
		return best
	}
	if cs.oldest == nil || cs.oldest.gone {
		for _, c := range cs.all[cs.first:] {
			if !c.gone && c.ordinal < best.ordinal {
				best = c
			}
		}
		cs.vain += len(cs.all)
		cs.oldest = best
	}
	return cs.oldest
}

// elect sees to it that somebody is the active consumer if anybody is there, and reports whether that one has to
// make way for another as soon as it holds nothing.
func (cs *Consumers) elect() (leaving bool) {
	if cs.Len() == 0 {
		return false
	}
	if cs.active != nil && !cs.ranked {
		return false
	}
	best := cs.best()
	if cs.active == nil || cs.ranked && best.Priority > cs.active.Priority && cs.active.Own.Used == 0 {
		cs.active = best
	}
	return cs.ranked && best.Priority > cs.active.Priority
}

// Add attaches c.
func (cs *Consumers) Add(c *Consumer) {
	if c.gone {
		cs.sweep()
		c.gone = false
	}
	cs.attached++
	c.ordinal = cs.attached
	i := sort.Search(len(cs.all), func(i int) bool { return cs.all[i].Priority < c.Priority })
	cs.all = append(cs.all, nil)
	copy(cs.all[i+1:], cs.all[i:])
	cs.all[i] = c
	cs.may.insert(i)
	cs.vain += (len(cs.all) - i) / 16 // that many were moved
	if i < cs.turn {
		cs.turn++
	}
	cs.first = min(cs.first, i)
	cs.stuck = false
}

// Remove detaches c and reports whether it was attached.
func (cs *Consumers) Remove(c *Consumer) bool {
	if c.gone || !cs.has(c) {
		return false
	}
	if cs.active == c {
		cs.active = nil
	}
	if cs.oldest == c {
		cs.oldest = nil
	}
	c.gone, cs.stuck = true, false
	if cs.gone++; 2*cs.gone >= len(cs.all) {
		cs.sweep()
	}
	return true
}

// has reports whether c is among all.
func (cs *Consumers) has(c *Consumer) bool {
	_, ok := cs.place(c)
	return ok
}

// place is where c is in all; ok is false if it is not there.
func (cs *Consumers) place(c *Consumer) (i int, ok bool) {
	i = sort.Search(len(cs.all), func(i int) bool {
		x := cs.all[i]
		return x.Priority < c.Priority || x.Priority == c.Priority && x.ordinal >= c.ordinal
	})
	return i, i < len(cs.all) && cs.all[i] == c
}

// sweep takes out those that are gone.
func (cs *Consumers) sweep() {
	if cs.gone == 0 {
		return
	}
	kept, turn := 0, cs.turn
	for i, x := range cs.all {
		if !x.gone {
			cs.all[kept] = x
			cs.may.keep(i, kept)
			kept++
		} else if i < cs.turn {
			turn--
		}
	}
	clear(cs.all[kept:])
	cs.may.cut(kept)
	cs.vain += len(cs.all) / 2
	cs.all, cs.turn, cs.gone, cs.first = cs.all[:kept], turn, 0, 0
}

// wakeFew is how many consumers are woken together rather than searched for one of them.
const wakeFew = 64

// Settled says that a message came back from c, whose Own counts it no more.
func (cs *Consumers) Settled(c *Consumer) {
	if cs.single || c.Own.Max > 0 && c.Own.Used+1 >= c.Own.Max { // else it had credit
		cs.Wake(c)
	}
}

// Wake says that c may have credit again.
func (cs *Consumers) Wake(c *Consumer) {
	cs.stuck = false
	if len(cs.all) <= wakeFew {
		cs.wakeAll = true
	} else if i, ok := cs.place(c); ok {
		cs.may.add(i)
	}
}

// WakeAll says that any of the consumers may have credit again: a window opened, or a limit that they share.
func (cs *Consumers) WakeAll() { cs.stuck, cs.wakeAll = false, true }

// Vain tells how many consumers were looked at in vain since the last call.
func (cs *Consumers) Vain() int {
	n := cs.vain
	cs.vain = 0
	return n
}

// Next chooses who takes the next message: of those that can, the ones of the highest priority, in turn; nil if none
// can. Who has no credit is not looked at again until Wake. Source: RabbitMQ consumer-priority; AMQP work queues (round
// robin).
func (cs *Consumers) Next() *Consumer {
	n := len(cs.all)
	if n == 0 || cs.stuck {
		return nil
	}
	if cs.single {
		if !cs.elect() && cs.active.Can() {
			return cs.active
		}
		cs.stuck = true
		return nil
	}
	if cs.wakeAll {
		cs.wakeAll = false
		cs.may.fill(n)
	}
	if cs.turn >= n {
		cs.turn = 0
	}
	at := -1
	if top := cs.all[0].Priority; cs.all[cs.turn].Priority == top { // as it mostly is
		if at = cs.able(cs.turn); at >= 0 && cs.all[at].Priority < top {
			at = -1
		}
	}
	if at < 0 {
		if at = cs.able(0); at < 0 {
			return nil
		}
		if best := cs.all[at].Priority; at < cs.turn && cs.all[cs.turn].Priority == best {
			if i := cs.able(cs.turn); i >= 0 && cs.all[i].Priority == best {
				at = i
			}
		}
	}
	cs.turn = at + 1
	return cs.all[at]
}

// able is the place of the first consumer from place i on that can take a message, -1 if none can.
func (cs *Consumers) able(i int) int {
	for i = cs.may.next(i); i >= 0; i = cs.may.next(i + 1) {
		if cs.all[i].Can() {
			return i
		}
		cs.may.remove(i)
		cs.vain++
	}
	return -1
}
