package vhost

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// conn is a connection as the machine knows it.
type conn struct {
	id           fact.ConnID
	name, user   string
	cancelNotify bool
	window       queue.Limit    // bytes on their way to its consumers; see windowShut
	most         int64          // bytes that may be on their way
	replied      int64          // of these, of direct replies
	channels     []*channel     // in order of opening
	served       ChannelID      // the channel that a consumer's message went to last
	ongoing      int            // of its commands, see Busy
	owned        []fact.QueueID // exclusive queues, in order of declaring; some may be gone
}

// channel is a channel with what is outstanding on it.
type channel struct {
	id        ChannelID
	number    uint16
	conn      *conn
	consumers []*queue.Consumer // in order of consuming
	byTag     map[string]*queue.Consumer
	served    fact.QueueID // the queue whose message went to a consumer last
	shared    queue.Limit  // global prefetch
	prefetch  int64        // for consumers to come
	lastQueue string       // last declared: what an empty queue name means

	unacked   deliveries
	timeoutAt deadline.Instant // in the set: nothing is taken back before, 0: nothing is
	timedOut  deadline.Instant // it ends because of what was to be settled by then: to return that is no failure
	late      []uint64         // tags that were taken back and not settled yet, in order
	replies   *replies         // nil unless it consumes direct replies
	confirms  bool
	publishes bool         // has published
	tx        *transaction // nil unless transactional
	published uint64       // messages since SelectConfirms

	route routeCache
}

// routeCache is the last route of a channel: most channels publish to one place.
type routeCache struct {
	version       uint64
	exchange, key []byte
	valid         bool
	targets       []*queueState
	flow          *flow // of the exchange
}

// delivery is one message that a client holds.
type delivery struct {
	queue    *queueState     // nil once it is settled
	consumer *queue.Consumer // nil for a get
	seq      queue.Seq
	tag      uint64
	due      deadline.Instant // at which it is taken back, 0: never
}

// deliveries are a channel's outstanding deliveries. The list is in order of tags, and list[head] is open unless
// nothing is. It takes what is outstanding, not what came since the oldest of it: one message held for a day must
// not cost the memory of all that passed it by.
type deliveries struct {
	list []delivery
	head int
	last uint64 // tag given last, no-ack deliveries included
	open int
}

// settledMin is how many settled deliveries a list may hold whatever is open, so that short lists stay put.
const settledMin = 64

// tag gives the next delivery tag; a delivery without ack leaves no trace.
func (d *deliveries) tag() uint64 {
	d.last++
	return d.last
}

func (d *deliveries) add(tag uint64, x delivery) {
	x.tag = tag
	d.list = append(d.list, x)
	d.open++
}

// search returns where the first delivery with that tag or a later one stands.
func (d *deliveries) search(tag uint64) int {
	low, high := d.head, len(d.list)
	if low == high || tag <= d.list[low].tag {
		return low
	}
	if guess := tag - d.list[low].tag; guess < uint64(high-low) { // no tag is further back than without gaps
		if high = low + int(guess); d.list[high].tag == tag {
			return high
		}
	}
	for low < high {
		middle := (low + high) / 2
		if d.list[middle].tag < tag {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// at returns the open delivery with that tag, or nil.
func (d *deliveries) at(tag uint64) *delivery {
	if i := d.search(tag); i < len(d.list) && d.list[i].tag == tag && d.list[i].queue != nil {
		return &d.list[i]
	}
	return nil
}

// from returns the first open delivery with that tag or a later one, or nil.
func (d *deliveries) from(tag uint64) *delivery {
	for i := d.search(tag); i < len(d.list); i++ {
		if d.list[i].queue != nil {
			return &d.list[i]
		}
	}
	return nil
}

// remove forgets an open delivery.
func (d *deliveries) remove(tag uint64) {
	i := d.search(tag)
	d.list[i] = delivery{tag: tag}
	d.open--
	if d.open == 0 {
		d.list, d.head = d.list[:0], 0
		return
	}
	for d.list[d.head].queue == nil {
		d.head++
	}
	if 2*d.open+settledMin > len(d.list) {
		return
	}
	kept := d.list[:0]
	for _, x := range d.list[d.head:] {
		if x.queue != nil {
			kept = append(kept, x)
		}
	}
	clear(d.list[len(kept):])
	d.list, d.head = kept, 0
}

// channelOf finds the channel of a command; nil if it is not open.
func (v *VHost) channelOf(c *Command) *channel {
	if v.last != nil && v.last.id == c.Channel {
		return v.last
	}
	v.last = v.channels[c.Channel]
	return v.last
}

func (v *VHost) connect(c *Command) {
	d := c.Definition
	n := &conn{id: c.Conn, name: d.Name, user: d.User, cancelNotify: d.CancelNotify}
	n.setWindow(max(c.Window, 1))
	v.conns[c.Conn] = n
}

func (s *step) disconnect(c *Command) {
	n := s.conns[c.Conn]
	if n == nil {
		return
	}
	for len(n.channels) > 0 {
		s.closeChannel(n.channels[0])
	}
	delete(s.conns, n.id)
	s.setReplied(n, 0)
	var owned []*queueState
	for _, id := range n.owned {
		if q := s.queues[id]; q != nil && q.owner == n.id {
			q.leaving = true
			owned = append(owned, q)
		}
	}
	s.inPortions(ongoing{conn: n, portion: func(s *step) bool {
		for ; len(owned) > 0; owned = owned[1:] {
			if s.full() {
				return true
			}
			s.work += workOfQueue
			s.deleteQueue(owned[0])
		}
		return false
	}})
}

func (v *VHost) grant(c *Command) {
	n := v.conns[c.Conn]
	if n == nil {
		return
	}
	closed := !n.window.Open()
	v.granted(n, max(n.window.Used-c.Window, 0))
	if c.WindowMax > 0 {
		n.setWindow(c.WindowMax)
	}
	if !closed || !n.window.Open() {
		return // nobody waits for it
	}
	last := slices.IndexFunc(n.channels, func(ch *channel) bool { return ch.id == n.served })
	for i := range n.channels { // the channel that was served last comes last
		v.wake(n.channels[(last+1+i)%len(n.channels)])
	}
}

// setWindow sets how many bytes may be on their way to a connection. A window that was shut stays so.
func (n *conn) setWindow(most int64) {
	n.most = most
	if n.window.Max != windowShut {
		n.window.Max = most
	}
}

// OnWay is how many bytes are on their way to a connection; 0 if it does not exist.
func (v *VHost) OnWay(c fact.ConnID) int64 {
	if n := v.conns[c]; n != nil {
		return n.window.Used
	}
	return 0
}

// windowShut is the limit of a window that never opens again.
const windowShut = -1

// stopDeliveries shuts the window of a connection. When many connections end, each gives back what it holds; it would
// go to those whose own end is still to come, and come back from each of them.
func (v *VHost) stopDeliveries(c *Command) {
	if n := v.conns[c.Conn]; n != nil {
		n.window.Max = windowShut
	}
}

// WindowOpen reports whether more may be on its way to a connection. Deliveries wait for it here; whoever sends a Get
// without it goes beyond the window by a message. A connection that does not exist has no bounds. StopDeliveries does
// not shut it for a Get: what a connection has asked for before its end is done.
func (v *VHost) WindowOpen(c fact.ConnID) bool {
	n := v.conns[c]
	return n == nil || n.window.Used < n.most
}

// attach adds a consumer to its channel.
func (ch *channel) attach(x *queue.Consumer) {
	if ch.byTag == nil {
		ch.byTag = map[string]*queue.Consumer{}
	}
	ch.consumers, ch.byTag[x.Tag] = append(ch.consumers, x), x
}

// detach takes a consumer off its channel, and reports whether it was there.
func (ch *channel) detach(x *queue.Consumer) bool {
	if ch.byTag[x.Tag] != x {
		return false
	}
	delete(ch.byTag, x.Tag)
	i := slices.Index(ch.consumers, x)
	ch.consumers = slices.Delete(ch.consumers, i, i+1)
	return true
}

// wake looks at all queues that ch consumes from: it has credit again. They come in turn, the one that was served last
// comes last: what credit there is may be used up by the first that has messages, and no queue may starve the others.
func (v *VHost) wake(ch *channel) {
	v.work += len(ch.consumers) * workOfWake
	many := len(ch.consumers) > wakeMany
	last := slices.IndexFunc(ch.consumers, func(x *queue.Consumer) bool { return fact.QueueID(x.Queue) == ch.served })
	for i := range ch.consumers {
		x := ch.consumers[(last+1+i)%len(ch.consumers)]
		q := v.queues[fact.QueueID(x.Queue)]
		switch {
		case q == nil:
			continue
		case many:
			q.consumers.WakeAll()
		default:
			q.consumers.Wake(x)
		}
		if q.id != ch.served {
			v.markDirty(q, 0)
		}
	}
	if q := v.queues[ch.served]; q != nil && last >= 0 {
		v.markDirty(q, 0)
	}
}

func (s *step) openChannel(c *Command) {
	n := s.conns[c.Conn]
	if n == nil || s.channels[c.Channel] != nil {
		return
	}
	ch := &channel{id: c.Channel, number: c.Number, conn: n}
	s.channels[c.Channel] = ch
	n.channels = append(n.channels, ch)
	s.subscribed.add(n.id, channelBytes)
	s.out.Effects = append(s.out.Effects, Effect{Kind: Done, Command: OpenChannel, Channel: ch.id})
}

// closeChannel is endChannel without an answer.
func (s *step) closeChannel(ch *channel) {
	s.endChannel(ch, func(s *step) {})
}

// endChannel ends ch: consumers go at once, then what is unacked returns in the order of delivery, in portions. Then is
// called at the end.
func (s *step) endChannel(ch *channel, then func(s *step)) {
	var left []*queueState
	for _, x := range ch.consumers {
		s.unsubscribes(ch.conn, x)
		if q := s.queues[fact.QueueID(x.Queue)]; q != nil && q.consumers.Remove(x) {
			left = append(left, q)
		}
	}
	ch.consumers, ch.byTag = nil, nil
	s.endReplies(ch)
	s.endTx(ch) // what it settles is outstanding again
	s.forgetTimeout(ch)
	delete(s.channels, ch.id)
	s.subscribed.add(ch.conn.id, -channelBytes)
	if ch.publishes {
		s.traffic.Publishers--
	}
	if s.last == ch {
		s.last = nil
	}
	ch.conn.channels = slices.DeleteFunc(ch.conn.channels, func(o *channel) bool { return o == ch })
	touched, gone := 0, 0 // of left
	s.inPortions(ongoing{conn: ch.conn, closed: ch, portion: func(s *step) bool {
		for ; touched < len(left); touched++ {
			if s.full() {
				return true
			}
			s.work += workOfQueue
			s.markDirty(left[touched], 0)
		}
		if s.giveBackSome(ch, ch.unacked.last, true) {
			return true
		}
		for ; gone < len(left); gone++ {
			if s.full() {
				return true
			}
			s.consumerLeft(left[gone])
		}
		then(s)
		return false
	}})
}

// qos decides basic.qos. A limit for each consumer to come lifts the one of the channel; both hold if that of the
// channel is set last. Source: AMQP basic.qos; RabbitMQ consumer-prefetch; rabbitmq-server 3.10.
func (s *step) qos(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	if d.PrefetchSize != 0 {
		return amqp.NotImplemented("prefetch_size!=0 (%d)", d.PrefetchSize)
	}
	shared := int64(0)
	if d.Global {
		shared = int64(d.Prefetch)
	} else {
		ch.prefetch = int64(d.Prefetch)
	}
	if ch.shared.Max != shared {
		ch.shared.Max = shared
		s.wake(ch)
	}
	s.done(ch, c, Effect{})
	return nil
}

// done answers c, unless the client wants none. The answer waits for all that it may reveal: the newest fact.
func (s *step) done(ch *channel, c *Command, e Effect) {
	if c.NoWait {
		return
	}
	e.Kind, e.Command, e.Channel = Done, c.Kind, ch.id
	e.After = s.newest()
	s.effect(e)
}

// newest is the index of the newest fact: what an answer that reveals state depends on.
func (s *step) newest() storage.Index {
	if len(s.out.Batch) > 0 || s.out.ended.n > 0 {
		return s.index
	}
	return s.index - 1
}

// checkConnected compares what channels hold with what queues have unacked, and credit with both.
func (v *VHost) checkConnected() error {
	held := map[*queueState]int{}
	used := map[*queue.Consumer]int64{}
	all := slices.Collect(maps.Values(v.channels))
	for _, x := range v.ongoing {
		if x.closed != nil {
			all = append(all, x.closed)
		}
	}
	for _, ch := range all {
		var shared int64
		for i := range ch.unacked.list {
			d := &ch.unacked.list[i]
			if d.queue == nil {
				continue
			}
			held[d.queue]++
			if d.consumer != nil {
				used[d.consumer]++
				shared++
			}
			if e := d.queue.messages.Entry(d.seq); !d.queue.deleted && (e == nil || e.State != queue.Unacked) {
				return fmt.Errorf("vhost: channel %d holds message %d of %q, which is not unacked", ch.id, d.seq, d.queue.object.Name)
			}
		}
		if shared != ch.shared.Used {
			return fmt.Errorf("vhost: channel %d counts %d outstanding, holds %d", ch.id, ch.shared.Used, shared)
		}
		for _, x := range ch.consumers {
			if x.Own.Used != used[x] || x.Own.Max > 0 && x.Own.Used > x.Own.Max {
				return fmt.Errorf("vhost: consumer %q counts %d outstanding of %d, holds %d", x.Tag, x.Own.Used, x.Own.Max, used[x])
			}
		}
	}
	for _, x := range v.txs {
		for i := 0; x.resumed && i < len(x.steps); i++ {
			v.eachOf(&x.steps[i], func(q *queueState, _ queue.Seq, e *queue.Entry) {
				if e.State == queue.Unacked {
					held[q]++
				}
			})
		}
	}
	for _, t := range slices.Concat(v.backlog[v.backlogNext:], v.off) {
		if e := t.queue.messages.Entry(t.seq); !t.queue.deleted && e != nil && e.State == queue.Unacked {
			held[t.queue]++
		}
	}
	for _, q := range v.queues {
		if held[q] != q.messages.Unacked() {
			return fmt.Errorf("vhost: queue %q has %d unacked, channels hold %d", q.object.Name, q.messages.Unacked(), held[q])
		}
	}
	if err := v.checkSubscribed(); err != nil {
		return err
	}
	return v.checkUncommitted()
}
