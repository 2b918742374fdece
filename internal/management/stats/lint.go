package stats

import (
	"context"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// linted is what was counted of a virtual host.
type linted struct {
	lint.Tally
	ruled [2]uint64 // as of then
	at    time.Time
	took  time.Duration
}

const (
	// lintAnew is for how long a count stands although settings have not changed: how full queues are has.
	lintAnew = time.Minute
	// lintShare is by how much longer than it takes to count again it is not, even if settings change all the time;
	// what is counted within lintQuick is counted at once.
	lintShare = 100
	lintQuick = 20 * time.Millisecond
)

// stands reports whether a count need not be made anew.
func (l *linted) stands(ruled [2]uint64, now time.Time) bool {
	age := now.Sub(l.at)
	switch {
	case l.at.IsZero():
		return false
	case l.took > lintQuick && age < lintShare*l.took:
		return true
	}
	return l.ruled == ruled && age < lintAnew
}

// tally counts what lint finds in a virtual host, or takes what was counted last.
func (s *Reader) tally(ctx context.Context, h *accounts.VHost, ruled [2]uint64) (lint.Tally, error) {
	began := time.Now()
	s.mu.Lock()
	last := s.mu.lints[h.LogID]
	s.mu.Unlock()
	if last.stands(ruled, began) {
		return last.Tally, nil
	}
	now := linted{ruled: ruled, at: began}
	if err := s.Analyze(ctx, h.Name, func(found *lint.Analysis) { now.Tally = found.Tally() }); err != nil {
		if web.IsShortOfMemory(err) {
			err = nil // what was counted last is shown
		}
		return last.Tally, err
	}
	now.took = time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lints[h.LogID] = now
	return now.Tally, nil
}
