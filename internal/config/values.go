package config

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/duration"
	"github.com/bartleby-mq/bartleby/internal/logging"
)

// set puts a value where it belongs. names are what stood for the variable parts of the key.
type set func(s *Settings, names []string, value string) error

// to makes a set of a reader of values and a place for them.
func to[T any](read func(string) (T, error), place func(*Settings) *T) set {
	return func(s *Settings, _ []string, value string) error {
		v, err := read(value)
		if err == nil {
			*place(s) = v
		}
		return err
	}
}

func text(value string) (string, error) { return value, nil }

func boolean(value string) (bool, error) {
	switch value {
	case "true", "on", "yes":
		return true, nil
	case "false", "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", value)
}

// not reads the opposite.
func not(value string) (bool, error) {
	v, err := boolean(value)
	return !v, err
}

// whole reads whole numbers from least to most.
func whole[T int | int64 | uint16 | uint32](least, most int64) func(string) (T, error) {
	return func(value string) (T, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", value, least, most)
		}
		return T(n), nil
	}
}

// limit reads a number that means none if it is infinity.
func limit(value string) (int, error) {
	if value == "infinity" {
		return 0, nil
	}
	return whole[int](0, 1<<31-1)(value)
}

// failures reads a number of failed logins; infinity is no limit.
func failures(value string) (int, error) {
	if value == "infinity" {
		return -1, nil
	}
	return whole[int](1, 1<<20)(value)
}

// span reads a time as a number of units.
func span(unit time.Duration, least, most int64) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		n, err := whole[int64](least, most)(value)
		return time.Duration(n) * unit, err
	}
}

// orEndless reads infinity, too, as the longest time that there is.
func orEndless(read func(string) (time.Duration, error)) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		if value == "infinity" {
			return 1 << 31 * time.Millisecond, nil
		}
		return read(value)
	}
}

// lasting reads a time with a unit, such as 50ms or 1s, of at least so many nanoseconds.
func lasting(least int64) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		n, err := duration.Nanoseconds(value)
		if err == nil && n < least {
			err = fmt.Errorf("'%s' is not longer than 0", value)
		}
		return time.Duration(n), err
	}
}

// bytes reads a size as RabbitMQ writes it.
func bytes(value string) (int64, error) { return bartleby.ParseBytes(value) }

// orUnbounded reads a number of bytes, or infinity; 0 leaves the bound to the broker.
func orUnbounded(value string) (int64, error) {
	if value == "infinity" {
		return 1 << 60, nil
	}
	return bytes(value)
}

// bytesize reads a size of the keys whose KB, MB and GB are of 1024. Source: RabbitMQ configure, frame_max.
func bytesize(value string) (int64, error) {
	if n := len(value); n > 2 && strings.EqualFold(value[n-1:], "b") && strings.ContainsAny(value[n-2:n-1], "kKmMgG") {
		value = strings.ToUpper(value[:n-1])
	}
	return bytes(value)
}

// bytesOrNone is bytes, and -1 for none.
func bytesOrNone(value string) (int64, error) {
	if value == "-1" {
		return -1, nil
	}
	return bytes(value)
}

func share(value string) (float64, error) {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number", value)
	}
	return f, nil
}

// oneOf reads one of a few words.
func oneOf(words ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		if !slices.Contains(words, value) {
			return "", fmt.Errorf("%q is not one of %s", value, strings.Join(words, ", "))
		}
		return value, nil
	}
}

// strict reads the rights of the office.
func strict(value string) (bool, error) {
	value, err := oneOf("open", "strict")(value)
	return value == "strict", err
}

// certificateName reads what of a certificate is a user's name.
func certificateName(value string) (string, error) {
	const alternative = "subject_alternative_name"
	if value == "subject_alt_name" {
		value = alternative
	}
	return oneOf("distinguished_name", "common_name", alternative)(value)
}

// fixed accepts the only value that there is here, and says so otherwise.
func fixed(only string) func(string) (string, error) {
	return func(value string) (string, error) {
		if value != only {
			return "", fmt.Errorf("%q is not supported: only %s is", value, only)
		}
		return value, nil
	}
}

// level reads a level. What older series compare with (=debug, !=info, <=notice, <warning) is the level that is named.
func level(value string) (slog.Level, error) {
	return logging.ParseLevel(strings.TrimLeft(value, "=!<>"))
}

// address reads where to listen: a port, a host with a port, or all interfaces by ":::5672".
func address(value string) (string, error) {
	if _, err := strconv.Atoi(value); err == nil {
		value = ":" + value
	}
	if port, ok := strings.CutPrefix(value, ":::"); ok {
		value = "[::]:" + port
	}
	if at := strings.LastIndexByte(value, ':'); strings.Count(value, ":") > 1 && net.ParseIP(value[:at]) != nil {
		value = "[" + value[:at] + "]" + value[at:] // ::1:5672
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return "", fmt.Errorf("%q is not a port, nor an address with a port such as 127.0.0.1:5672", value)
	}
	if _, err := whole[int](0, 65535)(port); err != nil {
		return "", fmt.Errorf("port %w", err)
	}
	return net.JoinHostPort(host, port), nil
}

// addresses reads where to listen, in several places or nowhere.
func addresses(value string) (string, error) {
	if value == "" || value == "none" {
		return "", nil
	}
	var all []string
	for one := range strings.SplitSeq(value, ",") {
		a, err := address(strings.TrimSpace(one))
		if err != nil {
			return "", err
		}
		all = append(all, a)
	}
	return strings.Join(all, ","), nil
}
