package vhost

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// costly is a pattern that is slow to match with names of its characters, and never found in them.
func costly(i int) string {
	return strings.Repeat("(a|b|c|d|e|f|g|h)?", 50) + fmt.Sprintf("[a-h]*z%d$", i)
}

func costlyPolicy(i int) Command {
	return Command{Kind: SetPolicy, Channel: 1, Policy: &Policy{
		Name: fmt.Sprint("p", i), Pattern: costly(i), Definition: amqp.Table{argumentOf("max-length", 1000)},
	}}
}

// TestPatternsOfPoliciesAreBounded says that a virtual host takes any number of policies, by whichever door, or that
// the log of one that has more cannot be applied any more.
func TestPatternsOfPoliciesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	must(t, w, open("a")...)
	n := 0
	for ; ; n++ {
		refused, err := w.step(costlyPolicy(n))
		if err != nil {
			t.Fatal(err)
		}
		if refused != nil {
			if refused.Code != amqp.CodePreconditionFailed || !strings.Contains(refused.Text, "delete policies, or use simpler patterns") {
				t.Errorf("refused: %v", refused)
			}
			break
		}
	}
	if n < 50 || n > 200 {
		t.Errorf("%d policies are taken", n)
	}
	must(t, w, Command{Kind: ClearPolicy, Channel: 1, Policy: &Policy{Name: "p0"}}, costlyPolicy(n))
	for i := range 2 * n { // as an older version has logged them
		w.v.Apply(fact.Fact{Kind: fact.PolicySet, Durable: true, Policy: costlyPolicy(i).Policy})
	}
	again := New("/", w.v.log, w.v.records, nil)
	if err := again.ApplyCheckpoint(w.v.Contents()); err != nil {
		t.Fatal(err)
	}
	if got := len(again.Reader().Policies(false)); got != 2*n {
		t.Errorf("%d of %d policies are left", got, 2*n)
	}
}

// TestMatchingIsWork says that matching names with policies is not counted: who declares many queues, or sets a policy,
// keeps everybody else waiting.
func TestMatchingIsWork(t *testing.T) {
	t.Parallel()
	const policies, queues = 20, 60
	w := newWorld()
	must(t, w, open("a")...)
	name := func(i int) string { return fmt.Sprint(strings.Repeat("a", 200), i) }
	one := workOfMatch * 150 * 200 // a pattern, at least
	for i := range policies {
		must(t, w, costlyPolicy(i))
	}
	for i := range queues {
		must(t, w, declareWith(name(i)))
		if got := w.v.Work(); got < policies*one {
			t.Fatalf("a declaration is %d work, not %d", got, policies*one)
		}
	}
	w.v.BoundSteps(policies * one)
	must(t, w, costlyPolicy(policies))
	steps := 1
	for ; w.v.Unfinished(); steps++ {
		must(t, w, Command{Kind: Tick})
		if got, most := w.v.Work(), 4*policies*one; got > most {
			t.Fatalf("a portion is %d work, more than %d", got, most)
		}
	}
	if want := queues / policies; steps < want {
		t.Errorf("%d portions, not %d", steps, want)
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// without is a checkpoint without facts of a kind, as an earlier version has made it.
func without(t *testing.T, k fact.Kind, checkpoint []byte) []byte {
	t.Helper()
	facts, err := fact.All(testLog, 0, checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	r := fact.Decoder{Rest: checkpoint}
	b := binary.AppendUvarint([]byte{r.Byte()}, r.Uint())
	for i := range facts {
		if facts[i].Kind != k {
			b = fact.Append(b, &facts[i], 0)
		}
	}
	return b
}

// If this fails, a start takes minutes: names are matched with policies although the checkpoint says which apply to
// them; or each policy of a checkpoint that does not say it, of an earlier version, has names matched with all that
// came before it; or other policies apply than before, or settings of others.
func TestCheckpointsSayWhichPoliciesApply(t *testing.T) {
	t.Parallel()
	const policies, queues = 40, 30
	w := newWorld()
	must(t, w, open("a")...)
	for i := range queues {
		must(t, w, declareWith(fmt.Sprint("q", i)))
	}
	one := Definition{Name: "1", Type: "topic", Durable: true}
	must(t, w, declareWith("1"), Command{Kind: DeclareExchange, Channel: 1, Definition: &one})
	for i := range policies { // each is in force on all queues until the next
		for _, operator := range []bool{false, true} {
			must(t, w, Command{Kind: SetPolicy, Channel: 1, Policy: &Policy{
				Name: fmt.Sprintf("p%02d", i), Pattern: "[a-z]", Priority: int64(i), Operator: operator,
				Definition: amqp.Table{argumentOf(map[bool]string{false: "max-length", true: "max-length-bytes"}[operator], int64(i))},
			}})
		}
	}
	must(t, w, Command{Kind: SetPolicy, Channel: 1, Policy: &Policy{
		Name: "a", Pattern: "t.pic", Priority: 99, ApplyTo: "exchanges",
		Definition: amqp.Table{{Name: "alternate-exchange", Value: amqp.String("amq.fanout")}},
	}})
	contents := w.v.Contents()
	for name, checkpoint := range map[string][]byte{"": contents, "an earlier version's": without(t, fact.Matched, contents)} {
		again := New("/", w.v.log, w.v.records, nil)
		if err := again.ApplyCheckpoint(checkpoint); err != nil {
			t.Fatal(err)
		}
		most := 0
		if name != "" {
			most = 4 * queues * 10 * workOfMatch
		}
		if got := again.Work(); got > most {
			t.Errorf("%s: matching took %d, more than %d", name, got, most)
		}
		want := fmt.Sprintf("p%02d", policies-1)
		for _, q := range again.Reader().Queues() {
			applies := q.Policy == want && q.OperatorPolicy == want &&
				q.Settings.MaxLength == policies-1 && q.Settings.MaxLengthBytes == policies-1
			if q.Name == "1" {
				applies = q.Policy == "" && q.OperatorPolicy == "" && q.Settings.MaxLength < 0
			}
			if !applies {
				t.Errorf("%s: %q and %q apply to %q, %d messages", name, q.Policy, q.OperatorPolicy, q.Name, q.Settings.MaxLength)
			}
		}
		for exchange, want := range map[string]string{"amq.topic": "a", "amq.direct": want, "1": ""} {
			x := again.topo.Exchange(exchange)
			leads := x.Alternate == "amq.fanout"
			if got := again.Reader().PolicyOf(exchange); got != want || leads != (want == "a") {
				t.Errorf("%s: %q applies to exchange %q, which leads to %q", name, got, exchange, x.Alternate)
			}
		}
		if !bytes.Equal(again.Projection(), w.v.Projection()) {
			t.Errorf("%s: the checkpoint leads to another state", name)
		}
	}
}
