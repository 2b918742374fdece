package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func (s *step) setPolicy(c *Command) *amqp.Error {
	p := *c.Policy
	if p.ApplyTo == "" {
		p.ApplyTo = "all"
	}
	if err := p.Check(); err != nil {
		return err
	}
	if err := s.policies.Admit(&p); err != nil {
		return err
	}
	s.changeRules(c, &fact.Fact{Kind: fact.PolicySet, Durable: true, Policy: &p})
	return nil
}

func (s *step) clearPolicy(c *Command) *amqp.Error {
	if s.policies.Of(c.Policy.Operator)[c.Policy.Name] == nil {
		return amqp.NotFound("policy '%s' in vhost '%s'", c.Policy.Name, s.name)
	}
	s.changeRules(c, &fact.Fact{Kind: fact.PolicyCleared, Durable: true, Policy: &Policy{Name: c.Policy.Name, Operator: c.Policy.Operator}})
	return nil
}

// match is the policy that applies to a name; the work is counted.
func (v *VHost) match(operator bool, name string, kinds ...string) *settings.PolicyEntry {
	v.checkInterrupt()
	p, work := v.policies.Match(operator, name, kinds...)
	v.work += work * workOfMatch
	return p
}

// subject is a queue or an exchange as policies see it.
type subject struct {
	name             string
	kinds            []string
	policy, operator string // that apply to it, "" if none
	exchange         bool
}

func (q *queueState) subject() subject {
	return subject{name: q.object.Name, kinds: q.kinds(), policy: q.policy, operator: q.operator}
}

func (v *VHost) exchangeSubject(x *topology.Exchange) subject {
	return subject{name: x.Name, kinds: settings.ExchangeKinds(), policy: v.ruledBy[x.Name], exchange: true}
}

// applyPolicies computes anew what every queue and exchange runs with.
func (v *VHost) applyPolicies() { v.rulesChanged(func(*subject) bool { return true }) }

// applyPolicy does so for those that a policy, which was before until now, is or was in force on: each pattern that is
// tried on every queue of tens of thousands costs ten milliseconds.
func (v *VHost) applyPolicy(p *Policy, before *settings.PolicyEntry) {
	now := v.policies.Of(p.Operator)[p.Name]
	v.rulesChanged(func(x *subject) bool {
		inForce := x.policy
		switch {
		case p.Operator && x.exchange:
			return false
		case p.Operator:
			inForce = x.operator
		}
		if before != nil && inForce == p.Name {
			return true
		}
		v.checkInterrupt()
		found, work := now.IsFor(x.name, x.kinds...)
		v.work += work * workOfMatch
		return found
	})
}

// kinds is what policies call q, beside its name.
func (q *queueState) kinds() []string { return settings.QueueKinds(q.object.Type) }

// applyPoliciesToExchange finds the policy of an exchange, and puts it in force.
func (v *VHost) applyPoliciesToExchange(x *topology.Exchange) {
	delete(v.ruledBy, x.Name)
	if p := v.match(false, x.Name, settings.ExchangeKinds()...); p != nil {
		v.ruledBy[x.Name] = p.Name
	}
	v.putInForceOn(x)
}

// putInForceOn has an exchange run with what its arguments and its policy say.
func (v *VHost) putInForceOn(x *topology.Exchange) {
	alternate, set := x.Arguments.Get("alternate-exchange")
	if !set {
		alternate, _ = v.policies.Of(false)[v.ruledBy[x.Name]].Table().Get("alternate-exchange")
	}
	v.topo.SetAlternate(x.Name, alternate.Str)
}

// applyPoliciesTo finds the policies of a queue, and puts them in force.
func (v *VHost) applyPoliciesTo(q *queueState) {
	kinds := q.kinds()
	q.policy = v.match(false, q.object.Name, kinds...).Named()
	q.operator = v.match(true, q.object.Name, kinds...).Named()
	v.putInForce(q)
}

// putInForce has a queue run with what its arguments, its policies and the options say.
func (v *VHost) putInForce(q *queueState) {
	user, operator := v.policies.Of(false)[q.policy].Table(), v.policies.Of(true)[q.operator].Table()
	headOnly := q.settings != nil && q.settings.ExpiryHead
	by := settings.Effective(q.object.Arguments, user, operator, q.quorum, &v.options)
	q.settings = v.share(v.options.Apply(q.object.Name, by))
	if len(q.held) > 0 {
		v.noteUnpaused(q)
	}
	if headOnly && !q.settings.ExpiryHead {
		v.disarmHead(q)
		q.messages.Each(0, func(s queue.Seq, e *queue.Entry) bool {
			if e.State == queue.Ready && e.ExpireAt != 0 {
				v.schedule(q, s, e)
			}
			return true
		})
	}
}
