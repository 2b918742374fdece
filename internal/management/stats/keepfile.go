package stats

import (
	"errors"
	"time"

	"github.com/bartleby-mq/bartleby/internal/engine"
)

const (
	// keptFile is the file of readings in the data directory. What cannot be read of it is ignored, and what cannot be
	// written is left out.
	keptFile = "readings"
	// keepEvery is the time between two writes: after a crash so much is missing at the most.
	keepEvery = time.Minute
)

// restore takes over the readings of the last run.
func (s *Sampler) restore(now int64) {
	if !s.keeps {
		return
	}
	b, err := s.engine.KeptFile(keptFile, keptMax)
	if err == nil && b != nil {
		err = s.decode(b, now)
	}
	if err != nil {
		s.log.Warn("cannot read the statistics of the last run: charts begin now", "file", keptFile, "error", err)
	}
}

// write writes the readings every minute, until the end of Run.
func (s *Sampler) write() {
	if !s.keeps {
		return
	}
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-ticker.C:
			s.writeNow()
		}
	}
}

// writeNow writes the readings. What goes wrong is logged once.
func (s *Sampler) writeNow() {
	if !s.keeps {
		return
	}
	s.mu.Lock()
	b := s.encode()
	s.mu.Unlock()
	err := s.engine.KeepFile(keptFile, b)
	if err != nil && !s.complained && !errors.Is(err, engine.ErrLowOnDisk) {
		s.log.Warn("cannot write statistics: after a restart charts lack what came before it",
			"file", keptFile, "error", err)
	}
	s.complained = err != nil
}
