package vhost

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Rules are what settings follow from besides a queue's or an exchange's own arguments: policies and options, as they
// were when they were copied. Any goroutine may use them.
type Rules struct {
	policies policySet
	options  Options
}

// Rules copies the rules in force.
func (v *VHost) Rules() *Rules {
	return &Rules{policySet{maps.Clone(v.policies.user), maps.Clone(v.policies.operator)}, v.options}
}

// A Subject is a queue or an exchange as policies see it. Its arguments are shared: do not change them.
type Subject struct {
	Object
	Exchange               bool
	Policy, OperatorPolicy string // in force, "" if there is none
	Ready                  int    // messages
}

// Subject shows the queue, or the exchange, of a name.
func (v *VHost) Subject(name string, exchange bool) (s Subject, ok bool) {
	if !exchange {
		q := v.queueNamed(name)
		if q == nil {
			return s, false
		}
		return subjectOf(q), true
	}
	x := v.topo.Exchange(name)
	if x == nil {
		return s, false
	}
	return v.exchangeSubject(x.Name, x.Type(), x.Arguments), true
}

// Subjects lists all queues, and all exchanges but the default one, in no order: sorting is for who has time.
func (v *VHost) Subjects() []Subject {
	all := make([]Subject, 0, len(v.queues))
	for q := range v.named() {
		all = append(all, subjectOf(q))
	}
	for x := range v.topo.Exchanges() {
		if x.Name != "" {
			all = append(all, v.exchangeSubject(x.Name, x.Type(), x.Arguments))
		}
	}
	return all
}

func truthOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func subjectOf(q *queueState) Subject {
	return Subject{Object: q.object, Policy: q.policy, OperatorPolicy: q.operator, Ready: q.messages.Ready()}
}

func (v *VHost) exchangeSubject(name, kind string, arguments amqp.Table) Subject {
	s := Subject{Object: Object{Name: name, Type: kind, Arguments: arguments}, Exchange: true}
	s.Policy = s.inForce(&v.policies, false).named()
	return s
}

// kinds are the values of a policy's ApplyTo that mean s.
func (s *Subject) kinds() []string {
	if s.Exchange {
		return []string{"all", "exchanges"}
	}
	return []string{"all", "queues", s.Type + "_queues"}
}

// inForce is the policy of one kind that ps puts in force on s, nil if there is none.
func (s *Subject) inForce(ps *policySet, operator bool) *policyEntry {
	if s.Exchange && (operator || s.Name == "") {
		return nil
	}
	return ps.match(operator, s.Name, s.kinds()...)
}

func (p *policyEntry) table() amqp.Table {
	if p == nil {
		return nil
	}
	return p.Definition
}

func (p *policyEntry) named() string {
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

// A Trial is what a change of a policy would mean for a queue or an exchange.
type Trial struct {
	Subject
	Matches       bool   // the policy, as it would be, matches
	Before, After string // the policy of that kind that is in force
	Changes       []Change
	Drops         int // ready messages that would be dropped at once, being too many
}

// Try tells what setting p, or clearing it, would do to each subject that it matches or leaves: nothing is changed.
// Queues come first, both by name. It refuses what SetPolicy and ClearPolicy refuse.
func (r *Rules) Try(p Policy, clear bool, all []Subject) ([]Trial, *amqp.Error) {
	p.ApplyTo = cmp.Or(p.ApplyTo, "all")
	next := Rules{policySet{maps.Clone(r.policies.user), maps.Clone(r.policies.operator)}, r.options}
	if clear {
		if r.policies.of(p.Operator)[p.Name] == nil {
			return nil, amqp.NotFound("policy '%s'", p.Name)
		}
		next.policies.clear(p.Name, p.Operator)
	} else {
		if err := p.check(); err != nil {
			return nil, err
		}
		next.policies.set(p)
	}
	var trials []Trial
	for i := range all {
		if t, concerned := r.try(&next, &p, &all[i]); concerned {
			trials = append(trials, t)
		}
	}
	slices.SortFunc(trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(truthOf(a.Exchange), truthOf(b.Exchange)), strings.Compare(a.Name, b.Name))
	})
	return trials, nil
}

// try tells what becomes of one subject.
func (r *Rules) try(next *Rules, p *Policy, s *Subject) (t Trial, concerned bool) {
	before := s.Policy
	if p.Operator {
		before = s.OperatorPolicy
	}
	e := next.policies.of(p.Operator)[p.Name]
	matches := e != nil && e.matches(s)
	if !matches && before != p.Name {
		return t, false
	}
	t = Trial{Subject: *s, Matches: matches, Before: before, After: s.inForce(&next.policies, p.Operator).named()}
	old, now := r.valuesOf(s), next.valuesOf(s)
	for i := range old {
		if !old[i].value.Equal(now[i].value) {
			t.Changes = append(t.Changes, Change{old[i].name, old[i].value, now[i].value})
		}
	}
	if !s.Exchange {
		if to := next.effective(s); to.MaxLength >= 0 && to.Overflow.dropsHead() {
			t.Drops = int(max(0, int64(s.Ready)-to.MaxLength))
		}
	}
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
		best := s.inForce(&r.policies, operator)
		for _, p := range r.policies.of(operator) {
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
func (p *policyEntry) matches(s *Subject) bool {
	return slices.Contains(s.kinds(), p.ApplyTo) && !(s.Exchange && (p.Operator || s.Name == "")) && p.pattern.MatchString(s.Name)
}

// standing says how p stands to s, on which best is in force.
func standing(p, best *policyEntry, s *Subject) Standing {
	t := Standing{Policy: p.Policy, Matches: p.matches(s), InForce: p == best}
	switch {
	case p == best:
		t.Why = "in force"
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
