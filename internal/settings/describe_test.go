package settings

import (
	"math"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestDescriptionsSayWhatIsChecked(t *testing.T) {
	// If this fails, a form offers a value that the broker refuses, or does not offer one that it takes, or shows
	// another default than the effective one.
	t.Parallel()
	o := OptionsOf(nil)
	untouched := Effective(nil, nil, nil, false, &o)
	for i, d := range All() {
		x := &table[i]
		check := func(a amqp.Value, good bool) {
			t.Helper()
			if detail := x.policy.check(a); (detail == "") != good {
				t.Errorf("%s: %s is refused with %q, want good %v", d.Name, Show(a), detail, good)
			}
		}
		switch d.Kind {
		case Number, Bytes, Duration, Percentage:
			check(amqp.Int64(d.Min), true)
			check(amqp.Int64(d.Max), true)
			check(amqp.String("x"), false)
			if d.Min != math.MinInt64 {
				check(amqp.Int64(d.Min-1), false)
			}
			if d.Max != math.MaxInt64 {
				check(amqp.Int64(d.Max+1), false)
			}
		case Choice:
			check(amqp.String("no such word"), false)
			for _, word := range d.Choices {
				check(amqp.String(word), true)
			}
			if x.read != nil && x.read(&untouched, &Subject{}).Str != d.Choices[0] {
				t.Errorf("%s: the first choice is %s, not the default", d.Name, d.Choices[0])
			}
		case Boolean:
			check(amqp.Bool(true), true)
			check(amqp.String("true"), false)
		case Durations:
			check(amqp.String("10m,30m,1h"), true)
			check(amqp.String("soon"), false)
		case Text:
			check(amqp.Int64(1), false)
		case Any:
		default:
			t.Errorf("%s has no kind", d.Name)
		}
	}
}

func TestDescriptionsSayWhoWins(t *testing.T) {
	// If this fails, the console shows another source of a setting than the effective one.
	t.Parallel()
	number := func(a amqp.Value, d *Description) float64 {
		n, _ := a.Integer()
		if d.None == "negative" && n < 0 || d.None == "zero" && n == 0 {
			return math.Inf(1)
		}
		return float64(n)
	}
	for i, d := range All() {
		x := &table[i]
		if d.Wins == "" {
			if x.read != nil {
				t.Errorf("%s: queues run with it, and nothing says who wins", d.Name)
			}
			continue
		}
		// winner reads the description: is the argument effective?
		winner := func(argument, merged, operator amqp.Value) amqp.Value {
			first := false
			switch d.Wins {
			case "argument":
				first = true
			case "policy":
			case "operator policy":
				first = isVoid(operator)
			case "smaller":
				first = number(argument, &d) <= number(merged, &d)
			case "larger":
				first = number(argument, &d) >= number(merged, &d)
			default:
				t.Errorf("%s: who wins is %q", d.Name, d.Wins)
			}
			if first {
				return argument
			}
			return merged
		}
		all := []amqp.Value{amqp.Int64(-1), amqp.Int64(0), amqp.Int64(3), amqp.Int64(9)}
		if d.Kind == Text || d.Kind == Choice || d.Kind == Durations {
			all = []amqp.Value{amqp.String("a"), amqp.String("b")}
		} else {
			all = slices.DeleteFunc(all, func(a amqp.Value) bool { return x.policy.check(a) != "" })
		}
		for _, argument := range all {
			for _, policy := range all {
				for _, operator := range append(all, amqp.Void()) {
					merged := policy
					if !isVoid(operator) {
						merged = x.wins.policies(policy, operator)
					}
					got := winner(argument, merged, operator)
					if want := x.wins.all(argument, merged, operator); !got.Equal(want) {
						t.Errorf("%s: of %s, %s and %s %s is effective, described is %s",
							d.Name, Show(argument), Show(policy), Show(operator), Show(want), Show(got))
					}
				}
			}
		}
	}
}
