package engine

import "github.com/bartleby-mq/bartleby/internal/place"

const (
	// hotBytesMax is how much of its newest batches a vhost keeps in memory: a message that is taken soon is
	// never read from the disk.
	hotBytesMax = 48 << 20
	// coldBatches is how many batches read from the disk are kept: readers of a backlog take neighbours.
	coldBatches = 8
)

// batchCache holds batches of one log in memory.
type batchCache struct {
	hot   map[place.Index][]byte
	order []place.Index // of hot, oldest first, from head
	head  int
	bytes int
	cold  [coldBatches]struct {
		index place.Index
		data  []byte
	}
	turn int
	last struct { // found last
		index place.Index
		data  []byte
	}
}

func newBatchCache() *batchCache { return &batchCache{hot: map[place.Index][]byte{}} }

// add keeps a batch that was just made. The oldest go when there are too many.
func (c *batchCache) add(i place.Index, data []byte) {
	c.hot[i] = data
	c.order = append(c.order, i)
	c.bytes += cap(data)
	for c.bytes > hotBytesMax && c.head < len(c.order)-1 {
		old := c.order[c.head]
		c.bytes -= cap(c.hot[old])
		delete(c.hot, old)
		c.head++
	}
	if c.head > 1024 && 2*c.head > len(c.order) {
		c.order = append(c.order[:0], c.order[c.head:]...)
		c.head = 0
	}
	c.last.index, c.last.data = i, data
}

// get returns a batch, or nil.
func (c *batchCache) get(i place.Index) []byte {
	if c.last.index == i {
		return c.last.data
	}
	data, ok := c.hot[i]
	if !ok {
		for k := range c.cold {
			if c.cold[k].index == i {
				data, ok = c.cold[k].data, true
			}
		}
	}
	if ok {
		c.last.index, c.last.data = i, data
	}
	return data
}

// addCold keeps a batch that was read.
func (c *batchCache) addCold(i place.Index, data []byte) {
	c.cold[c.turn].index, c.cold[c.turn].data = i, data
	c.turn = (c.turn + 1) % coldBatches
	c.last.index, c.last.data = i, data
}
