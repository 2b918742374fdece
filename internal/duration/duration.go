// Package duration reads durations that people write as text, and writes them: one grammar and one list of units for
// queue arguments, options, filters, the HTTP API, the command line and the configuration.
package duration

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

const (
	nanosecond  = 1
	microsecond = 1000 * nanosecond
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
)

// longest is a hundred years: more than any setting takes, and a sum of two does not overflow.
const longest = 36525 * day

const howToWrite = "a number with ms, s, m, h, d or w, such as 90s or 1h30m"

// units are in the order of their lengths. f is a fortnight. Source: RabbitMQ configure, durations.
var units = map[string]int64{
	"us": microsecond, "µs": microsecond, "ms": millisecond, "s": second, "m": minute, "min": minute, "h": hour,
	"d": day, "w": 7 * day, "f": 14 * day,
}

// Nanoseconds reads amounts with units, which add up: 90s, 1h30m, 1.5h. Case does not count. 0 needs no unit; any other
// number without one is refused, because nobody knows what it means.
func Nanoseconds(text string) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	if strings.Trim(text, "0123456789.") == "" && strings.Trim(text, ".") != "" {
		return 0, fmt.Errorf("'%s' has no unit: write %ss, or %sms", text, text, text)
	}
	var sum int64
	for rest, first := text, true; first || rest != ""; first = false {
		n, after, ok := amount(rest)
		if !ok {
			return 0, fmt.Errorf("'%s' is not a duration: write %s", text, howToWrite)
		}
		if sum += n; sum > longest {
			return 0, fmt.Errorf("'%s' is longer than a hundred years", text)
		}
		rest = after
	}
	return sum, nil
}

// Milliseconds is Nanoseconds for what is counted in whole milliseconds.
func Milliseconds(text string) (int64, error) {
	n, err := Nanoseconds(text)
	if err == nil && n%millisecond != 0 {
		return 0, fmt.Errorf("'%s' is not a whole number of milliseconds", text)
	}
	return n / millisecond, err
}

// amount reads a decimal number and its unit. What is longer than the longest duration is a little longer than that.
func amount(s string) (n int64, rest string, ok bool) {
	number := s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
	unit := s[len(number):]
	if i := strings.IndexAny(unit, "0123456789."); i >= 0 {
		unit = unit[:i]
	}
	is, known := units[strings.ToLower(strings.Replace(unit, "μ", "µ", 1))]
	whole, fraction, _ := strings.Cut(number, ".")
	if !known || whole == "" || strings.Contains(fraction, ".") || strings.HasSuffix(number, ".") {
		return 0, "", false
	}
	rest = s[len(number)+len(unit):]
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > longest/is { // digits alone: the number is too large
		return longest + 1, rest, true
	}
	n *= is
	for scale := is; fraction != ""; fraction = fraction[1:] {
		scale /= 10
		n += int64(fraction[0]-'0') * scale
	}
	return n, rest, true
}

// named are the units that durations are written with, the longest first.
var named = []struct {
	ms         int64
	unit, word string
}{
	{day / millisecond, "d", "day"}, {hour / millisecond, "h", "hour"}, {minute / millisecond, "m", "minute"},
	{second / millisecond, "s", "second"}, {1, "ms", "ms"},
}

// Text writes ms, which are not negative, exactly and as Milliseconds reads them: 1h30m.
func Text(ms int64) string {
	var text strings.Builder
	for _, u := range named {
		if n := ms / u.ms; n > 0 {
			fmt.Fprintf(&text, "%d%s", n, u.unit)
		}
		ms %= u.ms
	}
	return cmp.Or(text.String(), "0")
}

// Words writes ms, which are not negative, exactly and in English: 1 hour 30 minutes, 0 ms.
func Words(ms int64) string {
	var words []string
	for _, u := range named {
		n := ms / u.ms
		ms %= u.ms
		switch {
		case n == 0:
		case n == 1 || u.ms == 1:
			words = append(words, fmt.Sprintf("%d %s", n, u.word))
		default:
			words = append(words, fmt.Sprintf("%d %ss", n, u.word))
		}
	}
	return cmp.Or(strings.Join(words, " "), "0 ms")
}
