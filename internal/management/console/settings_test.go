package console

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/duration"
	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// A contest is an argument and a policy that set the same, and which of them is effective.
type contest struct {
	Name     string          `json:"name"`
	Argument json.RawMessage `json:"argument"`
	Policy   json.RawMessage `json:"policy"`
	Operator bool            `json:"operator"` // the policy is an operator's
	From     string          `json:"from"`
}

// writeSettings writes what the broker knows of settings to a file, for the tests of the console.
func writeSettings(t *testing.T) (file string) {
	t.Helper()
	var cases []contest
	for _, d := range settings.All() {
		if !d.Inert && slices.Contains(d.By, settings.FromArgument) && slices.Contains(d.By, settings.FromPolicy) {
			cases = append(cases, contests(t, &d)...)
		}
	}
	text, err := json.Marshal(map[string]any{
		"settings": resources.Settings(), "cases": cases, "durations": durations(), "waits": waits(t),
		"faults": faults(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// faults are errors of wrong filters, of each kind.
func faults(t *testing.T) (all []string) {
	t.Helper()
	for _, text := range []string{
		"reson:expired", "原因:rejected",
		"reason:gone", "queue:>x", "reason:", "a OR b", "a - b", `"open`, `"\xZZ"`, `a\`, "\xff",
		"count:x", "count:5..3", "count:..", `count:"3"`, "size:10x", "time:2026-13",
		"age:1h", "age:>5", "age:>1年", "age:>90000w", "age:>1us",
		"header.x:>y", "header.x:2..1", "header.:x", "body.$:x", "body.$" + strings.Repeat(".a", 40) + ":x",
		strings.Repeat("a ", 65), strings.Repeat("a", filter.TextMax+1), "a-" + strings.Repeat("b-", 70) + "c",
	} {
		_, err := filter.Parse(text, 1795262400000)
		if err == nil {
			t.Errorf("%q is a filter", text)
			continue
		}
		all = append(all, err.Error())
	}
	return all
}

// contests asks the table of settings who wins, with values of every kind. Ties are left out.
func contests(t *testing.T, d *settings.Description) (all []contest) {
	t.Helper()
	options := settings.OptionsOf(nil)
	run := func(argument, policy, operator amqp.Value) settings.Settings {
		table := func(name string, a amqp.Value) amqp.Table {
			if a.Kind == amqp.KindVoid {
				return nil
			}
			return amqp.Table{{Name: name, Value: a}}
		}
		user, limit := table(d.Name, policy), table(d.Name, operator)
		return settings.Effective(table(d.Argument, argument), user, limit, false, &options)
	}
	void := amqp.Void()
	values := samples(d)
	for _, a := range values {
		for _, p := range values {
			for _, operator := range []bool{false, true} {
				user, limit := p, void
				if operator {
					user, limit = void, p
				}
				if operator && !slices.Contains(d.By, settings.FromOperator) {
					continue
				}
				alone, other, both := run(a, void, void), run(void, user, limit), run(a, user, limit)
				c := contest{Name: d.Name, Argument: api.RawValue(a), Policy: api.RawValue(p), Operator: operator}
				switch {
				case reflect.DeepEqual(alone, other):
					continue
				case reflect.DeepEqual(both, alone):
					c.From = "argument"
				case reflect.DeepEqual(both, other):
					c.From = "policy"
				default:
					t.Errorf("%s: neither %s nor %s is effective", d.Name, settings.Show(a), settings.Show(p))
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// samples are a few values that a setting takes.
func samples(d *settings.Description) (all []amqp.Value) {
	switch d.Kind {
	case settings.Choice:
		for _, word := range d.Choices {
			all = append(all, amqp.String(word))
		}
	case settings.Durations:
		all = []amqp.Value{amqp.String("1s,2s"), amqp.String("3s")}
	case settings.Number, settings.Bytes, settings.Duration, settings.Percentage:
		for _, n := range []int64{-1, 0, 3, 9} {
			if d.Min <= n && n <= d.Max {
				all = append(all, amqp.Int64(n))
			}
		}
	case settings.Boolean:
		all = []amqp.Value{amqp.Bool(false), amqp.Bool(true)}
	default:
		all = []amqp.Value{amqp.String("a"), amqp.String("b")}
	}
	return all
}

// A reading is a text and the duration that it means in ms, -1 if it is none.
type reading struct {
	Text string `json:"text"`
	MS   int64  `json:"ms"`
}

// durations are texts of all kinds as package duration reads them.
func durations() (all []reading) {
	for _, text := range []string{
		"0", "0s", "00", "5", "1.5", "", ".", "s", "soon", "90s", "15m", "15min", "12h", "30d", "2w", "1f", "1h30m",
		"1h30min5s", "1.5h", "0.5s", "1.25d", "1H30M", "007s", "500us", "1000us", "1500us", "1000µs", "1000μs", "0.5ms",
		"1h30", "-5s", "+5s", "1.s", ".5s", "1.2.3s", "5sm", "1e3s", "10,5s", "36525d", "36526d", "36525d1us",
		"99999999999999999999s", "1m0.25s", "0.0000000001s", "1.0005s", "5y",
	} {
		ms, err := duration.Milliseconds(text)
		if err != nil {
			ms = -1
		}
		all = append(all, reading{text, ms})
	}
	return all
}
