package perf

import (
	"encoding/binary"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// batchBytes is about how much a publisher writes at once: much less costs system calls, much more the cache.
const batchBytes = 128 << 10

// shape makes the frames of one publisher's messages. Message k of the publisher goes to its queue k modulo their
// number, round and round. One goroutine uses it.
type shape interface {
	// most returns how many messages the next batch may have at most, at least 1, if it begins with message first.
	most(first int64) int

	// batch returns n messages from first on, sent at an instant. They are valid until the next batch.
	batch(first int64, n int, at int64) ([]byte, error)
}

// lane is where a publisher sends: an exchange, "" for the default one, that routes by the queues' names; these, all of
// the same length; and the number of the first one's stream; the others follow.
type lane struct {
	exchange string
	queues   []string
	stream   int
}

// ring holds as many messages as fit a batch, encoded once; a batch only fills in numbers and instants.
type ring struct {
	lane lane
	buf  []byte
	ends []int // where in buf each message ends; their number is a multiple of that of the queues
	tail int   // octets from the beginning of a body to the end of its message
}

// newRing makes a ring of bodies of size octets; properties is asked for those of each message in it.
func newRing(to lane, size int, properties func() amqp.Properties, frameMax uint32) *ring {
	r := &ring{lane: to}
	var encoded []byte
	body := make([]byte, size)
	for len(r.buf) < batchBytes {
		for _, queue := range to.queues {
			p := properties()
			encoded = amqp.AppendProperties(encoded[:0], &p)
			r.buf = wire.AppendPublish(r.buf, channel, to.exchange, queue, false)
			r.buf = wire.AppendContentHeader(r.buf, channel, uint64(size), encoded)
			// a frame's overhead but its end marker stands before the payload
			start := len(r.buf) + wire.FrameOverhead - 1
			r.buf = wire.AppendBody(r.buf, channel, body, frameMax)
			r.ends = append(r.ends, len(r.buf))
			r.tail = len(r.buf) - start
		}
	}
	return r
}

func (r *ring) most(first int64) int { return len(r.ends) - int(first%int64(len(r.ends))) }

func (r *ring) batch(first int64, n int, at int64) ([]byte, error) {
	slot := int(first % int64(len(r.ends)))
	start := 0
	if slot > 0 {
		start = r.ends[slot-1]
	}
	queues := int64(len(r.lane.queues))
	queue, place := first%queues, first/queues
	for _, end := range r.ends[slot : slot+n] {
		stamp := r.buf[end-r.tail : end-r.tail+stampBytes]
		binary.BigEndian.PutUint64(stamp, messageID(r.lane.stream+int(queue), place))
		binary.BigEndian.PutUint64(stamp[8:], uint64(at))
		if queue++; queue == queues {
			queue, place = 0, place+1
		}
	}
	return r.buf[start:r.ends[slot+n-1]], nil
}
