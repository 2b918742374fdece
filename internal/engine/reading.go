package engine

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Read implements recordcache.Source.
func (w *logWriter) Read(buf []byte, r storage.Ref, hint *journal.Hint) ([]byte, error) {
	w.tables.RLock()
	defer w.tables.RUnlock()
	began := time.Now()
	b, err := w.journal.ReadBy(hint, buf, r)
	w.statistics.reads.note(len(b), began)
	return b, err
}

// ReadStretch implements recordcache.Source.
func (w *logWriter) ReadStretch(to *journal.Stretch, log storage.LogID, index storage.Index, offset uint32) error {
	w.tables.RLock()
	defer w.tables.RUnlock()
	began := time.Now()
	err := w.journal.ReadStretch(to, log, index, offset)
	w.statistics.reads.note(to.Len(), began)
	return err
}

// Written implements recordcache.Source.
func (w *logWriter) Written(log storage.LogID) storage.Index {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.written[log]
}

// noteWritten notes that the batches of a group can be read.
func (w *logWriter) noteWritten(group []journal.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range group {
		w.mu.written[b.Log] = b.Index
	}
}
