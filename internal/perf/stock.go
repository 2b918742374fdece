package perf

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// errTags says that a consumer got more deliveries than a stock can name.
var errTags = errors.New("too many deliveries for this scenario")

// acksAtOnce is how many acks go into one write.
const acksAtOnce = 4096

// stock is what a consumer holds unacked on purpose. Each message in it is equally likely to be settled next.
type stock struct {
	keep atomic.Int64 // it settles what it holds beyond; any goroutine may set it
	dice *rand.Rand
	tags []uint32 // half the size of a delivery tag, for millions
}

func newStock(keep int64, seed uint64) *stock {
	s := &stock{dice: rand.New(rand.NewPCG(seed, 1)), tags: make([]uint32, 0, keep+backlogDefault)}
	s.keep.Store(keep)
	return s
}

// draw takes one out.
func (s *stock) draw() uint64 {
	i, last := s.dice.IntN(len(s.tags)), len(s.tags)-1
	tag := s.tags[i]
	s.tags[i] = s.tags[last]
	s.tags = s.tags[:last]
	return uint64(tag)
}

// lay puts deliveries into the stock, and settles as many as are too many.
func (c *consumer) lay(deliveries []delivery) error {
	for i := range deliveries {
		if deliveries[i].tag > math.MaxUint32 {
			return errTags
		}
		c.stock.tags = append(c.stock.tags, uint32(deliveries[i].tag))
	}
	return c.thin()
}

// thin acks what the stock has beyond what it is to keep.
func (c *consumer) thin() error {
	for extra := int64(len(c.stock.tags)) - c.stock.keep.Load(); extra > 0; {
		n := min(extra, acksAtOnce)
		c.out = c.out[:0]
		for range n {
			c.out = wire.AppendAck(c.out, channel, c.stock.draw(), false)
		}
		if err := c.flush(); err != nil {
			return err
		}
		if c.backlog != nil {
			c.backlog.release(int(n))
		}
		extra -= n
	}
	return nil
}

// shrink makes it hold no more than keep. Another goroutine may call it; it does not wait.
func (c *consumer) shrink(keep int64) {
	c.stock.keep.Store(keep)
	c.link.interrupt()
}
