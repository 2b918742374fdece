package settings

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Rules are what settings follow from besides a queue's or an exchange's own arguments: policies and options, as they
// were when they were copied. Any goroutine may use them.
type Rules struct {
	policies Policies
	options  Options
}

// NewRules makes rules of policies and options. It keeps policies.
func NewRules(policies Policies, options Options) *Rules { return &Rules{policies, options} }

// Options shows the options.
func (r *Rules) Options() Options { return r.options }

// Policies lists the policies of one kind, in no order.
func (r *Rules) Policies(operator bool) iter.Seq[Policy] {
	return func(yield func(Policy) bool) {
		for _, p := range r.policies.Of(operator) {
			if !yield(p.Policy) {
				return
			}
		}
	}
}

// Definition is what a policy says, nil if there is none of that name.
func (r *Rules) Definition(policy string, operator bool) amqp.Table {
	return r.policies.Of(operator)[policy].Table()
}

// Matches reports whether a policy means s, by its name and its kind.
func (r *Rules) Matches(policy string, operator bool, s *Subject) bool {
	p := r.policies.Of(operator)[policy]
	return p != nil && p.matches(s)
}

// InForce names the policy of one kind that is in force on s, "" if there is none.
func (r *Rules) InForce(s *Subject, operator bool) string {
	return s.InForce(&r.policies, operator).Named()
}

// A Subject is a queue or an exchange as policies see it. Its arguments are shared: do not change them.
type Subject struct {
	Name, Type             string
	Arguments              amqp.Table
	Exchange               bool
	Policy, OperatorPolicy string // in force, "" if there is none
	Ready, Waiting         int    // messages
	ReadyBytes, Bytes      int64  // of bodies: of Ready, and of both
}

func truthOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kinds are the values of a policy's ApplyTo that mean s.
func (s *Subject) kinds() []string {
	if s.Exchange {
		return ExchangeKinds()
	}
	return QueueKinds(s.Type)
}

// QueueKinds are the values of a policy's ApplyTo that mean queues of a type, ExchangeKinds those that mean exchanges.
func QueueKinds(kind string) []string { return []string{"all", "queues", kind + "_queues"} }

func ExchangeKinds() []string { return []string{"all", "exchanges"} }

// InForce is the policy of one kind that ps puts in force on s, nil if there is none.
func (s *Subject) InForce(ps *Policies, operator bool) *PolicyEntry {
	if s.Exchange && (operator || s.Name == "") {
		return nil
	}
	p, _ := ps.Match(operator, s.Name, s.kinds()...)
	return p
}

// Table is what the policy says, nil if p is nil.
func (p *PolicyEntry) Table() amqp.Table {
	if p == nil {
		return nil
	}
	return p.Definition
}

// Named is the policy's name, "" if p is nil.
func (p *PolicyEntry) Named() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// A Change is a setting that another policy would change; Void is none.
type Change struct {
	Name          string
	Before, After amqp.Value
}

// A PolicyDryRun is what a change of a policy would mean for a queue or an exchange.
type PolicyDryRun struct {
	Subject
	Matches       bool   // the policy, as it would be, matches
	Before, After string // the policy of that kind that is in force
	Changes       []Change
	Drops         Drops
	DeadLetters   bool   // what is dropped there would be dead-lettered: the queue would have a dead-letter exchange
	KeyAlone      bool   // the queue would have the policy's dead-letter routing key, and no dead-letter exchange
	KeepsDLX      string // the dead-letter exchange of an argument, which overrides that of the policy
	StepsAlone    bool   // what changes about delayed retries has no effect: the queue has delayed-retry-steps
}

// Drops is how many ready messages would be dropped at once. A new TTL drops none: it is for those that arrive later.
type Drops struct {
	Messages  int
	TooMany   bool  // over max-length
	BytesOver int64 // over max-length-bytes
	Estimated bool  // Messages are so many because of BytesOver, if they are of average size
}

// dropsOf is what a queue as s is would drop with some settings.
func dropsOf(s *Subject, to *Settings) (d Drops) {
	if !to.Overflow.DropsHead() {
		return d
	}
	if over := int64(s.Ready+s.Waiting) - to.MaxLength; to.MaxLength >= 0 && over > 0 {
		d.TooMany, d.Messages = true, int(min(over, int64(s.Ready)))
	}
	if over := s.Bytes - to.MaxLengthBytes; to.MaxLengthBytes >= 0 && over > 0 {
		d.BytesOver = over
		n := s.Ready
		if over < s.ReadyBytes {
			n = int(math.Ceil(float64(over) * float64(s.Ready) / float64(s.ReadyBytes)))
		}
		d.Estimated = n > d.Messages && n < s.Ready
		d.Messages = max(n, d.Messages)
	}
	return d
}

// DryRun tells what setting p, or clearing it, would do to each subject that it matches or leaves: nothing is changed.
// Queues come first, both by name. It refuses what SetPolicy and ClearPolicy refuse. It asks again and again whether to
// go on, and refuses if not.
func (r *Rules) DryRun(p Policy, clear bool, all []Subject, goOn func() bool) ([]PolicyDryRun, *amqp.Error) {
	p.ApplyTo = cmp.Or(p.ApplyTo, "all")
	next := Rules{r.policies.Clone(), r.options}
	if clear {
		if r.policies.Of(p.Operator)[p.Name] == nil {
			return nil, amqp.NotFound("policy '%s'", p.Name)
		}
		next.policies.Clear(p.Name, p.Operator)
	} else {
		if err := p.Check(); err != nil {
			return nil, err
		}
		if err := next.policies.Admit(&p); err != nil {
			return nil, err
		}
		next.policies.Set(p)
	}
	var runs []PolicyDryRun
	for i := range all {
		if !goOn() {
			return nil, amqp.PreconditionFailed("matching %d names takes too long: use a simpler pattern, or fewer policies", len(all))
		}
		if t, concerned := r.dryRun(&next, &p, &all[i]); concerned {
			runs = append(runs, t)
		}
	}
	slices.SortFunc(runs, func(a, b PolicyDryRun) int {
		return cmp.Or(cmp.Compare(truthOf(a.Exchange), truthOf(b.Exchange)), strings.Compare(a.Name, b.Name))
	})
	return runs, nil
}

// dryRun tells what becomes of one subject.
func (r *Rules) dryRun(next *Rules, p *Policy, s *Subject) (t PolicyDryRun, concerned bool) {
	before := s.Policy
	if p.Operator {
		before = s.OperatorPolicy
	}
	e := next.policies.Of(p.Operator)[p.Name]
	matches := e != nil && e.matches(s)
	if !matches && before != p.Name {
		return t, false
	}
	t = PolicyDryRun{Subject: *s, Matches: matches, Before: before, After: s.InForce(&next.policies, p.Operator).Named()}
	old, now := r.valuesOf(s), next.valuesOf(s)
	for i := range old {
		if !old[i].value.Equal(now[i].value) {
			t.Changes = append(t.Changes, Change{old[i].name, old[i].value, now[i].value})
		}
	}
	if s.Exchange {
		return t, true
	}
	to := next.effective(s)
	t.Drops = dropsOf(s, &to)
	t.DeadLetters = to.HasDLX
	t.KeyAlone = t.After == p.Name && e.keyAlone(&to)
	if dlx, sets := p.Definition.Get("dead-letter-exchange"); sets && t.After == p.Name && to.DeadLetterExchange != dlx.Str {
		t.KeepsDLX = to.DeadLetterExchange
	}
	t.StepsAlone = len(to.RetrySteps) > 0 && slices.ContainsFunc(t.Changes, func(c Change) bool {
		return c.Name == "delayed-retry-min" || c.Name == "delayed-retry-max" || c.Name == "delayed-retry-backoff"
	})
	return t, true
}

// A Standing is how a policy stands to a queue or an exchange.
type Standing struct {
	Policy
	Matches, InForce bool
	Why              string
}

// Standings lists the policies, those in force first, then those that match, the most important first, then the others
// by name.
func (r *Rules) Standings(s *Subject) []Standing {
	var all []Standing
	for _, operator := range []bool{false, true} {
		best := s.InForce(&r.policies, operator)
		for _, p := range r.policies.Of(operator) {
			all = append(all, standing(p, best, s))
		}
	}
	rank := func(s Standing) int { return truthOf(!s.InForce) + truthOf(!s.Matches) }
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(truthOf(a.Operator), truthOf(b.Operator)),
			cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
	})
	return all
}

// matches reports whether p means s, by its name and its kind.
func (p *PolicyEntry) matches(s *Subject) bool {
	if s.Exchange && (p.Operator || s.Name == "") {
		return false
	}
	found, _ := p.IsFor(s.Name, s.kinds()...)
	return found
}

// standing says how p stands to s, on which best is in force.
func standing(p, best *PolicyEntry, s *Subject) Standing {
	t := Standing{Policy: p.Policy, Matches: p.matches(s), InForce: p == best}
	switch {
	case p == best:
		t.Why = "applies"
	case !slices.Contains(s.kinds(), p.ApplyTo):
		t.Why = fmt.Sprintf("does not match: it is for %s", p.ApplyTo)
	case s.Exchange && p.Operator:
		t.Why = "does not match: operator policies are for queues"
	case !t.Matches:
		t.Why = "does not match: the pattern is not found in the name"
	case best.Priority == p.Priority:
		t.Why = fmt.Sprintf("matches, but '%s' has the same priority and comes first by name", best.Name)
	default:
		t.Why = fmt.Sprintf("matches, but '%s' has a higher priority: %d", best.Name, best.Priority)
	}
	return t
}
