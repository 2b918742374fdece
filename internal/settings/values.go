package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Kind says what the values of a setting are, for code that asks users for them, or shows them.
type Kind string

// The kinds.
const (
	Text       Kind = "text"
	Number     Kind = "number"
	Bytes      Kind = "bytes"
	Duration   Kind = "duration"  // ms
	Durations  Kind = "durations" // a list, such as 10m,30m,1h
	Percentage Kind = "percentage"
	Boolean    Kind = "boolean"
	Choice     Kind = "choice"
	Any        Kind = "any"
)

// values are the values that a setting takes: what describes them also checks them.
type values struct {
	kind        Kind
	least, most int64                   // of numbers
	choices     []string                // the default first
	check       func(amqp.Value) string // what is wrong with a value, as refusals of an argument say it; "" is nothing
}

var (
	anyText   = values{kind: Text, check: text}
	shortText = values{kind: Text, check: ShortText}
	flag      = values{kind: Boolean, check: boolean}
	steps     = values{kind: Durations, check: stepList}

	marks = values{kind: Any, check: queueMarks}

	queueMode     = oneOf(`"unsupported queue mode '%s'"`, "default", "lazy")
	leaderLocator = oneOf("invalid_queue_locator_arg", "client-local", "balanced", "random", "least-leaders")
	queueVersion  = values{kind: Number, least: 1, most: 2, check: version}
)

// numbers are integers in a range.
func numbers(kind Kind, least, most int64) values {
	return values{kind: kind, least: least, most: most, check: func(a amqp.Value) string {
		n, ok := a.Integer()
		switch {
		case !ok:
			return ExpectedInteger(a)
		case n < 0 && least >= 0:
			return fmt.Sprintf("{value_negative,%d}", n)
		case n < least:
			return "{value_zero,0}"
		case n > most && kind == Duration:
			return fmt.Sprintf("{value_too_large,%d}", n)
		case n > most:
			return fmt.Sprintf("{max_value_exceeded,%d}", n)
		}
		return ""
	}}
}

// whole, size and span are numbers without an upper bound.
func whole(least int64) values { return numbers(Number, least, math.MaxInt64) }
func size(least int64) values  { return numbers(Bytes, least, math.MaxInt64) }
func span(least int64) values  { return numbers(Duration, least, math.MaxInt64) }

// lasting is a TTL, or what is as long as one at most.
func lasting(least int64) values { return numbers(Duration, least, WaitMax) }

// within are integers in a range. Only policies and options have such: they write their refusals themselves.
func within(least, most int64) values {
	return values{kind: Number, least: least, most: most, check: func(a amqp.Value) string {
		if n, ok := a.Integer(); !ok || n < least || n > most {
			return fmt.Sprintf("not within %d and %d", least, most)
		}
		return ""
	}}
}

// oneOf is one of some words; invalid is the detail of a refusal, in which %s stands for the value.
func oneOf(invalid string, words ...string) values {
	return values{kind: Choice, choices: words, check: func(a amqp.Value) string {
		if detail := text(a); detail != "" {
			return detail
		}
		if !slices.Contains(words, a.Str) {
			return strings.ReplaceAll(invalid, "%s", a.Str)
		}
		return ""
	}}
}

// indexOf is the place of a name, 0 if it is not there.
func indexOf(names []string, name string) int { return max(slices.Index(names, name), 0) }

func ExpectedInteger(a amqp.Value) string {
	return fmt.Sprintf("\"expected integer, got %s\"", a.TypeName())
}

func NotNegative(a amqp.Value) string { return whole(0).check(a) }

func anything(amqp.Value) string { return "" }

func text(a amqp.Value) string {
	if a.Kind != amqp.KindString {
		return fmt.Sprintf("{unacceptable_type,%s}", a.TypeName())
	}
	return ""
}

// ShortText is a text that a message can carry as the name of its exchange, or as its routing key: more would be cut
// off there.
func ShortText(a amqp.Value) string {
	if detail := text(a); detail != "" || len(a.Str) <= amqp.ShortStringMax {
		return detail
	}
	return fmt.Sprintf("{value_too_long,%d}", len(a.Str))
}

func boolean(a amqp.Value) string {
	if a.Kind != amqp.KindBool {
		return fmt.Sprintf("{unacceptable_type,%s}", a.TypeName())
	}
	return ""
}

// queueMarks checks the option that marks queues; Void takes a mark away. What is wrong is a part of a sentence.
func queueMarks(a amqp.Value) string {
	if a.Kind != amqp.KindTable {
		return fmt.Sprintf("has names of queues with true or false, not %s", Show(a))
	}
	for _, f := range a.Table {
		if f.Name == "" {
			return "has a queue without a name"
		}
		if boolean(f.Value) != "" && f.Value.Kind != amqp.KindVoid {
			return fmt.Sprintf("has the value %s for queue '%s': it must be true or false", Show(f.Value), f.Name)
		}
	}
	return ""
}

// hint is what is wrong with text that is a list of durations, for a refusal that has only the value.
func (v *values) hint(a amqp.Value) string {
	if v.kind != Durations || text(a) != "" {
		return ""
	}
	return ": " + strings.Trim(v.check(a), `"`)
}

func stepList(a amqp.Value) string {
	if detail := text(a); detail != "" {
		return detail
	}
	if _, err := parseSteps(a.Str); err != nil {
		return `"` + err.Error() + `"`
	}
	return ""
}

func version(a amqp.Value) string {
	n, ok := a.Integer()
	switch {
	case !ok:
		return ExpectedInteger(a)
	case n != 1 && n != 2:
		return fmt.Sprintf("\"unsupported queue version '%d'\"", n)
	}
	return ""
}

// age checks for a number with one of RabbitMQ's units of age.
func age(a amqp.Value) string {
	if detail := text(a); detail != "" {
		return detail
	}
	n := len(a.Str) - 1
	if n < 1 || !strings.Contains("YMDhms", a.Str[n:]) {
		return "invalid_max_age"
	}
	if _, err := strconv.ParseUint(a.Str[:n], 10, 31); err != nil {
		return "invalid_max_age"
	}
	return ""
}
