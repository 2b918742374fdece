package vhost

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// inForceOn lists the durable queues that a policy is in force on, with what they run with.
func (v *VHost) inForceOn(policy string) (names []string) {
	for _, q := range v.sortedQueues() {
		if q.object.Durable && q.policy == policy {
			names = append(names, fmt.Sprint(q.object.Name, " ", q.settings.DeliveryLimit, " ", q.settings.MaxLength))
		}
	}
	return names
}

// ruledWorld plays a change of a policy for many queues, in portions of three queues. visit is called
// behind each batch.
func ruledWorld(t *testing.T, visit func(w *world) error) (*world, error) {
	w := newWorld()
	must(t, w, open("a")...)
	for i := range 20 {
		q := declareWith(fmt.Sprint("q", i))
		q.Definition.Exclusive, q.Definition.Durable = i%10 == 3, i%10 != 3
		must(t, w, q)
		for n := range 3 {
			must(t, w, publishTo(fmt.Sprint("q", i), amqp.Persistent, fmt.Sprint(n)))
		}
	}
	must(t, w, Command{Kind: Consume, Channel: 1, Definition: &Definition{Name: "q17", ConsumerTag: "c"}})
	w.v.BoundSteps(3 * workOfRule)
	w.stepMax = 3 * workOfRule
	set := func(limit int64) error {
		refused, err := w.step(Command{Kind: SetPolicy, Conn: 1, Channel: 1, Policy: &Policy{
			Name: "p", Pattern: "^q", Definition: amqp.Table{argumentOf("delivery-limit", limit), argumentOf("max-length", 2)},
		}})
		if refused != nil {
			t.Fatal(refused)
		}
		w.seal()
		w.begin()
		return err
	}
	if err := set(5); err != nil {
		return w, err
	}
	for n := 0; len(w.v.ongoing) > 0; n++ {
		if err := visit(w); err != nil {
			return w, err
		}
		if n == 6 { // another one, from elsewhere, begins again
			must(t, w, Command{Kind: SetPolicy, Policy: &Policy{
				Name: "o", Operator: true, Pattern: "^q", Definition: amqp.Table{argumentOf("delivery-limit", 4)},
			}}, declareWith("qlate"))
		}
		if n == 13 { // its count depends on what is in force: on q17 nothing is
			must(t, w, Command{Kind: Nack, Channel: 1, Tag: 1, Requeue: true})
		}
		before := len(w.v.inForceOn("p"))
		if err := w.batch(Command{Kind: Tick}); err != nil {
			return w, err
		}
		if more := len(w.v.inForceOn("p")) - before; more > 3 {
			t.Errorf("a step reached %d queues", more)
		}
		if n > 100 {
			t.Fatal("it does not end")
		}
	}
	if err := w.ticks(); err != nil { // what is over its new limit has left
		return w, err
	}
	return w, visit(w)
}

// TestPoliciesForManyQueuesComeInPortions says that a policy for very many queues is in force on a wrong
// queue, or on none, when a crash comes in the middle; that it is answered before its end; or that a step
// reaches more queues than it may.
func TestPoliciesForManyQueuesComeInPortions(t *testing.T) {
	t.Parallel()
	restarts := func(w *world) error {
		if err := w.v.Check(); err != nil {
			return err
		}
		applied := w.fresh()
		if err := w.replayAll(applied); err != nil {
			return err
		}
		if got, want := applied.inForceOn("p"), w.v.inForceOn("p"); !slices.Equal(got, want) {
			return fmt.Errorf("behind batch %d the log says %q, it is %q", w.next(), got, want)
		}
		if !reflect.DeepEqual(applied.Projection(), w.v.Projection()) {
			return fmt.Errorf("behind batch %d the log leads to another state", w.next())
		}
		x := newWorld()
		x.log.batches, x.stepMax, x.now = slices.Clone(w.log.batches), w.stepMax, w.now
		if err := x.restart(nil); err != nil {
			return err
		}
		x.seal()
		x.begin()
		if err := x.ticks(); err != nil {
			return err
		}
		for _, q := range x.v.sortedQueues() {
			if q.policy != "p" || q.messages.Count(queue.Ready) > 2 {
				return fmt.Errorf("after a restart behind batch %d policy %q is in force on %q, and %d are ready",
					w.next(), q.policy, q.object.Name, q.messages.Count(queue.Ready))
			}
		}
		return x.audit()
	}
	w, err := ruledWorld(t, restarts)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range w.v.sortedQueues() {
		if q.policy != "p" || q.settings.MaxLength != 2 || q.messages.Count(queue.Ready) > 2 {
			t.Errorf("policy %q on %q, %d are ready", q.policy, q.object.Name, q.messages.Count(queue.Ready))
		}
		if q.settings.DeliveryLimit != 4 {
			t.Errorf("the operator's limit on %q is %d", q.object.Name, q.settings.DeliveryLimit)
		}
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// If this fails, a policy for very many exchanges keeps everybody waiting, is answered before its end, or is not in
// force on some of them when a crash came in the middle.
func TestPoliciesForManyExchangesComeInPortions(t *testing.T) {
	t.Parallel()
	const exchanges, most = 30, 3
	w := newWorld()
	must(t, w, open("a")...)
	for i := range exchanges {
		x := Definition{Name: fmt.Sprint("x", i), Type: "fanout", Durable: i%10 != 3}
		must(t, w, Command{Kind: DeclareExchange, Channel: 1, Definition: &x})
	}
	must(t, w, Command{Kind: DeleteExchange, Channel: 1, Definition: &Definition{Name: "x7"}})
	w.v.BoundSteps(most * workOfRule)
	w.stepMax = most * workOfRule
	leadingTo := func(v *VHost, alternate string) (n int) {
		for x := range v.topo.Exchanges() {
			if x.Alternate == alternate && v.ruledBy[x.Name] == "p" {
				n++
			}
		}
		return n
	}
	for _, to := range []string{"a1", "a2"} {
		must(t, w, Command{Kind: SetPolicy, Conn: 1, Channel: 1, Policy: &Policy{
			Name: "p", Pattern: "^x", ApplyTo: "exchanges", Definition: amqp.Table{{Name: "alternate-exchange", Value: amqp.String(to)}},
		}})
		steps := 0
		for ; w.v.Busy(1); steps++ {
			x := newWorld()
			x.log.batches, x.now = slices.Clone(w.log.batches), w.now
			if err := errors.Join(x.restart(nil), x.ticks()); err != nil {
				t.Fatal(err)
			}
			if n := leadingTo(x.v, to); n != exchanges-1-exchanges/10 {
				t.Fatalf("after a crash behind step %d %d durable exchanges have the policy", steps, n)
			}
			before := leadingTo(w.v, to)
			must(t, w, Command{Kind: Tick})
			if n := leadingTo(w.v, to) - before; n > most {
				t.Errorf("a step reached %d exchanges", n)
			}
		}
		if n := leadingTo(w.v, to); n != exchanges-1 || steps < exchanges/most {
			t.Errorf("%d exchanges have the policy when it is answered, after %d steps", n, steps)
		}
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// TestPoliciesInPortionsAreAnswered says that a change of policies is answered before it is in force on
// all queues, or twice.
func TestPoliciesInPortionsAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	for i := range 10 {
		must(t, w, declareWith(fmt.Sprint("q", i)))
	}
	w.v.BoundSteps(3 * workOfRule)
	for _, c := range []Command{
		{Kind: SetPolicy, Conn: 1, Channel: 1, Policy: &Policy{Name: "p", Pattern: ".", Definition: amqp.Table{argumentOf("expires", 1000)}}},
		{Kind: SetOptions, Conn: 1, Channel: 1, Definition: &Definition{Arguments: amqp.Table{argumentOf("delivery-limit", 7)}}},
		{Kind: ClearPolicy, Conn: 1, Channel: 1, Policy: &Policy{Name: "p"}},
	} {
		if _, err := w.step(c); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for {
			for _, e := range w.out.Effects {
				if e.Kind == Done && e.Command == c.Kind && e.Channel == 1 {
					if answers++; w.v.Busy(1) || w.v.Ruling() {
						t.Errorf("the answer to %d comes before its end", c.Kind)
					}
				}
			}
			w.seal()
			w.begin()
			if !w.v.Busy(1) {
				break
			}
			if _, err := w.step(Command{Kind: Tick}); err != nil {
				t.Fatal(err)
			}
		}
		if answers != 1 {
			t.Errorf("%d answers to %d", answers, c.Kind)
		}
		for _, q := range w.v.sortedQueues() {
			has, is := q.expires != 0, c.Kind != ClearPolicy
			if has != is || c.Kind == SetOptions && q.settings.DeliveryLimit != 7 {
				t.Errorf("command %d: %q expires at %d, its limit is %d", c.Kind, q.object.Name, q.expires, q.settings.DeliveryLimit)
			}
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
	}
}
