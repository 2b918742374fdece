package stats

import "github.com/bartleby-mq/bartleby/internal/engine"

// KindBytes is how much was written for something.
type KindBytes struct {
	Kind  string
	Bytes int64
}

func WrittenBytes(s *engine.Storage) []KindBytes {
	w := &s.Journal.Written
	return []KindBytes{
		{"groups", w.Groups}, {"rewriting", w.Rewriting}, {"checkpoints", w.Checkpoints}, {"tables", w.Tables}, {"zeros", w.Zeros},
	}
}
