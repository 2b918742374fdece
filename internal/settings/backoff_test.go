package settings

import (
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
)

// TestLadders says that a returned message waits too long or not long enough.
func TestLadders(t *testing.T) {
	t.Parallel()
	const minute, hour = 60_000, 3_600_000
	for _, c := range []struct {
		name     string
		settings amqp.Table
		want     []int64 // ms, by return; -1: it dies
	}{
		{"linear", amqp.Table{{Name: "delayed-retry-min", Value: amqp.Int64(100)}, {Name: "delayed-retry-max", Value: amqp.Int64(250)}}, []int64{100, 200, 250, 250}},
		{"linear without a greatest", amqp.Table{{Name: "delayed-retry-min", Value: amqp.Int64(100)}}, []int64{100, 100}},
		{"fixed", amqp.Table{{Name: "delayed-retry-min", Value: amqp.Int64(100)}, {Name: "delayed-retry-max", Value: amqp.Int64(900)}, {Name: "delayed-retry-backoff", Value: amqp.String("fixed")}}, []int64{100, 100, 100}},
		{"exponential", amqp.Table{{Name: "delayed-retry-min", Value: amqp.Int64(100)}, {Name: "delayed-retry-max", Value: amqp.Int64(500)}, {Name: "delayed-retry-backoff", Value: amqp.String("exponential")}}, []int64{100, 200, 400, 500, 500}},
		{"steps", amqp.Table{{Name: "delayed-retry-steps", Value: amqp.String("10m,30m,1h")}, {Name: "delayed-retry-attempts", Value: amqp.Int64(4)}}, []int64{10 * minute, 30 * minute, hour, hour, -1}},
		{"steps of all units", amqp.Table{{Name: "delayed-retry-steps", Value: amqp.String("5ms, 7ms,2s,1d")}}, []int64{5, 7, 2000, 24 * hour, 24 * hour}},
	} {
		policy := append(amqp.Table{{Name: "delayed-retry-type", Value: amqp.String("all")}}, c.settings...)
		if err := (&Policy{Name: "p", Pattern: ".", ApplyTo: "queues", Definition: policy}).Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		o := OptionsOf(nil)
		s := Effective(nil, policy, nil, false, &o)
		for i, want := range c.want {
			n := uint32(i + 1)
			got := int64(s.RetryAt(1000, true, n, 7)) - 1000
			if s.Exhausted(n) {
				got = -1
			}
			if got != want {
				t.Errorf("%s: return %d waits %d ms, not %d", c.name, n, got, want)
			}
		}
	}
}

// TestLadderNeverEndsEarly says that doubling overflows, or a wait is longer than anything may be.
func TestLadderNeverEndsEarly(t *testing.T) {
	t.Parallel()
	s := Settings{RetryType: RetryAll, RetryMin: 3, RetryBackoff: Exponential}
	last := deadline.Instant(0)
	for n := uint32(1); n < 200; n++ {
		at := s.RetryAt(0, true, n, 0)
		if at < last || at > WaitMax {
			t.Fatalf("return %d waits %d ms, the one before %d", n, at, last)
		}
		last = at
	}
	if last != WaitMax {
		t.Errorf("the longest wait is %d ms", last)
	}
}

// TestJitter says that waits with jitter are shorter than without, longer than they may be, or all alike.
func TestJitter(t *testing.T) {
	t.Parallel()
	s := Settings{RetryType: RetryAll, RetryMin: 1000, RetryBackoff: Fixed, RetryJitter: 50}
	seen := map[deadline.Instant]bool{}
	for chance := range uint64(1000) {
		at := s.RetryAt(0, true, 1, chance)
		if at < 1000 || at > 1500 {
			t.Fatalf("waits %d ms", at)
		}
		seen[at] = true
	}
	if len(seen) < 300 {
		t.Errorf("only %d different waits", len(seen))
	}
}

// TestInvalidRetryLaddersAreRefused says that steps which cannot be meant are accepted: a number without a unit was one
// of milliseconds, and who wrote it meant seconds or minutes.
func TestInvalidRetryLaddersAreRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []amqp.Field{
		{Name: "delayed-retry-steps", Value: amqp.String("")},
		{Name: "delayed-retry-steps", Value: amqp.String("10m,,1h")},
		{Name: "delayed-retry-steps", Value: amqp.String("1,5,30")},
		{Name: "delayed-retry-steps", Value: amqp.String("10m, 30")},
		{Name: "delayed-retry-steps", Value: amqp.String("0s")},
		{Name: "delayed-retry-steps", Value: amqp.String("-5m")},
		{Name: "delayed-retry-steps", Value: amqp.String("1y")},
		{Name: "delayed-retry-steps", Value: amqp.String("1mm")},
		{Name: "delayed-retry-steps", Value: amqp.String("4000d")},
		{Name: "delayed-retry-steps", Value: amqp.Int64(10)},
		{Name: "delayed-retry-backoff", Value: amqp.String("quadratic")},
		{Name: "delayed-retry-jitter", Value: amqp.Int64(101)},
		{Name: "delayed-retry-jitter", Value: amqp.Int64(-1)},
		{Name: "delayed-retry-attempts", Value: amqp.Int64(0)},
	} {
		if err := (&Policy{Name: "p", Pattern: ".", ApplyTo: "queues", Definition: amqp.Table{f}}).Check(); err == nil {
			t.Errorf("policy %s = %v is accepted", f.Name, f.Value)
		}
		if settingOfArgument["x-"+f.Name].takes.check(f.Value) == "" {
			t.Errorf("argument x-%s = %v is accepted", f.Name, f.Value)
		}
	}
}

func TestFullWidthSteps(t *testing.T) {
	// If this fails, nobody sees what is wrong with steps that look right.
	t.Parallel()
	for text, want := range map[string]string{
		"1m，5m": "'，' is a full-width character: write ','", "１m,5m": "'１' is a full-width character: write '1'",
		"1m、5m": "'、' does not separate steps: write ','", "1m;5m": "is not a duration",
	} {
		steps := amqp.Table{{Name: "delayed-retry-steps", Value: amqp.String(text)}}
		p := Policy{Name: "p", Pattern: ".", ApplyTo: "queues", Definition: steps}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
