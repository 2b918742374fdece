// Package logging writes what operators should know, in the lines that RabbitMQ writes, so that what reads its logs
// reads ours: to the console, to a file, or to both, as text or as JSON, each category from a level of its own.
//
// It promises that a record is one write, whole; that levels change while the broker runs; and that a file which cannot
// be written costs the lines meant for it and nothing else. It leaves what is worth saying to who says it, with package
// log/slog: the attribute "category" says what a line is about.
//
// Invariants:
//   - No line is held back; who logs waits for the operating system.
//   - Of warnings and errors with the same text, and of similar lines, a few are written, then their number.
package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Category is the attribute that says what a line is about.
const Category = "category"

// Similar is the attribute that says what a line is counted as, instead of as its text: lines with the same value are
// similar, and of those a few are written, whatever their level is. It is not written.
const Similar = "similar"

// Categories that have levels of their own. Source: RabbitMQ logging, categories.
var Categories = []string{"connection", "channel", "queue", "mirroring", "federation", "upgrade", "user", "ra", "default"}

// Options say where lines go. The zero value is text on the console, from level info.
type Options struct {
	NoConsole    bool
	ConsoleLevel slog.Level
	ConsoleJSON  bool
	File         string // path; empty: no file
	FileLevel    slog.Level
	FileJSON     bool
	RotateBytes  int64 // the file is put aside when it would grow larger; 0: never
	RotateCount  int   // files put aside that are kept; with RotateBytes
	Levels       map[string]slog.Level
	Time         TimeFormat // in JSON
}

// TimeFormat says how JSON tells the time. Source: RabbitMQ logging, log.*.formatter.time_format.
type TimeFormat string

// The formats. The zero value is SpacedTime.
const (
	SpacedTime TimeFormat = "rfc3339_space" // 2026-11-21 05:30:00.123456+00:00
	StrictTime TimeFormat = "rfc3339_T"
	EpochMicro TimeFormat = "epoch_usecs"
	EpochSecs  TimeFormat = "epoch_secs"
)

// Book is an open log. Its methods may be called by any goroutine.
type Book struct {
	outputs []*output
	levels  atomic.Pointer[levels]
	file    *file // nil without one
	flood   flood
	options Options
	id      string // of the process, in the form of RabbitMQ's
	now     func() time.Time
}

// levels is what a line must reach, by output and category; replaced whole.
type levels struct {
	outputs  []slog.Level
	category map[string]slog.Level
	least    slog.Level
}

// output is one place that lines go to.
type output struct {
	json bool
	mu   sync.Mutex
	to   io.Writer
}

// Open opens the log. The error tells of a file that cannot be written.
func Open(o Options, console io.Writer) (*Book, error) {
	b := &Book{options: o, id: fmt.Sprintf("<0.%d.0>", os.Getpid()), now: time.Now}
	first := &levels{category: maps.Clone(o.Levels)}
	if !o.NoConsole {
		b.outputs = append(b.outputs, &output{json: o.ConsoleJSON, to: console})
		first.outputs = append(first.outputs, o.ConsoleLevel)
	}
	if o.File != "" {
		f, err := openFile(o.File, o.RotateBytes, o.RotateCount)
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		b.file = f
		b.outputs = append(b.outputs, &output{json: o.FileJSON, to: f})
		first.outputs = append(first.outputs, o.FileLevel)
	}
	b.use(first)
	return b, nil
}

// use puts levels into force.
func (b *Book) use(l *levels) {
	l.least = None
	if len(l.outputs) > 0 {
		l.least = slices.Min(l.outputs)
	}
	for _, of := range l.category {
		l.least = min(l.least, of)
	}
	b.levels.Store(l)
}

// SetLevel changes from which level lines are written, while the broker runs: of one category, or of all outputs if
// that is empty. Source: RabbitMQ cli, set_log_level.
func (b *Book) SetLevel(category string, from slog.Level) error {
	if category != "" && !slices.Contains(Categories, category) {
		return fmt.Errorf("unknown log category %q; known are %s", category, strings.Join(Categories, ", "))
	}
	old := b.levels.Load()
	l := &levels{outputs: slices.Clone(old.outputs), category: maps.Clone(old.category)}
	switch category {
	case "":
		for i := range l.outputs {
			l.outputs[i] = from
		}
		l.category = nil
	default:
		if l.category == nil {
			l.category = map[string]slog.Level{}
		}
		l.category[category] = from
	}
	b.use(l)
	return nil
}

// Levels tells from which level each category is written now.
func (b *Book) Levels() map[string]slog.Level {
	l := b.levels.Load()
	all := map[string]slog.Level{}
	for _, c := range Categories {
		all[c] = None
		for _, of := range l.outputs {
			all[c] = min(all[c], l.from(of, c))
		}
	}
	return all
}

// from is the level of a category at an output with a level of its own: the higher one counts.
func (l *levels) from(output slog.Level, category string) slog.Level {
	if of, ok := l.category[category]; ok {
		return max(of, output)
	}
	return output
}

// Reopen opens the file anew, after something else has moved it away. Source: RabbitMQ logging, log rotation.
func (b *Book) Reopen() error {
	if b.file == nil {
		return nil
	}
	return b.file.reopen()
}

// Rotate puts the file aside and begins another; if none is kept, it opens the file anew. Source: RabbitMQ cli,
// rotate_logs.
func (b *Book) Rotate() error {
	if b.file == nil {
		return nil
	}
	return b.file.rotate()
}

// Files are the paths that lines are written to.
func (b *Book) Files() []string {
	if b.file == nil {
		return []string{"<stdout>"}
	}
	return []string{b.options.File}
}

// Close closes the file. Nothing may be logged any more.
func (b *Book) Close() error {
	b.tellOver(b.flood.end())
	if b.file == nil {
		return nil
	}
	return b.file.close()
}

// Logger is what lines are given to.
func (b *Book) Logger() *slog.Logger { return slog.New(&handler{book: b, category: "default"}) }

// handler is one logger's view of the book, with its own attributes. It is not changed once made.
type handler struct {
	book     *Book
	category string
	group    string // prefix of attributes
	attrs    []slog.Attr
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.book.levels.Load().least
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		if a.Key == Category && h.group == "" {
			n.category = a.Value.String()
			continue
		}
		a.Key = h.group + a.Key
		n.attrs = append(n.attrs, a)
	}
	return &n
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	n := *h
	if name != "" {
		n.group += name + "."
	}
	return &n
}

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	l := line{at: r.Time, level: r.Level, text: r.Message, category: h.category, attrs: h.attrs, id: h.book.id}
	if l.at.IsZero() {
		l.at = h.book.now()
	}
	l.attrs = slices.Clip(l.attrs)
	same := sameText{text: l.text, most: sameLines, counted: l.level >= countedFrom}
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case h.group != "":
		case a.Key == Category:
			l.category = a.Value.String()
			return true
		case a.Key == Similar:
			same = sameText{text: a.Value.String(), most: similarLines, counted: true}
			return true
		}
		a.Key = h.group + a.Key
		l.attrs = append(l.attrs, a)
		return true
	})
	same.category, same.level = l.category, l.level
	ok, over := h.book.flood.passes(same, h.book.now())
	h.book.tellOver(over)
	if ok {
		h.book.write(&l)
	}
	return nil
}

// tellOver writes how many lines were not written.
func (b *Book) tellOver(over []surplus) {
	for _, o := range over {
		b.write(&line{at: b.now(), level: o.level, text: "similar messages not logged: " + o.text, category: o.category, id: b.id,
			attrs: []slog.Attr{slog.Int("lines", o.lines), slog.Duration("within", sameWithin)}})
	}
}

// write writes a line wherever it belongs.
func (b *Book) write(l *line) {
	levels := b.levels.Load()
	var texts [2][]byte // as text and as JSON, each made once
	for i, o := range b.outputs {
		if l.level < levels.from(levels.outputs[i], l.category) {
			continue
		}
		form := 0
		if o.json {
			form = 1
		}
		if texts[form] == nil {
			var t bytes.Buffer
			if o.json {
				l.json(&t, b.options.Time)
			} else {
				l.plain(&t)
			}
			texts[form] = t.Bytes()
		}
		o.mu.Lock()
		_, _ = o.to.Write(texts[form]) // there is nobody to tell
		o.mu.Unlock()
	}
}
