package logging

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// open opens a log to a buffer, at a fixed time.
func open(t *testing.T, o Options) (*Book, *strings.Builder) {
	t.Helper()
	var console strings.Builder
	b, err := Open(o, &console)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	b.id = "<0.7.0>"
	return b, &console
}

func TestPlainLines(t *testing.T) {
	// If this fails, what reads RabbitMQ's logs cannot read ours, or a client can forge lines.
	t.Parallel()
	b, console := open(t, Options{})
	log := b.Logger().With("category", "connection", "vhost", "a b")
	log.Warn("first\nsecond", "queue", "q", "error", errors.New("it's \"so\""), slog.Group("g", "n", 1))
	log.WithGroup("w").Info("third\x1b[31m\rforged", "k", "line\nbreak")
	log.Debug("not written")
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d `)
	var got []string
	for line := range strings.Lines(console.String()) {
		if !want.MatchString(line) {
			t.Errorf("no time: %q", line)
		}
		got = append(got, want.ReplaceAllString(line, ""))
	}
	if all := strings.Join(got, ""); all != "[warning] <0.7.0> first\n"+
		"[warning] <0.7.0> second vhost=\"a b\" queue=q error=\"it's \\\"so\\\"\" g.n=1\n"+
		"[info] <0.7.0> third?[31m?forged vhost=\"a b\" w.k=\"line\\nbreak\"\n" {
		t.Errorf("written:\n%s", all)
	}
}

func TestJSONLines(t *testing.T) {
	// If this fails, a line is no object, or lacks what RabbitMQ's have.
	t.Parallel()
	for format, want := range map[TimeFormat]any{"": "2026-11-21 05:30:00.123456+00:00", StrictTime: "2026-11-21T05:30:00.123456+00:00",
		EpochMicro: 1795239000123456., EpochSecs: 1795239000.} {
		b, console := open(t, Options{ConsoleJSON: true, Time: format})
		at := time.Date(2026, 11, 21, 5, 30, 0, 123456000, time.UTC)
		r := slog.NewRecord(at, slog.LevelError, "two\nlines <&>", 0)
		r.Add("category", "channel", "n", 3, "ok", true, "text", "\xff")
		if err := b.Logger().Handler().Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(console.String()), &got); err != nil || strings.Count(console.String(), "\n") != 1 {
			t.Fatalf("%q: %v", console, err)
		}
		for key, want := range map[string]any{"time": want, "level": "error", "msg": "two\nlines <&>", "domain": "rabbitmq.channel",
			"pid": "<0.7.0>", "n": 3., "ok": true, "text": "?"} {
			if got[key] != want {
				t.Errorf("%s: %s is %v, want %v", format, key, got[key], want)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	// If this fails, lines are missing, or those that nobody wants are written.
	t.Parallel()
	b, console := open(t, Options{ConsoleLevel: slog.LevelInfo, Levels: map[string]slog.Level{"connection": slog.LevelError, "queue": None}})
	said := func(category string, level slog.Level) bool {
		console.Reset()
		b.Logger().Log(t.Context(), level, "text", "category", category)
		return console.Len() > 0
	}
	check := func(category string, level slog.Level, want bool) {
		t.Helper()
		if got := said(category, level); got != want {
			t.Errorf("%s at %s: written is %v", category, LevelName(level), got)
		}
	}
	check("default", slog.LevelInfo, true)
	check("default", slog.LevelDebug, false)
	check("connection", slog.LevelWarn, false)
	check("connection", slog.LevelError, true)
	check("queue", Critical, false)
	if err := b.SetLevel("connection", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	check("connection", slog.LevelDebug, false) // the console's own level is higher
	check("connection", slog.LevelInfo, true)
	if err := b.SetLevel("", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	check("queue", slog.LevelDebug, true)
	if err := b.SetLevel("cats", slog.LevelDebug); err == nil {
		t.Error("a category that does not exist has a level")
	}
	if got := b.Levels()["queue"]; got != slog.LevelDebug {
		t.Errorf("level of queue is %v", got)
	}
	for _, name := range []string{"debug", "info", "notice", "warning", "error", "critical", "none"} {
		if l, err := ParseLevel(name); err != nil || LevelName(l) != name {
			t.Errorf("%s is read as %v, %v", name, l, err)
		}
	}
}

func TestSameLines(t *testing.T) {
	// If this fails, what happens to each of many messages fills the disk with lines, or nobody is told how often it
	// did.
	t.Parallel()
	b, console := open(t, Options{})
	now := time.Unix(1000, 0)
	b.now = func() time.Time { return now }
	log := b.Logger().With("category", "queue")
	for i := range 1000 {
		log.Warn("dead letter lost", "queue", i)
		log.Info("as often as one likes")
	}
	count := func(text string) int { return strings.Count(console.String(), text) }
	if lost, liked := count("lost queue="), count("likes"); lost != sameLines || liked != 1000 {
		t.Errorf("%d lines of what is much, %d of what is wanted", lost, liked)
	}
	now = now.Add(sameWithin)
	log.Warn("another")
	if count("similar messages not logged: dead letter lost lines=980 within=10s\n") != 1 || count("another") != 1 {
		t.Errorf("after a while:\n%s", console.String()[console.Len()-300:])
	}
	log.Warn("dead letter lost")
	if got := count("dead letter lost\n"); got != 1 {
		t.Errorf("afterwards %d", got)
	}
	for i := range 10 * textsMost {
		log.Warn(fmt.Sprint("a text of its own ", i))
	}
	if got := count("a text of its own"); got != 10*textsMost {
		t.Errorf("%d lines of different texts", got)
	}
	for range 100 {
		log.Error("in the end")
	}
	b.Close()
	if count("similar messages not logged: in the end") != 0 { // beyond what is counted, all are written
		t.Error("counted beyond the bound")
	}
}

func TestSimilarLines(t *testing.T) {
	// If this fails, clients that connect again and again fill the log, or the first lines of others, or of the next
	// ten seconds, are lost.
	t.Parallel()
	b, console := open(t, Options{})
	now := time.Unix(1000, 0)
	b.now = func() time.Time { return now }
	log := b.Logger().With("category", "connection")
	for i := range 1000 {
		log.Info(fmt.Sprintf("accepting %d from busy", i), Similar, "accepting from busy")
	}
	log.Info("accepting 1 from other", Similar, "accepting from other")
	log.Warn("accepting 1 at another level", Similar, "accepting from busy")
	count := func(text string) int { return strings.Count(console.String(), text) }
	busy, other := count("from busy"), count("1 from other\n")+count("another level\n")
	if busy != similarLines || other != 2 {
		t.Errorf("%d similar lines, %d others", busy, other)
	}
	now = now.Add(sameWithin)
	log.Info("accepting again", Similar, "accepting from busy")
	told := count("similar messages not logged: accepting from busy lines=900 within=10s\n")
	if told != 1 || count("accepting again\n") != 1 {
		t.Errorf("after a while:\n%s", console.String()[console.Len()-300:])
	}
}

func TestFileThatIsMovedAway(t *testing.T) {
	// If this fails, lines go into a file that logrotate has moved away, until somebody sends a signal; or asking for a
	// rotation where none is set up empties the log.
	t.Parallel()
	name := filepath.Join(t.TempDir(), "b.log")
	b, _ := open(t, Options{NoConsole: true, File: name})
	now := time.Unix(1000, 0)
	b.file.now = func() time.Time { return now }
	says := func(file, want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v; want one line with %q", file, text, err, want)
		}
	}
	if err := b.Reopen(); err != nil { // looks at the clock
		t.Fatal(err)
	}
	b.Logger().Info("before")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Second)
	b.Logger().Info("after")
	says(name+".1", "before")
	says(name, "after")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Second)
	b.Logger().Info("anew")
	says(name, "anew")
	if err := b.Rotate(); err != nil {
		t.Fatal(err)
	}
	says(name, "anew")
}

func TestFile(t *testing.T) {
	// If this fails, lines are lost when a file is put aside or moved away, or files grow without end.
	t.Parallel()
	name := filepath.Join(t.TempDir(), "logs", "b.log")
	b, _ := open(t, Options{NoConsole: true, File: name, RotateBytes: 1500, RotateCount: 3})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 10 {
				b.Logger().Info("a line of the log that is some seventy octets long, with all")
			}
		})
	}
	writers.Wait()
	lines := 0
	for _, of := range []string{name, name + ".0", name + ".1", name + ".2"} {
		text, err := os.ReadFile(of)
		if err != nil || len(text) > 1500 {
			t.Fatalf("%s: %d octets, %v", of, len(text), err)
		}
		lines += strings.Count(string(text), "with all\n")
	}
	if lines != 40 {
		t.Errorf("%d lines of 40", lines)
	}
	if err := b.Rotate(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name + ".3"); err == nil {
		t.Error("a fourth old file is kept")
	}
	if err := os.Rename(name, name+".away"); err != nil {
		t.Fatal(err)
	}
	if err := b.Reopen(); err != nil {
		t.Fatal(err)
	}
	b.Logger().Info("after")
	if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "after") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Open(Options{File: filepath.Join(name, "below")}, nil); err == nil {
		t.Error("a file that cannot be is no error")
	}
}

// The price of a line that is not written is that of a comparison.
func BenchmarkSilent(b *testing.B) {
	book, err := Open(Options{}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	log := book.Logger()
	for b.Loop() {
		log.Debug("text", "n", 1)
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
