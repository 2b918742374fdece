package oracle

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Policy gives settings to queues and exchanges by name. Source: RabbitMQ policies.
type Policy struct {
	Name, Pattern, ApplyTo string
	Operator               bool
	Priority               int64
	Definition             amqp.Table
}

// settings are what a queue runs with. Numbers are -1 where there is none.
type settings struct {
	ttl, expires, length, bytes, limit int64
	overflow                           string
	dlx, dlrk                          string
	hasDLX, hasDLRK                    bool
	atLeastOnce                        bool
	countMode                          string // "" if none is set
	counts                             bool   // keeps count of returns, and shows it
	retryType                          string
	retryMin, retryMax                 int64
	consumerTimeout                    int64 // ms, 0: none
	headOnly                           bool  // only the head expires
	keep                               bool  // dead letters in a cycle stay
}

// drops reports whether a queue that is too long drops messages, rather than refuse new ones.
func (s *settings) drops() bool { return s.overflow == "drop-head" || s.overflow == "drop-lowest" }

// setPolicy decides set_policy: it is in force at once. The oracle is given valid policies only.
func (v *VHost) setPolicy(c *Command) uint16 {
	v.dropPolicy(&c.Policy)
	v.policies = append(v.policies, c.Policy)
	v.reconfigure()
	return 0
}

func (v *VHost) clearPolicy(c *Command) uint16 {
	if !v.dropPolicy(&c.Policy) {
		return amqp.CodeNotFound
	}
	v.reconfigure()
	return 0
}

func (v *VHost) dropPolicy(p *Policy) bool {
	n := len(v.policies)
	v.policies = slices.DeleteFunc(v.policies, func(o Policy) bool { return o.Name == p.Name && o.Operator == p.Operator })
	return len(v.policies) < n
}

// setOptions merges options of the vhost; a void value removes one.
func (v *VHost) setOptions(c *Command) uint16 {
	before := v.lostMaxAge()
	for _, f := range c.Arguments {
		if f.Value.Kind == amqp.KindVoid {
			delete(v.options, f.Name)
		} else {
			v.options[f.Name] = f.Value
		}
	}
	v.lostStore.settings.bytes = v.option("lost-letters-max-bytes", 64<<20)
	for _, x := range v.lostStore.copies {
		x.ExpireAt = max(1, x.ExpireAt+v.lostMaxAge()-before)
	}
	v.reconfigure()
	return 0
}

// reconfigure computes anew what every queue runs with. A queue whose own expiry has changed lives from now on.
// Source: docs/compat/policies-and-permissions.md#7.
func (v *VHost) reconfigure() {
	for _, q := range v.queues {
		before := q.settings.expires
		q.settings = v.effective(q)
		if q.settings.expires != before {
			v.used(q)
		}
	}
}

// policyOf is the policy that applies to a name: the highest priority, then the smallest name.
// Source: docs/compat/policies-and-permissions.md#2.
func (v *VHost) policyOf(operator bool, name string, kinds ...string) (best *Policy) {
	for i := range v.policies {
		p := &v.policies[i]
		if p.Operator != operator || !slices.Contains(kinds, p.ApplyTo) || !regexp.MustCompile(p.Pattern).MatchString(name) {
			continue
		}
		if best == nil || p.Priority > best.Priority || p.Priority == best.Priority && p.Name < best.Name {
			best = p
		}
	}
	return best
}

// effective is what a queue runs with: its arguments and its two policies, merged key by key.
// Source: docs/compat/policies-and-permissions.md#5, #6; ours, docs/compat/differences.md#policies.
func (v *VHost) effective(q *queue) settings {
	kinds := []string{"all", "queues", "classic_queues"}
	if q.quorum {
		kinds[2] = "quorum_queues"
	}
	var user, operator amqp.Table
	if p := v.policyOf(false, q.name, kinds...); p != nil {
		user = p.Definition
	}
	if p := v.policyOf(true, q.name, kinds...); p != nil {
		operator = p.Definition
	}
	if v.isOn("dlx-by-argument-only") {
		user = slices.DeleteFunc(slices.Clone(user), func(f amqp.Field) bool { return strings.HasPrefix(f.Name, "dead-letter-") })
	}
	all := sources{q.arguments, user, operator}
	s := settings{
		ttl: all.smallest("message-ttl"), expires: all.smallest("expires"),
		length: all.smallest("max-length"), bytes: all.smallest("max-length-bytes"),
		limit: all.deliveryLimit(), retryMax: all.smallest("delayed-retry-max"),
	}
	s.consumerTimeout = v.consumerTimeout(&all)
	if s.limit == unset {
		switch s.limit = v.option("delivery-limit", -1); {
		case s.limit >= 0:
		case v.dialect() == "apsaramq" && !v.isSet("delivery-limit"):
			s.limit = 16
		case q.quorum:
			s.limit = 20
		}
	}
	s.dlx, s.hasDLX = all.text("dead-letter-exchange", argument, userPolicy)
	s.dlrk, s.hasDLRK = all.text("dead-letter-routing-key", argument, userPolicy)
	strategy, _ := all.text("dead-letter-strategy", argument, userPolicy)
	s.atLeastOnce = strategy == "at-least-once" && s.hasDLX
	if s.overflow, _ = all.text("overflow", operatorPolicy, argument, userPolicy); s.overflow == "" || q.quorum && s.overflow == "reject-publish-dlx" {
		s.overflow = "drop-head"
	}
	s.countMode, _ = all.text("delivery-count-mode", argument, userPolicy)
	s.retryType, _ = all.text("delayed-retry-type", operatorPolicy, userPolicy, argument)
	s.retryMin = all.retryMin()
	if s.retryMin <= 0 || s.retryType == "" {
		s.retryType = "disabled"
	}
	if s.retryMax <= 0 {
		s.retryMax = s.retryMin
	}
	// docs/compat/quorum-and-retry.md#3
	s.counts = q.quorum || s.limit >= 0 || s.countMode != "" || s.retryType != "disabled"
	expiry, _ := all.text("expiry", userPolicy)
	s.headOnly = expiry == "head"
	cycle, _ := all.text("cycle", userPolicy)
	s.keep = cycle == "keep" || cycle == "" && !v.onByDefault("ttl-in-loops")
	return s
}

// option is a number among the vhost's options.
func (v *VHost) option(name string, otherwise int64) int64 {
	if a, ok := v.options[name]; ok {
		n, _ := a.Integer()
		return n
	}
	return otherwise
}

func (v *VHost) isSet(name string) bool {
	_, ok := v.options[name]
	return ok
}

func (v *VHost) dialect() string {
	if a, ok := v.options["dialect"]; ok {
		return a.Str
	}
	return "rabbitmq-4"
}

// isOn is a truth among the options that the ApsaraMQ dialect switches on.
func (v *VHost) isOn(name string) bool {
	if a, ok := v.options[name]; ok {
		on, _ := a.Bool()
		return on
	}
	return v.dialect() == "apsaramq"
}

// onByDefault is a truth among the options that the ApsaraMQ dialect switches off.
func (v *VHost) onByDefault(name string) bool {
	if a, ok := v.options[name]; ok {
		on, _ := a.Bool()
		return on
	}
	return v.dialect() != "apsaramq"
}

func number(t amqp.Table, name string) (int64, bool) {
	a, ok := t.Get(name)
	if !ok {
		return 0, false
	}
	return a.Integer()
}

func textOf(t amqp.Table, name string) string {
	a, _ := t.Get(name)
	return a.Str
}
