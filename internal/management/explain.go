package management

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func explainQueue(r *request) (answer, error)    { return explain(r, false) }
func explainExchange(r *request) (answer, error) { return explain(r, true) }

func kindOf(exchange bool) string {
	if exchange {
		return toExchange
	}
	return toQueue
}

// explain tells what a queue or an exchange runs with: each setting's value, source and why. Source: ours.
func explain(r *request, exchange bool) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, err
	}
	name := r.names[1]
	if exchange {
		name = exchangeNamed(name)
	}
	var subject vhost.Subject
	var rules *vhost.Rules
	var found bool
	var missing, where string
	err := r.look(r.names[0], func(v *vhost.VHost) {
		if subject, found = v.Subject(name, exchange); !found {
			return
		}
		rules = v.Rules()
		if q, ok := v.Queue(name); ok && !exchange {
			if dlx, has := q.Settings.DLX(); has && v.Topology().Exchange(dlx) == nil {
				missing, where = dlx, "become lost letters"
				if q.Settings.AtLeastOnce {
					where = "are held in their queue"
				}
			}
		}
	})
	if err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, errNotFound
	}
	shown := api.Explanation{Name: subject.Name, VHost: r.names[0], Kind: kindOf(exchange), Type: subject.Type}
	for _, s := range rules.Explain(&subject) {
		shown.Settings = append(shown.Settings, api.ExplainedSetting{
			Name: s.Name, Value: api.RawValue(s.Value), Source: s.Source.String(), From: s.From, Why: s.Why,
		})
	}
	for _, p := range rules.Standings(&subject) {
		shown.Policies = append(shown.Policies, api.ExplainedPolicy{
			Policy: showPolicy(r.names[0], &p.Policy), Operator: p.Operator, Matches: p.Matches, InForce: p.InForce, Why: p.Why,
		})
	}
	for _, i := range rules.Ignored(&subject) {
		shown.Ignored = append(shown.Ignored, api.IgnoredSetting{Name: i.Name, Source: i.Source.String(), From: i.From, Why: i.Why})
	}
	if missing != "" {
		shown.Warnings = append(shown.Warnings, fmt.Sprintf("exchange '%s' does not exist: dead letters of the queue %s", missing, where))
	}
	return ok(shown)
}

func tryPolicy(r *request) (answer, error)                 { return trySet(r, false) }
func tryOperatorPolicy(r *request) (answer, error)         { return trySet(r, true) }
func tryClearingPolicy(r *request) (answer, error)         { return tryClear(r, false) }
func tryClearingOperatorPolicy(r *request) (answer, error) { return tryClear(r, true) }

// trySet tells what setPolicy would do with the same body.
func trySet(r *request, operator bool) (answer, error) {
	p, err := r.policy(operator)
	if err != nil {
		return answer{}, err
	}
	return try(r, p, false)
}

func tryClear(r *request, operator bool) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	return try(r, &vhost.Policy{Name: r.names[1], Operator: operator}, true)
}

// try tells what a change of a policy would do, without holding up the virtual host while it is found out.
func try(r *request, p *vhost.Policy, clear bool) (answer, error) {
	var rules *vhost.Rules
	var subjects []vhost.Subject
	var own []string
	if err := r.takeTurn(); err != nil {
		return answer{}, err
	}
	err := r.look(r.names[0], func(v *vhost.VHost) {
		rules, subjects = v.Rules(), v.Subjects()
		own = graves(v, p)
	})
	if err != nil {
		return answer{}, err
	}
	trials, refused := rules.Try(*p, clear, subjects)
	if refused != nil && refused.Code == amqp.CodeNotFound {
		return answer{}, errNotFound
	}
	if refused != nil {
		return answer{}, plainly(refused)
	}
	var shown api.PolicyTrial
	for i := range trials {
		t := &trials[i]
		outcome := api.PolicyOutcome{
			Name: t.Name, Kind: kindOf(t.Exchange), Type: t.Type, Matches: t.Matches, PolicyBefore: t.Before, PolicyAfter: t.After, Drops: t.Drops,
		}
		for _, c := range t.Changes {
			outcome.Changes = append(outcome.Changes, api.SettingChange{Name: c.Name, Before: api.RawValue(c.Before), After: api.RawValue(c.After)})
		}
		shown.Matches = append(shown.Matches, outcome)
		if t.Matches {
			shown.Matched++
		}
		if len(t.Changes) > 0 {
			shown.Changed++
		}
	}
	shown.Warnings = warnings(trials, p, own)
	return ok(shown)
}

// graves are the queues to which the dead letters under p go: those bound to its dead-letter exchange.
func graves(v *vhost.VHost, p *vhost.Policy) []string {
	dlx, ok := p.Definition.Get("dead-letter-exchange")
	if !ok || dlx.Kind != amqp.KindString {
		return nil
	}
	if dlx.Str == "" {
		if key, keyed := p.Definition.Get("dead-letter-routing-key"); keyed {
			return []string{key.Str}
		}
		return nil
	}
	if v.Topology().Exchange(dlx.Str) == nil {
		return nil
	}
	var names []string
	for b := range v.Topology().BindingsFrom(dlx.Str) {
		if b.ToQueue {
			names = append(names, b.Destination)
		}
	}
	return names
}

// warningsMax bounds how many of a kind are told.
const warningsMax = 5

// warnings tells what is odd about a policy: that dead letters go round, and that messages would go at once.
func warnings(trials []vhost.Trial, p *vhost.Policy, own []string) []string {
	isGrave := map[string]bool{}
	for _, name := range own {
		isGrave[name] = true
	}
	var loops, drops []string
	for i := range trials {
		t := &trials[i]
		if t.Matches && !t.Exchange && t.After == p.Name && isGrave[t.Name] {
			loops = append(loops, fmt.Sprintf("policy '%s' matches queue '%s', which receives its dead letters: "+
				"messages that die there return there; change the pattern to exclude it", p.Name, t.Name))
		}
		if t.Drops > 0 && len(t.Changes) > 0 {
			drops = append(drops, fmt.Sprintf("queue '%s' exceeds its limit by %d messages: they are dropped from its head "+
				"immediately", t.Name, t.Drops))
		}
	}
	return append(few(loops), few(drops)...)
}

// few are the first of some warnings, and how many more there are.
func few(all []string) []string {
	if len(all) <= warningsMax {
		return all
	}
	return append(all[:warningsMax:warningsMax], fmt.Sprintf("and %d more warnings like the last one", len(all)-warningsMax))
}
