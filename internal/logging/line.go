package logging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Levels beside those of slog. Source: RabbitMQ logging, log levels.
const (
	Notice   = slog.Level(2)
	Critical = slog.Level(12)
	None     = slog.Level(100) // nothing is logged
)

// ParseLevel reads a level by RabbitMQ's names.
func ParseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "notice":
		return Notice, nil
	case "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "critical", "alert", "emergency":
		return Critical, nil
	case "none":
		return None, nil
	}
	return 0, fmt.Errorf("unknown log level %q; known are debug, info, notice, warning, error, critical, none", name)
}

// LevelName is the name that ParseLevel reads.
func LevelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < Notice:
		return "info"
	case l < slog.LevelWarn:
		return "notice"
	case l < slog.LevelError:
		return "warning"
	case l < Critical:
		return "error"
	case l < None:
		return "critical"
	}
	return "none"
}

// timeLayout is RabbitMQ's: microseconds and zone.
const timeLayout = "2006-01-02 15:04:05.000000-07:00"

// line is a record on its way.
type line struct {
	at       time.Time
	level    slog.Level
	text     string
	category string
	attrs    []slog.Attr
	id       string
}

// plain writes
//
//	2026-11-21 05:30:00.123456+00:00 [info] <0.4711.0> text key=value
//
// with all but the text repeated for each line of it. Source: RabbitMQ logging.
func (l *line) plain(b *bytes.Buffer) {
	head := l.at.Format(timeLayout) + " [" + LevelName(l.level) + "] " + l.id + " "
	texts := strings.Split(l.text, "\n")
	for i, text := range texts {
		b.WriteString(head)
		b.WriteString(strings.Map(visible, text))
		if i == len(texts)-1 {
			for _, a := range l.attrs {
				writeAttr(b, a.Key, a.Value)
			}
		}
		b.WriteByte('\n')
	}
}

// visible takes out what a client could forge lines, or a terminal's obedience, with.
func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

func writeAttr(b *bytes.Buffer, key string, v slog.Value) {
	v = v.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, a := range v.Group() {
			writeAttr(b, key+"."+a.Key, a.Value)
		}
		return
	}
	text := v.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(" \"=", r) }) {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + key + "=" + text)
}

// json writes one object on one line, whatever the text. Source: RabbitMQ logging, JSON.
func (l *line) json(b *bytes.Buffer, f TimeFormat) {
	b.WriteString(`{"time":`)
	switch f {
	case EpochMicro:
		b.WriteString(strconv.FormatInt(l.at.UnixMicro(), 10))
	case EpochSecs:
		b.WriteString(strconv.FormatInt(l.at.Unix(), 10))
	case StrictTime:
		writeJSON(b, l.at.Format("2006-01-02T15:04:05.000000-07:00"))
	default:
		writeJSON(b, l.at.Format(timeLayout))
	}
	domain := "rabbitmq"
	if l.category != "default" {
		domain += "." + l.category
	}
	for _, kv := range [...][2]string{{"level", LevelName(l.level)}, {"msg", l.text}, {"domain", domain}, {"pid", l.id}} {
		b.WriteString(`,"` + kv[0] + `":`)
		writeJSON(b, kv[1])
	}
	for _, a := range l.attrs {
		jsonAttr(b, a.Key, a.Value)
	}
	b.WriteString("}\n")
}

func jsonAttr(b *bytes.Buffer, key string, v slog.Value) {
	v = v.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, a := range v.Group() {
			jsonAttr(b, key+"."+a.Key, a.Value)
		}
		return
	}
	b.WriteByte(',')
	writeJSON(b, key)
	b.WriteByte(':')
	switch v.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindBool:
		b.WriteString(v.String())
	default:
		writeJSON(b, v.String())
	}
}

func writeJSON(b *bytes.Buffer, text string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(text, "?")) // of a string: cannot fail
	b.Truncate(b.Len() - 1)                      // the encoder's line feed
}
