package perf

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// errLateFill says that messages could not be published before they were due.
var errLateFill = errors.New("publishing took so long that messages were due before they were sent: " +
	"let them be due later (-ttl, -delay-max) or lower -count")

// calendar says when messages are due: all at one instant, at random in a window, or each so long after it was
// published. Instants are those of now, spans are in ns.
type calendar struct {
	first  int64 // when the first are due; 0: each counts from its publishing
	window int64 // how much later than first the last are; in between at random
	head   int64 // when the first message of each queue is due; 0: like the others

	least, most int64 // without first: from publishing until due, at random in between
}

// due returns when a message is due that is published at an instant; place is that in its stream.
func (c *calendar) due(place, at int64, dice *rand.Rand) int64 {
	switch {
	case c.head > 0 && place == 0:
		return c.head
	case c.first == 0:
		return at + c.least + dice.Int64N(c.most-c.least+1)
	case c.window > 0:
		return c.first + dice.Int64N(c.window)
	}
	return c.first
}

// begins returns when the first message is due at the earliest, if none is published before start.
func (c *calendar) begins(start int64) int64 {
	if c.first == 0 {
		return start + c.least
	}
	return c.first
}

// ends returns when the last message is due at the latest, if none is published after end.
func (c *calendar) ends(end int64) int64 {
	if c.first == 0 {
		return end + c.most
	}
	return max(c.first+c.window, c.head)
}

// wait is how a message says how long it shall wait.
type wait int

const (
	byExpiration wait = iota // the property: until it is a dead letter
	byDelay                  // the header x-delay: until a delayed exchange routes it
)

// timed makes messages that are due by a calendar. Their stamp is the instant at which they are due: when they were
// made plus what they wait, which AMQP counts in whole milliseconds. It is never after what the calendar says.
type timed struct {
	lane       lane
	body       []byte
	properties amqp.Properties
	frameMax   uint32
	wait       wait
	calendar   calendar
	dice       *rand.Rand // seeded by the run

	buf, encoded []byte
}

func newTimed(to lane, size int, properties amqp.Properties, frameMax uint32, by wait, c calendar, dice *rand.Rand) *timed {
	t := &timed{
		lane: to, body: make([]byte, size), properties: properties, frameMax: frameMax, wait: by, calendar: c, dice: dice,
	}
	if by == byDelay {
		t.properties.Has |= amqp.FlagHeaders
		t.properties.Headers = amqp.Table{{Name: "x-delay"}}
	} else {
		t.properties.Has |= amqp.FlagExpiration
	}
	return t
}

func (t *timed) most(int64) int { return max(batchBytes/len(t.body), 1) }

func (t *timed) batch(first int64, n int, at int64) ([]byte, error) {
	t.buf = t.buf[:0]
	for k := first; k < first+int64(n); k++ {
		queue, place := int(k%int64(len(t.lane.queues))), k/int64(len(t.lane.queues))
		ms := (t.calendar.due(place, at, t.dice) - at) / int64(time.Millisecond)
		if ms <= 0 {
			return nil, errLateFill
		}
		binary.BigEndian.PutUint64(t.body, messageID(t.lane.stream+queue, place))
		binary.BigEndian.PutUint64(t.body[8:], uint64(at+ms*int64(time.Millisecond)))
		if t.wait == byDelay {
			t.properties.Headers[0].Value = amqp.Int64(ms)
		} else {
			t.properties.Expiration = strconv.FormatInt(ms, 10)
		}
		t.encoded = amqp.AppendProperties(t.encoded[:0], &t.properties)
		t.buf = wire.AppendPublish(t.buf, channel, t.lane.exchange, t.lane.queues[queue], false)
		t.buf = wire.AppendContentHeader(t.buf, channel, uint64(len(t.body)), t.encoded)
		t.buf = wire.AppendBody(t.buf, channel, t.body, t.frameMax)
	}
	return t.buf, nil
}

// publishDue opens publishers of messages that are due by a calendar, as publishTo does.
func (r *run) publishDue(queues []string, count int64, by wait, c calendar) ([]*publisher, error) {
	publishers, err := r.publishTo(queues, count, func(l *link, to lane) shape {
		dice := rand.New(rand.NewPCG(r.o.seed, uint64(to.stream)))
		return newTimed(to, r.o.size, r.properties(), l.frameMax, by, c, dice)
	})
	for _, p := range publishers {
		p.actual = true
	}
	return publishers, err
}

// destination is the queues that messages come to when they are due.
type destination struct {
	queues []string
	as     role // of their consumers
	stored bool // the consumers come when the queues have all, and what was stored counts as consumed
}

// flood lets the publishers go, and waits until the last message should have come. Rates of the second span, which gets
// the name, count from the instant at which the first message was due, or from the start if that was while they were
// still publishing.
func (r *run) flood(to destination, c calendar, name string) (*Report, error) {
	var consumers []*consumer
	var err error
	if !to.stored {
		if consumers, err = r.consumeFrom(to.queues, to.as, false); err != nil {
			return nil, err
		}
	}
	empty, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	beside, err := r.bystand(c.begins(empty.at))
	if err != nil {
		return nil, err
	}
	defer beside.close()
	done := r.startPublishers(r.publishers, r.o.rate)
	if err := r.await(0, func() (int64, bool) { return r.published(), isClosed(done) && r.confirmed() }); err != nil {
		return nil, err
	}
	full, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	begun := empty
	if first := c.begins(empty.at); first > full.at {
		if err := r.wait(time.Duration(first - full.at)); err != nil {
			return nil, err
		}
		if begun, err = r.sample(consumers); err != nil {
			return nil, err
		}
	}
	if to.stored {
		err = r.filled(done, to.queues)
	} else {
		err = r.drain(done, consumers, c.ends(full.at))
	}
	if err != nil {
		return nil, err
	}
	out, err := r.sample(consumers)
	if err != nil {
		return nil, err
	}
	if to.stored {
		out.consumed = out.published
		if consumers, err = r.consumeFrom(to.queues, to.as, false); err != nil {
			return nil, err
		}
		if err := r.drain(done, consumers, 0); err != nil {
			return nil, err
		}
	}
	meanwhile, err := beside.end()
	if err != nil {
		return nil, err
	}
	fill, due := span(empty, full), span(begun, out)
	fill.Name, due.Name = "fill", name
	report, err := r.report(consumers, fill, due)
	if report != nil {
		report.Meanwhile = meanwhile
	}
	return report, err
}
