package settings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// asked draws what a queue, a policy or an operator policy asks for, by the names of policies.
func asked(dice *rand.Rand, operator bool) (t amqp.Table) {
	number := func(from ...int64) amqp.Value { return amqp.Int64(from[dice.IntN(len(from))]) }
	word := func(from ...string) amqp.Value { return amqp.String(from[dice.IntN(len(from))]) }
	for _, f := range []struct {
		amqp.Field
		user bool
	}{
		{amqp.Field{Name: "dead-letter-exchange", Value: word("", "a", "b")}, true},
		{amqp.Field{Name: "dead-letter-routing-key", Value: word("", "k", "l")}, true},
		{amqp.Field{Name: "dead-letter-strategy", Value: word("at-most-once", "at-least-once")}, true},
		{amqp.Field{Name: "message-ttl", Value: number(0, 5, 9)}, false},
		{amqp.Field{Name: "expires", Value: number(1, 5, 9)}, false},
		{amqp.Field{Name: "max-length", Value: number(0, 1, 3)}, false},
		{amqp.Field{Name: "max-length-bytes", Value: number(0, 1, 3)}, false},
		{amqp.Field{Name: "overflow", Value: word("drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest")}, false},
		{amqp.Field{Name: "delivery-limit", Value: number(-1, 0, 3, 20)}, false},
		{amqp.Field{Name: "delivery-count-mode", Value: word("all", "failed")}, true},
		{amqp.Field{Name: "delayed-retry-type", Value: word("all", "failed", "returned", "disabled")}, false},
		{amqp.Field{Name: "delayed-retry-min", Value: number(1, 5)}, false},
		{amqp.Field{Name: "delayed-retry-max", Value: number(5, 9)}, false},
		{amqp.Field{Name: "delayed-retry-backoff", Value: word("linear", "fixed", "exponential")}, false},
		{amqp.Field{Name: "delayed-retry-steps", Value: word("1s,2s", "3s")}, false},
		{amqp.Field{Name: "delayed-retry-jitter", Value: number(0, 10)}, false},
		{amqp.Field{Name: "delayed-retry-attempts", Value: number(1, 3)}, false},
		{amqp.Field{Name: "consumer-timeout", Value: number(0, 500, 900)}, true},
	} {
		if dice.IntN(2) == 0 && !(operator && f.user) {
			t = append(t, f.Field)
		}
	}
	return t
}

func asArguments(t amqp.Table) amqp.Table {
	t = slices.Clone(t)
	for i := range t {
		t[i].Name = "x-" + t[i].Name
	}
	return t
}

func TestExplainNamesWhoWins(t *testing.T) {
	// If this fails, explain_queue names a source that does not ask for the value in force, or overlooks one that does.
	t.Parallel()
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	won := map[Source]int{}
	for range 3000 {
		arguments, user, operator := asArguments(asked(dice, false)), asked(dice, false), asked(dice, true)
		r := &Rules{NewPolicies(), OptionsOf(nil)}
		r.policies.Set(Policy{Name: "u", ApplyTo: "all", Definition: user})
		r.policies.Set(Policy{Name: "o", Operator: true, ApplyTo: "all", Definition: operator})
		s := &Subject{Name: "q", Type: []string{"classic", "quorum"}[dice.IntN(2)], Arguments: arguments}
		quorum := s.Type == "quorum"
		for _, e := range r.Explain(s) {
			won[e.Source]++
			_, byArgument := arguments.Get("x-" + e.Name)
			_, byUser := user.Get(e.Name)
			_, byOperator := operator.Get(e.Name)
			// Without those who are not named, the value is the same.
			var alone Settings
			switch e.Source {
			case FromArgument:
				alone = Effective(arguments, nil, nil, quorum, &r.options)
			case FromPolicy:
				alone = Effective(nil, user, nil, quorum, &r.options)
			case FromOperator:
				alone = Effective(nil, nil, operator, quorum, &r.options)
			default:
				if byArgument || byUser || byOperator {
					t.Fatalf("seed %d: %s is said to be asked for by nobody\n%v\n%v\n%v", seed, e.Name, arguments, user, operator)
				}
				continue
			}
			i := slices.IndexFunc(explained, func(x setting) bool { return x.name == e.Name })
			if got := explained[i].read(&alone, s); !got.Equal(e.Value) {
				t.Fatalf("seed %d: %s: %v is said to come from the %s, which asks for %v\n%v\n%v\n%v", seed, e.Name, e.Value, e.Source, got, arguments, user, operator)
			}
		}
	}
	for _, s := range []Source{FromDefault, FromArgument, FromPolicy, FromOperator} {
		if won[s] == 0 {
			t.Errorf("seed %d: %s never wins: the test looks at nothing", seed, s)
		}
	}
}

func TestExplainNames(t *testing.T) {
	// If this fails, a setting that queues have is not told by explain_queue.
	t.Parallel()
	for i := range table {
		x := &table[i]
		if told := x.read != nil; told == (x.inert || x.exchanges) && x.name != "queue-type" {
			t.Errorf("%s: told by explain %v, without effect %v", x.name, told, x.inert)
		}
		if (x.what != "") != (x.by&byPolicy != 0) {
			t.Errorf("%s: a policy may set it and has no words for a refusal, or the other way round", x.name)
		}
	}
}

func TestExplainWhy(t *testing.T) {
	// If this fails, the reason that explain_queue gives is not the one that counted.
	t.Parallel()
	r := &Rules{NewPolicies(), OptionsOf(amqp.Table{{Name: "delivery-limit", Value: amqp.Int64(7)}})}
	r.policies.Set(Policy{Name: "u", ApplyTo: "queues", Priority: 1, Definition: amqp.Table{
		{Name: "dead-letter-exchange", Value: amqp.String("b")}, {Name: "message-ttl", Value: amqp.Int64(9)}, {Name: "ha-mode", Value: amqp.String("all")}}})
	r.policies.Set(Policy{Name: "v", ApplyTo: "queues", Pattern: "q", Definition: amqp.Table{{Name: "max-length", Value: amqp.Int64(9)}}})
	r.policies.Set(Policy{Name: "w", ApplyTo: "exchanges", Priority: 9})
	r.policies.Set(Policy{Name: "x", ApplyTo: "all", Pattern: "^x", Priority: 9})
	s := &Subject{Name: "q", Type: "classic", Arguments: amqp.Table{
		{Name: "x-dead-letter-exchange", Value: amqp.String("a")}, {Name: "x-mesage-ttl", Value: amqp.Int64(1)},
		{Name: "x-delayed-retry-steps", Value: amqp.String("60s,5m,90m")}}}
	told := map[string]Setting{}
	for _, e := range r.Explain(s) {
		told[e.Name] = e
	}
	for _, want := range []Setting{
		{"dead-letter-exchange", amqp.String("a"), FromArgument, "", "the argument overrides policies; policy 'u' sets b"},
		{"message-ttl", amqp.Int64(9), FromPolicy, "u", "no other source sets it"},
		{"delayed-retry-steps", amqp.String("1m,5m,1h30m"), FromArgument, "", "no other source sets it"},
		{"max-length", amqp.Void(), FromDefault, "", "not set"},
		{"delivery-limit", amqp.Int64(7), FromOption, "delivery-limit", "set by a virtual host option or the dialect"},
	} {
		if got := told[want.Name]; got.Source != want.Source || got.From != want.From || got.Why != want.Why || !got.Value.Equal(want.Value) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	strict := &Rules{r.policies, OptionsOf(amqp.Table{{Name: "dlx-by-argument-only", Value: amqp.Bool(true)}})}
	bare := &Subject{Name: "q", Type: "classic"}
	if e := strict.Explain(bare)[0]; e.Source != FromDefault || e.Why != "the option dlx-by-argument-only is on; policy 'u' sets b" {
		t.Errorf("%+v", e)
	}
	if i := strict.Ignored(bare); len(i) != 2 || i[0].Name != "dead-letter-exchange" || i[0].Why != "the option dlx-by-argument-only is on" {
		t.Errorf("%+v", i)
	}
	empty := &Rules{NewPolicies(), OptionsOf(nil)}
	empty.policies.Set(Policy{Name: "e", ApplyTo: "queues", Definition: amqp.Table{
		{Name: "dead-letter-exchange", Value: amqp.String("")},
		{Name: "dead-letter-routing-key", Value: amqp.String("")}}})
	both := &Subject{Name: "q", Type: "classic", Arguments: amqp.Table{
		{Name: "x-dead-letter-exchange", Value: amqp.String("a")},
		{Name: "x-dead-letter-routing-key", Value: amqp.String("k")}}}
	for i, sets := range []string{"the default exchange", "an empty text"} {
		if e := empty.Explain(both)[i]; e.Why != "the argument overrides policies; policy 'e' sets "+sets {
			t.Errorf("%+v", e)
		}
	}
	var standings []string
	for _, p := range r.Standings(s) {
		standings = append(standings, p.Name+": "+p.Why)
	}
	if want := []string{
		"u: applies", "v: matches, but 'u' has a higher priority: 1", "w: does not match: it is for exchanges",
		"x: does not match: the pattern is not found in the name",
	}; !slices.Equal(standings, want) {
		t.Errorf("standings %q", standings)
	}
	var ignored []string
	for _, i := range r.Ignored(s) {
		ignored = append(ignored, i.Name+": "+i.Why)
	}
	if want := []string{"x-mesage-ttl: unknown argument", "ha-mode: no effect on queues"}; !slices.Equal(ignored, want) {
		t.Errorf("ignored %q", ignored)
	}
}
