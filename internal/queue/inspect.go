package queue

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Lane is the priority lane of the message.
func (s Seq) Lane() uint8 { return uint8(s >> laneShift) }

// Number is the message's number in its lane, from 0.
func (s Seq) Number() uint64 { return s.n() }

// SavedChunk is what a checkpoint says of a chunk: for those who look at a checkpoint from outside.
type SavedChunk struct {
	Page  storage.Ref
	Live  int // messages, transient ones among them if Mixed
	Mixed bool
	gone  *bitmap
}

// ParseChunk takes apart what Restore or Rebury is given; log is that of the vhost.
func ParseChunk(saved []byte, log storage.LogID) (SavedChunk, error) {
	var s slot
	what, ok := s.parse(saved, log.Pages())
	if !ok {
		return SavedChunk{}, errPage
	}
	return SavedChunk{Page: s.page, Live: int(s.live), Mixed: what&savedMixed != 0, gone: s.gone()}, nil
}

// Gone reports whether the i-th message of the chunk has ended since its page was written.
func (c *SavedChunk) Gone(i int) bool { return c.gone != nil && c.gone.has(i) }

// Check reads the page, and reports whether it is what the checkpoint says.
func (c *SavedChunk) Check(page []byte, log storage.LogID) error {
	var entries chunk
	if err := readPage(&entries, page, c.gone, log); err != nil {
		return err
	}
	n := 0
	for i := range entries.entries {
		if entries.entries[i].State != Gone {
			n++
		}
	}
	if n != c.Live && !(c.Mixed && n < c.Live) {
		return fmt.Errorf("queue: page has %d messages, its checkpoint says %d", n, c.Live)
	}
	return nil
}
