package vhost

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A change of policies or options for more queues and exchanges than a step reaches comes into force in portions, by
// the numbers of the queues:
//
//	Ruled 0 …  PolicySet  Ruled 4096 …  Ruled 8192 …  Ruled 9999
//	 │          │          └ in force on the queues up to this number
//	 │          └ in force on queues and exchanges that are declared from here on
//	 └ the next change is not in force on queues at once
//
// Exchanges come first. The log does not say how far they are: no fact is applied by the settings
// that they run with, so a replay has all of them follow with the last Ruled. For queues it does:
// facts are applied by the settings that a queue has at that moment. The answer comes behind the
// last portion. A restart goes on; a checkpoint waits for the end. What changes meanwhile begins
// again with the first queue. Source: ours, decision 18.
type ruling struct {
	on        bool
	exchanges []*topology.Exchange  // that have their old policy
	upTo      fact.QueueID          // queues with greater numbers have their old settings
	concerned []func(*subject) bool // by the changes since all had theirs; one of them is enough
}

// concerns reports whether one of the changes may change what x runs with.
func (r *ruling) concerns(x *subject) bool {
	return slices.ContainsFunc(r.concerned, func(concerned func(*subject) bool) bool { return concerned(x) })
}

// repoliced is a queue that other policies or options are in force on than before, when its own TTL was
// expires.
type repoliced struct {
	queue   *queueState
	expires int64
}

// Ruling reports whether a change of policies or options is in force on some queues alone. A checkpoint
// cannot say that.
func (v *VHost) Ruling() bool { return v.ruling.on }

// changeRules makes a change of policies or options, which f is, and puts it in force: at once, or in
// portions. The answer comes when it is in force on all. Source: docs/compat/policies-and-permissions.md#7.
func (s *step) changeRules(c *Command, f *fact.Fact) {
	n := s.conns[c.Conn]
	if n == nil {
		n = &conn{}
	}
	answer := Effect{Kind: Done, Command: c.Kind, Channel: c.Channel}
	var set *Policy
	if f.Kind == fact.PolicySet {
		set = f.Policy
	}
	many := s.ruling.on || s.rulesTakeLong(set)
	if many {
		s.emit(&fact.Fact{Kind: fact.Ruled, Durable: true, N: 1})
	}
	s.emit(f)
	if !many {
		s.inForce(c.Kind)
	}
	s.inPortions(ongoing{conn: n, portion: func(s *step) (more bool) {
		if s.rule(answer.Command) {
			return true
		}
		answer.After = s.newest()
		s.effect(answer)
		return false
	}})
}

// ruleWork is the most that it takes to put rules in force on what has a name, if all policies have so many points:
// each change is tried on its name, and then each policy.
func ruleWork(name string, points int) int { return workOfRule + 2*points*len(name)*workOfMatch }

// rulesTakeLong reports whether a step may be too short for all queues and exchanges, once p is set; it is nil if no
// policy is.
func (v *VHost) rulesTakeLong(p *Policy) bool {
	points := v.policies.PointsWith(p)
	work := 0
	for _, q := range v.ordered {
		if work += ruleWork(q.object.Name, points); work > v.stepMax {
			return true
		}
	}
	for _, x := range v.exchanges {
		if work += ruleWork(x.Name, points); work > v.stepMax {
			return true
		}
	}
	return false
}

// itemsPerStep is how many queues, or messages, a step changes at most.
func (v *VHost) itemsPerStep() int { return max(v.stepMax/workOfFact, 1) }

// rule puts what has changed in force on a portion of the exchanges and queues, and reports whether there are more. How
// long a portion takes shows when it is done, so it is done a few queues at a time, for which the most that they can
// take fits in.
func (s *step) rule(k CommandKind) (more bool) {
	if s.ruleExchanges() {
		return true
	}
	for first := true; s.ruling.on && (first || !s.full()); first = false {
		rest, n := s.behind(s.ruling.upTo), 0
		for work := s.work; n < len(rest) && (n == 0 || work < s.stepMax); n++ {
			work += ruleWork(rest[n].object.Name, s.policies.PointsWith(nil))
		}
		f := fact.Fact{Kind: fact.Ruled, Durable: true, Queue: s.ruling.upTo, N: uint64(fact.Bits(n < len(rest)))}
		if n > 0 {
			f.Queue = rest[n-1].id
		}
		s.emit(&f)
		s.work += n * workOfRule
		s.inForce(k)
	}
	return s.ruling.on
}

// ruleExchanges puts what has changed in force on a portion of the exchanges, and reports whether there are more.
func (s *step) ruleExchanges() (more bool) {
	points := s.policies.PointsWith(nil)
	for n := 0; len(s.ruling.exchanges) > 0; n++ {
		x := s.ruling.exchanges[0]
		if n > 0 && s.work+ruleWork(x.Name, points) > s.stepMax {
			return true
		}
		s.ruling.exchanges = s.ruling.exchanges[1:]
		s.work += workOfRule
		s.repoliceExchange(x, s.ruling.concerns)
	}
	return false
}

// behind lists the queues with greater numbers.
func (v *VHost) behind(id fact.QueueID) []*queueState {
	i, found := slices.BinarySearchFunc(v.ordered, id, byNumber)
	if found {
		i++
	}
	return v.ordered[i:]
}

// inForce enforces what repolice has changed: limits at once, a queue expiry that a policy has changed
// from now on.
func (s *step) inForce(k CommandKind) {
	for _, r := range s.repoliced {
		if r.queue.settings.Expires != r.expires && k != SetOptions {
			s.armExpiry(r.queue)
		}
		s.markDirty(r.queue, 0)
	}
	s.repoliced = nil
	s.sweepSoon()
}

// resumeRules goes on after a restart.
func (s *step) resumeRules() {
	if s.ruling.on {
		s.inPortions(ongoing{conn: &conn{}, portion: func(s *step) bool { return s.rule(SetPolicy) }})
	}
}

// ruled applies Ruled.
func (v *VHost) ruled(f *fact.Fact) {
	r := &v.ruling
	switch {
	case f.Queue == 0 && f.N == 1:
		r.on, r.upTo, r.exchanges = true, 0, slices.Clip(v.exchanges)
		return
	case !r.on:
		return
	}
	v.ruleChanges++
	v.repoliced = nil
	for _, q := range v.behind(r.upTo) {
		if q.id > f.Queue {
			break
		}
		v.repolice(q, r.concerns)
	}
	if r.upTo = f.Queue; f.N == 0 {
		for _, x := range r.exchanges {
			v.repoliceExchange(x, r.concerns)
		}
		*r = ruling{}
	}
}

// rulesChanged has what a change of policies or options is in force on computed anew: at once, or by Ruled.
func (v *VHost) rulesChanged(concerned func(*subject) bool) {
	v.ruleChanges++
	if v.unresolved {
		return
	}
	if v.repoliced = nil; v.ruling.on {
		v.ruling.concerned = append(v.ruling.concerned, concerned)
		if len(v.ruling.concerned) > rulingMax {
			v.ruling.concerned = []func(*subject) bool{func(*subject) bool { return true }}
		}
		return
	}
	for _, x := range v.exchanges {
		v.repoliceExchange(x, concerned)
	}
	for _, q := range v.ordered {
		v.repolice(q, concerned)
	}
}

// repolice computes anew what a queue runs with, if it is concerned.
func (v *VHost) repolice(q *queueState, concerned func(*subject) bool) {
	if q.schedule != nil || q.deleted {
		return
	}
	if x := q.subject(); concerned(&x) {
		v.repoliced = append(v.repoliced, repoliced{q, q.settings.Expires})
		v.applyPoliciesTo(q)
	}
}

// repoliceExchange does so for an exchange.
func (v *VHost) repoliceExchange(x *topology.Exchange, concerned func(*subject) bool) {
	if !v.isThere(x) {
		return
	}
	if as := v.exchangeSubject(x); concerned(&as) {
		v.applyPoliciesToExchange(x)
	}
}

// matched applies Matched.
func (v *VHost) matched(f *fact.Fact) {
	q := v.queues[f.Queue]
	switch {
	case f.Policy.Name == "":
		v.allMatched = true
	case f.Queue == 0:
		v.ruledBy[f.Object.Name] = f.Policy.Name
	case q == nil:
	case f.Policy.Operator:
		q.operator = f.Policy.Name
	default:
		q.policy = f.Policy.Name
	}
}

// matched says which policy applies to a queue, or an exchange.
func (p *pieces) matched(id fact.QueueID, exchange string, operator bool, policy string) {
	if policy != "" {
		set, named := &Policy{Name: policy, Operator: operator}, &fact.Object{Name: exchange}
		p.add(&fact.Fact{Kind: fact.Matched, Queue: id, Object: named, Policy: set})
	}
}

// resolve puts the policies and options of a checkpoint in force, when all of them are known and nothing is known of
// messages. It says which policy applies where: to match all names with all policies may take minutes. Checkpoints of
// earlier versions do not say it.
func (v *VHost) resolve() {
	if !v.unresolved {
		return
	}
	v.unresolved = false
	if !v.allMatched {
		v.applyPolicies()
	} else {
		v.ruleChanges++
		for _, x := range v.exchanges {
			v.putInForceOn(x)
		}
		for _, q := range v.ordered {
			if q.schedule == nil && !q.deleted {
				v.putInForce(q)
			}
		}
	}
	v.allMatched, v.repoliced = false, nil
}

// endRuling puts what has changed in force on all queues, without a fact: for a checkpoint that cannot wait.
func (v *VHost) endRuling() {
	if v.ruling.on {
		v.ruled(&fact.Fact{Kind: fact.Ruled, Queue: v.queueMax})
		v.repoliced = nil
	}
}
