package perf

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// confirms pairs a channel's publishes with the broker's answers. The publisher notes, its receiver settles.
type confirms struct {
	mu struct {
		sync.Mutex
		// by publish number modulo its length, at least the outstanding ones: when it was sent; 0: settled
		sentAt  []int64
		next    uint64 // the next publish number; the first is 1
		low     uint64 // all below are settled
		latency *hdrhistogram.Histogram
		nacked  int64
		unknown int64 // answers to what was not outstanding
	}
}

// newConfirms makes space for limit outstanding publishes.
func newConfirms(limit int) *confirms {
	c := &confirms{}
	c.mu.sentAt = make([]int64, limit)
	c.mu.next, c.mu.low = 1, 1
	c.mu.latency = newHistogram()
	return c
}

// note enters the next n publishes, sent at an instant; it is called before they are written.
func (c *confirms) note(n int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := uint64(len(c.mu.sentAt))
	for range n {
		c.mu.sentAt[c.mu.next%size] = at
		c.mu.next++
	}
}

// settle enters an answer that came at an instant, and returns how many publishes it was the answer to. Latencies are
// recorded for what was sent at or after since.
func (c *confirms) settle(s settled, at, since int64) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := uint64(len(c.mu.sentAt))
	from := s.tag
	if s.multiple {
		from = c.mu.low
		if s.tag == 0 { // all outstanding
			s.tag = c.mu.next - 1
		}
	}
	if from < c.mu.low || s.tag >= c.mu.next {
		c.mu.unknown++
		return 0
	}
	for tag := from; tag <= s.tag; tag++ {
		sent := c.mu.sentAt[tag%size]
		if sent == 0 {
			continue
		}
		c.mu.sentAt[tag%size] = 0
		n++
		if sent >= since {
			record(c.mu.latency, at-sent)
		}
	}
	if n == 0 {
		c.mu.unknown++
	}
	if s.nacked {
		c.mu.nacked += int64(n)
	}
	for c.mu.low < c.mu.next && c.mu.sentAt[c.mu.low%size] == 0 {
		c.mu.low++
	}
	return n
}

// account returns the latencies, and how many publishes were refused and how many answers matched none. The caller may
// keep the histogram once the link is done.
func (c *confirms) account() (latency *hdrhistogram.Histogram, nacked, unknown int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.latency, c.mu.nacked, c.mu.unknown
}
