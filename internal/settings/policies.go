package settings

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// Policies is the policies of both kinds, with their compiled patterns. All of them together are bounded: the name of
// each queue and exchange is matched with each pattern.
type Policies struct {
	user, operator map[string]*PolicyEntry // by name
	ranked         map[bool][]*PolicyEntry // by operator, the most important first
	points         int                     // of all
}

// A PolicyEntry is a policy with its compiled pattern.
type PolicyEntry struct {
	Policy
	pattern *regex.Pattern
}

// NewPolicies returns a set without policies.
func NewPolicies() Policies {
	return Policies{user: map[string]*PolicyEntry{}, operator: map[string]*PolicyEntry{}, ranked: map[bool][]*PolicyEntry{}}
}

// Clone copies the set. What is in it is never changed.
func (ps *Policies) Clone() Policies {
	return Policies{
		user: maps.Clone(ps.user), operator: maps.Clone(ps.operator), points: ps.points,
		ranked: map[bool][]*PolicyEntry{false: slices.Clone(ps.ranked[false]), true: slices.Clone(ps.ranked[true])},
	}
}

// Of returns the policies of one kind, by name.
func (ps *Policies) Of(operator bool) map[string]*PolicyEntry {
	if operator {
		return ps.operator
	}
	return ps.user
}

// points is what a policy counts for.
func (p *PolicyEntry) points() int {
	if p == nil {
		return 0
	}
	return max(p.pattern.Points(), policyPointsMin)
}

// PointsWith is what all policies count for, and a policy that may be set, unless it is nil.
func (ps *Policies) PointsWith(p *Policy) int {
	if p == nil {
		return ps.points
	}
	return ps.points + (&PolicyEntry{*p, ps.compile(p.Pattern)}).points()
}

// Admit refuses a policy for which those that are there leave no space. One that counts less than
// the one of its name is always admitted: the log may have more of them, from before there was a
// bound.
func (ps *Policies) Admit(p *Policy) *amqp.Error {
	points, before := ps.PointsWith(p), ps.Of(p.Operator)[p.Name].points()
	if points-before > max(ps.points, policyPointsMax) {
		return amqp.PreconditionFailed("Validation failed\n\nall policies of a virtual host may have %d points, and with this one they would have %d: "+
			"delete policies, or use simpler patterns", policyPointsMax, points-before)
	}
	return nil
}

// Set puts a policy in force, and returns the one of its name that was until then, or nil.
func (ps *Policies) Set(p Policy) (before *PolicyEntry) {
	before = ps.Clear(p.Name, p.Operator)
	e := &PolicyEntry{p, ps.compile(p.Pattern)}
	ps.Of(p.Operator)[p.Name] = e
	list := ps.ranked[p.Operator]
	i, _ := slices.BinarySearchFunc(list, e, (*PolicyEntry).compare)
	ps.ranked[p.Operator] = slices.Insert(list, i, e)
	ps.points += e.points()
	return before
}

// compile compiles a pattern, unless another policy has the same.
func (ps *Policies) compile(expression string) *regex.Pattern {
	for _, list := range ps.ranked {
		for _, e := range list {
			if e.Pattern == expression {
				return e.pattern
			}
		}
	}
	pattern, err := regex.Compile(expression)
	if err != nil {
		pattern, _ = regex.Compile(`^\b$`) // checked before it was set: matches nothing
	}
	return pattern
}

// Clear takes a policy away, and returns it; nil if there is none.
func (ps *Policies) Clear(name string, operator bool) (before *PolicyEntry) {
	before = ps.Of(operator)[name]
	if before != nil {
		delete(ps.Of(operator), name)
		i, _ := slices.BinarySearchFunc(ps.ranked[operator], before, (*PolicyEntry).compare)
		ps.ranked[operator] = slices.Delete(ps.ranked[operator], i, i+1)
		ps.points -= before.points()
	}
	return before
}

// compare orders policies: the highest priority first, then the smallest name.
// Source: docs/compat/policies-and-permissions.md#2.
func (p *PolicyEntry) compare(q *PolicyEntry) int {
	return cmp.Or(cmp.Compare(q.Priority, p.Priority), strings.Compare(p.Name, q.Name))
}

// IsFor reports whether a policy may apply to something of that name, which is of one of some kinds, and the work, in
// parts of patterns times octets of names.
func (p *PolicyEntry) IsFor(name string, kinds ...string) (found bool, work int) {
	if p == nil || !slices.Contains(kinds, p.ApplyTo) {
		return false, 0
	}
	return p.pattern.Match(name)
}

// Match finds the policy that applies to a name, and tells the work.
func (ps *Policies) Match(operator bool, name string, kinds ...string) (found *PolicyEntry, work int) {
	for _, p := range ps.ranked[operator] {
		ok, more := p.IsFor(name, kinds...)
		if work += more; ok {
			return p, work
		}
	}
	return nil, work
}
