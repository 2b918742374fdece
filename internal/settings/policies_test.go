package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

func TestPoliciesAreBoundedTogether(t *testing.T) {
	// If this fails, somebody who may set policies makes each declaration of a queue take seconds, or each policy takes
	// memory without a bound; or ordinary policies are refused.
	t.Parallel()
	for name, c := range map[string]struct {
		pattern string
		least   int // of these that are admitted
		most    int
	}{
		"short":             {"^q%d", 4096, 4096},
		"a name":            {"^tenants\\.eu-central-1\\.orders\\.%d$", 2500, 4096},
		"a prefix":          {"^tenants\\.eu-central-1\\.orders\\.%d\\..*$", 1500, 4096},
		"one of two":        {"^(orders|payments)\\.%d\\.", 600, 1200},
		"of a kilobyte":     {strings.Repeat("(a|b|c|d|e|f|g|h)?", 55) + "%d", 60, 120},
		"as large as it is": {"(?:[a-h]?){900}%d", 8, 10},
	} {
		ps := NewPolicies()
		var refused *amqp.Error
		n := 0
		for ; refused == nil; n++ {
			p := Policy{Name: fmt.Sprint(n), Operator: n%2 == 0, Pattern: fmt.Sprintf(c.pattern, n)}
			if refused = ps.Admit(&p); refused == nil {
				ps.Set(p)
			}
		}
		if n--; n < c.least || n > c.most || ps.points > policyPointsMax {
			t.Errorf("%s: %d are admitted, %d points; want %d to %d", name, n, ps.points, c.least, c.most)
		}
		if want := fmt.Sprint("may have ", policyPointsMax, " points"); refused.Code != amqp.CodePreconditionFailed || !strings.Contains(refused.Text, want) {
			t.Errorf("%s: %v", name, refused)
		}
		simpler := Policy{Name: fmt.Sprint(n - 1), Operator: (n-1)%2 == 0, Pattern: "^q"}
		if err := ps.Admit(&simpler); err != nil {
			t.Errorf("%s: what takes less: %v", name, err)
		}
		for i := range n {
			ps.Clear(fmt.Sprint(i), i%2 == 0)
		}
		if ps.points != 0 || len(ps.ranked[false])+len(ps.ranked[true]) != 0 {
			t.Errorf("%s: %d points are left", name, ps.points)
		}
	}
}

func TestPoliciesOfBeforeTheBound(t *testing.T) {
	// If this fails, a virtual host that has more policies than the bound allows loses some, or none of them can be
	// replaced by a simpler one.
	t.Parallel()
	ps := NewPolicies()
	for i := range 20 {
		ps.Set(Policy{Name: fmt.Sprint(i), Pattern: fmt.Sprintf("(?:[a-h]?){900}%d", i)})
	}
	if ps.points < 2*policyPointsMax {
		t.Fatalf("%d points", ps.points)
	}
	for _, c := range []struct {
		name, pattern string
		want          bool
	}{{"1", "^q", true}, {"1", "(?:[a-h]?){900}x", true}, {"1", "(?:[a-h]?){901}x", false}, {"new", "^q", false}} {
		if err := ps.Admit(&Policy{Name: c.name, Pattern: c.pattern}); (err == nil) != c.want {
			t.Errorf("%s %.20s: %v", c.name, c.pattern, err)
		}
	}
}

func TestMatchTakesTheMostImportantPolicy(t *testing.T) {
	// If this fails, another policy is in force than RabbitMQ's rule says, or names are matched with policies that
	// cannot be in force any more.
	t.Parallel()
	ps := NewPolicies()
	set := func(name, pattern string, priority int64) {
		ps.Set(Policy{Name: name, Pattern: pattern, ApplyTo: "all", Priority: priority})
	}
	match := func(name string) (string, int) {
		p, work := ps.Match(false, name, "all", "queues")
		return p.Named(), work
	}
	set("b", "^q", 1)
	set("a", "^q", 1)
	set("low", ".*", 0)
	set("high", "^other", 9)
	for name, want := range map[string]string{"q1": "a", "other": "high", "x": "low"} {
		if got, _ := match(name); got != want {
			t.Errorf("%s is in force on %q, not %s", got, name, want)
		}
	}
	set("a", "^q", 0)
	if got, _ := match("q1"); got != "b" {
		t.Errorf("%s is in force", got)
	}
	set("costly", "(?:[a-h]?){900}z", -1)
	if _, work := match("q1"); work > 10 {
		t.Errorf("a match takes %d, though a more important policy is found first", work)
	}
	ps.Clear("low", false)
	if _, work := match("xxxxxxxxxx"); work < 10*900 {
		t.Errorf("a match takes %d", work)
	}
}
