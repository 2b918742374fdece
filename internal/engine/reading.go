package engine

import (
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// read implements source.
func (s *scribe) read(buf []byte, r place.Ref, hint *journal.Hint) ([]byte, error) {
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.ReadBy(hint, buf, r)
}

// readStretch implements source.
func (s *scribe) readStretch(to *journal.Stretch, log place.LogID, index place.Index, offset uint32) error {
	s.tables.RLock()
	defer s.tables.RUnlock()
	return s.journal.ReadStretch(to, log, index, offset)
}

// written implements source.
func (s *scribe) written(log place.LogID) place.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.written[log]
}

// noteWritten notes that the batches of a group can be read.
func (s *scribe) noteWritten(group []journal.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range group {
		s.mu.written[b.Log] = b.Index
	}
}
