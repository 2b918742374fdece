package vhost

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/settings"
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

func TestTryForetellsSetPolicy(t *testing.T) {
	// If this fails, a dry run says something else than what setting or clearing the policy does.
	t.Parallel()
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	w := newWorld()
	if err := w.batch(Command{Kind: Connect, Conn: 1, Window: 1 << 40, Definition: &Definition{}}, Command{Kind: OpenChannel, Conn: 1, Channel: 1}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		for refused := true; refused; {
			arguments := asArguments(asked(dice, false))
			if dice.IntN(2) == 0 {
				arguments = append(arguments, amqp.Field{Name: "x-queue-type", Value: amqp.String("quorum")})
			}
			why, err := w.step(Command{Kind: DeclareQueue, Channel: 1, Definition: &Definition{Name: name, Durable: true, Arguments: arguments}})
			if err != nil {
				t.Fatal(err)
			}
			if refused = why != nil; refused { // which has closed the channel
				if _, err := w.step(Command{Kind: OpenChannel, Conn: 1, Channel: 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.seal()
	w.begin()
	tried, changed := 0, 0
	for range 300 {
		p := Policy{Name: string(rune('p' + dice.IntN(3))), Pattern: []string{"a", "1", "", "^b2$"}[dice.IntN(4)], Operator: dice.IntN(3) == 0,
			ApplyTo: []string{"all", "queues", "classic_queues", "quorum_queues", "exchanges"}[dice.IntN(5)], Priority: dice.Int64N(3)}
		p.Definition = asked(dice, p.Operator)
		clear := dice.IntN(3) == 0
		var copied Subjects
		for w.v.Reader().SubjectsSome(&copied, 1+dice.IntN(10)) {
		}
		before := copied.All()
		runs, refused := w.v.Reader().Rules().DryRun(p, clear, before, func() bool { return true })
		old := map[string]QueueView{}
		for _, q := range w.v.Reader().Queues() {
			old[q.Name] = q
		}
		kind := SetPolicy
		if clear {
			kind = ClearPolicy
		}
		did, err := w.step(Command{Kind: kind, Channel: 1, Policy: &p})
		if err != nil {
			t.Fatal(err)
		}
		w.seal()
		w.begin()
		if (did != nil) != (refused != nil) {
			t.Fatalf("seed %d: tried: %v, done: %v", seed, refused, did)
		}
		if refused != nil {
			if err := w.batch(Command{Kind: OpenChannel, Conn: 1, Channel: 1}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		tried++
		foretold := map[string]*settings.PolicyDryRun{}
		for i := range runs {
			if !runs[i].Exchange {
				foretold[runs[i].Name] = &runs[i]
			}
		}
		for _, q := range w.v.Reader().Queues() {
			o := old[q.Name]
			is, was := q.Policy, o.Policy
			if p.Operator {
				is, was = q.OperatorPolicy, o.OperatorPolicy
			}
			t2 := foretold[q.Name]
			if t2 == nil {
				if is != was || !equalSettings(&q, &o) {
					t.Fatalf("seed %d: %s was not foretold: from %s to %s", seed, q.Name, was, is)
				}
				continue
			}
			if t2.Before != was || t2.After != is || (len(t2.Changes) > 0) == equalSettings(&q, &o) {
				t.Fatalf("seed %d: %s: foretold %+v; was %s, is %s", seed, q.Name, t2, was, is)
			}
			if len(t2.Changes) > 0 {
				changed++
			}
		}
	}
	if tried == 0 || changed == 0 {
		t.Errorf("seed %d: %d runs, %d changes: the test looks at nothing", seed, tried, changed)
	}
}

// equalSettings compares what two views of a queue tell of its settings.
func equalSettings(a, b *QueueView) bool {
	x, y := a.Settings, b.Settings
	x.Counts, y.Counts = false, false // follows from others
	return reflect.DeepEqual(x, y)
}

// TestSubjectsInPortions says that a dry run copies very many queues and exchanges in one go, or misses some.
func TestSubjectsInPortions(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	for i := range 10 {
		must(t, w, declareWith(string(rune('a'+i))))
	}
	for most := 1; most < 20; most++ {
		var to Subjects
		for more := true; more; {
			before := len(to.copied)
			if more = w.v.Reader().SubjectsSome(&to, most); len(to.copied) != before+1 || len(to.copied[before]) > most {
				t.Errorf("a portion of %d copied %d", most, len(to.copied[before]))
			}
		}
		names := map[string]bool{}
		for _, s := range to.All() {
			names[s.Name] = true
		}
		want := 9 // without the default exchange
		for x := range w.v.topo.Exchanges() {
			if x.Name != "" {
				want++
			}
		}
		if want++; len(names) != want || len(to.All()) != want {
			t.Errorf("in portions of %d: %d of %d subjects, %d names", most, len(to.All()), want, len(names))
		}
	}
}
