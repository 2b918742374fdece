package perf

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// verdict is how a consumer settles what it gets.
type verdict int

const (
	autoAck verdict = iota // the broker settles as it delivers
	ack
	reject // without requeue: nack for several at once, else reject
)

// clockUse is what a consumer makes of the instant in a message.
type clockUse int

const (
	ignoreStamp  clockUse = iota
	measureDelay          // it was meant to be sent then
	measureDue            // it is due then
)

// The states of a consumer, in their order.
const (
	collecting int32 = iota // settles by every so many
	finishing               // settles whatever each read brings
	ended
)

// role is what a consumer does with what it gets.
type role struct {
	verdict verdict
	every   int // deliveries per settlement
	use     clockUse
	dead    bool  // what comes must carry x-death
	backlog *gate // told of what arrives, or with a stock of what is settled; nil: nobody waits
	keep    int64 // above 0: hold so many, and ack at random what is more
}

// consumer receives from some queues over a link of its own, in one goroutine. That one also writes the settlements:
// it cannot block on them for ever, as they are few octets and no more than the prefetch count at a time.
type consumer struct {
	role
	link  *link
	book  *ledger // read by others only once receive has returned
	since *atomic.Int64

	arrived atomic.Int64 // different messages
	state   atomic.Int32

	stock *stock // nil: holds nothing on purpose

	// The delay, or the lateness of those that came when due or later; and those that came before.
	times    *hdrhistogram.Histogram
	early    int64
	earliest int64 // ns before its instant, of the earliest

	unsettled int
	lastTag   uint64
	out       []byte
}

// subscribe begins to receive from the queues.
func (c *consumer) subscribe(queues []string, prefetch int) error {
	c.times = newHistogram()
	if c.verdict != autoAck && c.stock == nil {
		if _, err := call[*wire.BasicQosOk](c.link, &wire.BasicQos{PrefetchCount: uint16(prefetch)}); err != nil {
			return err
		}
	}
	for i, queue := range queues {
		// Without waiting for an answer, because deliveries from the first queue may come before that for the second.
		err := c.link.sendMethod(channel, &wire.BasicConsume{
			Queue: queue, ConsumerTag: fmt.Sprint("c", i), NoAck: c.verdict == autoAck, NoWait: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// receive takes deliveries until end is called.
func (c *consumer) receive() error {
	for {
		got, err := c.link.receive()
		switch {
		case errors.Is(err, errInterrupted):
			c.link.resume()
			if err := c.settleRest(); err != nil || c.state.Load() == ended {
				return err
			}
		case err != nil:
			return err
		default:
			if err := c.take(got.deliveries); err != nil {
				return err
			}
		}
	}
}

// take enters what one read brought, and settles.
func (c *consumer) take(deliveries []delivery) error {
	at, known := now(), c.book.arrived
	for i := range deliveries {
		d := &deliveries[i]
		c.book.note(d)
		if c.dead && !d.dead {
			c.book.deathless++
		}
	}
	if c.use != ignoreStamp {
		c.measure(deliveries, at)
	}
	n := int(c.book.arrived - known)
	c.arrived.Add(int64(n))
	if c.stock != nil {
		return c.lay(deliveries)
	}
	if c.backlog != nil {
		c.backlog.release(n)
	}
	if c.verdict == autoAck {
		return nil
	}
	c.out = c.out[:0]
	for i := range deliveries {
		c.lastTag = deliveries[i].tag
		if c.unsettled++; c.unsettled == c.every {
			c.settle()
		}
	}
	if c.state.Load() != collecting {
		c.settle()
	}
	return c.flush()
}

// measure records the times of deliveries that came at an instant.
func (c *consumer) measure(deliveries []delivery, at int64) {
	since := c.since.Load()
	for i := range deliveries {
		stamp := deliveries[i].stamp
		switch {
		case c.use == measureDelay && stamp < since: // warming up
		case at >= stamp:
			record(c.times, at-stamp)
		default:
			c.early++
			c.earliest = max(c.earliest, stamp-at)
		}
	}
}

// settle appends a settlement of all that is unsettled.
func (c *consumer) settle() {
	switch {
	case c.unsettled == 0:
		return
	case c.verdict == ack:
		c.out = wire.AppendAck(c.out, channel, c.lastTag, c.unsettled > 1)
	case c.unsettled == 1:
		c.out = wire.AppendReject(c.out, channel, c.lastTag, false)
	default:
		c.out = wire.AppendNack(c.out, channel, c.lastTag, true, false)
	}
	c.unsettled = 0
}

func (c *consumer) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	return c.link.send(c.out)
}

func (c *consumer) settleRest() error {
	if c.stock != nil {
		if c.state.Load() == ended {
			c.stock.keep.Store(0)
		}
		return c.thin()
	}
	c.out = c.out[:0]
	if c.verdict != autoAck {
		c.settle()
	}
	return c.flush()
}

// finish makes it settle the rest, and from now on everything at once, because not enough may come to settle by every
// so many. Another goroutine may call it.
func (c *consumer) finish() { c.enter(finishing) }

// end makes receive settle the rest and return. Another goroutine may call it.
func (c *consumer) end() { c.enter(ended) }

// enter sets the state before it interrupts: receive resumes before it looks at the state, and so misses neither.
func (c *consumer) enter(state int32) {
	c.state.Store(state)
	c.link.interrupt()
}
