package engine

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// read implements source.
func (s *scribe) read(buf []byte, r place.Ref, hint *journal.Hint) ([]byte, error) {
	s.tables.RLock()
	defer s.tables.RUnlock()
	began := time.Now()
	b, err := s.journal.ReadBy(hint, buf, r)
	s.deeds.reads.note(len(b), began)
	return b, err
}

// readStretch implements source.
func (s *scribe) readStretch(to *journal.Stretch, log place.LogID, index place.Index, offset uint32) error {
	s.tables.RLock()
	defer s.tables.RUnlock()
	began := time.Now()
	err := s.journal.ReadStretch(to, log, index, offset)
	s.deeds.reads.note(to.Len(), began)
	return err
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
