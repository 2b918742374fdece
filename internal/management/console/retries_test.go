package console

import (
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// A ladder is a definition with delayed retries, and how long its first returns wait, in ms.
type ladder struct {
	Definition map[string]any `json:"definition"`
	Waits      []int64        `json:"waits"`
}

// waits are ladders of all kinds as the broker climbs them.
func waits(t *testing.T) (all []ladder) {
	t.Helper()
	options := settings.OptionsOf(nil)
	for _, d := range []map[string]any{
		{}, {"delayed-retry-steps": "1s, 5s,30s"}, {"delayed-retry-steps": "1h30m"},
		{"delayed-retry-steps": "5s", "delayed-retry-min": 1},
		{"delayed-retry-min": 7}, {"delayed-retry-min": 7, "delayed-retry-max": 20},
		{"delayed-retry-min": 7, "delayed-retry-max": 3},
		{"delayed-retry-min": 7, "delayed-retry-backoff": "fixed", "delayed-retry-max": 3},
		{"delayed-retry-min": 7, "delayed-retry-backoff": "exponential"},
		{"delayed-retry-min": 1000, "delayed-retry-backoff": "exponential", "delayed-retry-max": 60_000},
		{"delayed-retry-min": 400_000_000_000}, {"delayed-retry-max": 10},
	} {
		table := amqp.Table{{Name: "delayed-retry-type", Value: amqp.String("all")}}
		for name, v := range d {
			value := amqp.Int64(0)
			switch v := v.(type) {
			case int:
				value = amqp.Int64(int64(v))
			case string:
				value = amqp.String(v)
			}
			table = append(table, amqp.Field{Name: name, Value: value})
		}
		s := settings.Effective(nil, table, nil, false, &options)
		l := ladder{Definition: d}
		for n := range uint32(50) {
			l.Waits = append(l.Waits, int64(s.RetryAt(0, false, n+1, 0)))
		}
		all = append(all, l)
	}
	return all
}
