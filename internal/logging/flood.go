package logging

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// A line with the same text may be written so often within so long; of more, the number is told afterwards. What
// happens to each of a million messages must not be a million lines.
const (
	sameLines    = 20
	similarLines = 100 // the same of lines that are similar: a program with many connections has one line for each
	sameWithin   = 10 * time.Second
	textsMost    = 256 // that are counted; further ones are written without counting
	countedFrom  = slog.LevelWarn
)

// flood counts lines with the same text.
type flood struct {
	mu struct {
		sync.Mutex
		since time.Time
		texts map[sameText]int
	}
}

type sameText struct {
	text, category string
	level          slog.Level
	most           int  // that are written
	counted        bool // it is one of those that are counted at all
}

// surplus is how many lines with a text were not written.
type surplus struct {
	sameText
	lines int
}

// passes counts a line, and reports whether it is to be written. It tells of what was not, when its time is over.
func (f *flood) passes(t sameText, now time.Time) (ok bool, over []surplus) {
	if !t.counted {
		return true, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.mu.since) >= sameWithin {
		over = f.reset(now)
	}
	n, counted := f.mu.texts[t]
	if !counted && len(f.mu.texts) == textsMost {
		return true, over
	}
	f.mu.texts[t] = n + 1
	return n < t.most, over
}

// end tells of what was not written.
func (f *flood) end() []surplus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reset(time.Time{})
}

// reset begins anew. mu is held.
func (f *flood) reset(now time.Time) (over []surplus) {
	for t, n := range f.mu.texts {
		if n > t.most {
			over = append(over, surplus{t, n - t.most})
		}
	}
	slices.SortFunc(over, func(a, b surplus) int { return strings.Compare(a.text, b.text) })
	f.mu.since, f.mu.texts = now, map[sameText]int{}
	return over
}
