package command

import (
	"strconv"
	"strings"
	"time"
)

// FormatTime shows ms since the Unix epoch.
func FormatTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// FormatDuration shows a number of ms.
func FormatDuration(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// ParseTime reads a number of milliseconds, or one with a unit.
func ParseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if n, bad := strconv.ParseInt(s, 10, 32+8); bad == nil {
		d, err = time.Duration(n)*time.Millisecond, nil
	} else if days, found := strings.CutSuffix(s, "d"); found {
		if n, bad := strconv.ParseInt(days, 10, 16); bad == nil {
			d, err = time.Duration(n)*24*time.Hour, nil
		}
	}
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, Failf(ExitData, "'%s' is not a duration such as 500, 90s, 15m, 12h or 30d", s)
	}
	return d, nil
}
