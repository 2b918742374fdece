package command

import (
	"time"

	"github.com/bartleby-mq/bartleby/internal/duration"
)

// FormatTime shows ms since the Unix epoch.
func FormatTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// FormatDuration shows a number of ms.
func FormatDuration(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// ParseTime reads a duration. option is the name of the option that has it, "" if it is an argument.
func ParseTime(option, s string) (time.Duration, error) {
	ms, err := duration.Milliseconds(s)
	switch {
	case err != nil && option != "":
		return 0, Failf(ExitData, "--%s: %v", option, err)
	case err != nil:
		return 0, Failf(ExitData, "%v", err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
