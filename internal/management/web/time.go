package web

import "time"

// FormatTime is the form of an instant.
const FormatTime = "2006-01-02T15:04:05.000Z"

func FormatMS(ms int64) string { return time.UnixMilli(ms).UTC().Format(FormatTime) }
