package resources

import (
	"fmt"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func explainEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/settings", Tag: authz.Management, Serve: getSettings,
			Summary: "All settings of queues: who may set them, their values, and which value is effective",
			Out:     api.List[api.SettingDescription]{},
		},
		{
			Pattern: "GET x/explain/queues/{vhost}/{queue}", Tag: authz.Management, Serve: explainQueue, Scope: web.Leader,
			Summary: "Effective settings of a queue: value, source and reason", Out: api.Explanation{},
		},
		{
			Pattern: "GET x/explain/exchanges/{vhost}/{exchange}", Tag: authz.Management, Serve: explainExchange, Scope: web.Leader,
			Summary: "Effective settings of an exchange", Out: api.Explanation{},
		},
		{
			Pattern: "PUT x/dry-run/policies/{vhost}/{name}", Tag: authz.Policymaker, Serve: tryPolicy, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Dry run of setting a policy: matches and changes", In: api.PutPolicy{}, Out: api.PolicyTrial{},
		},
		{
			Pattern: "DELETE x/dry-run/policies/{vhost}/{name}", Tag: authz.Policymaker, Serve: tryClearingPolicy, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Dry run of deleting a policy", Out: api.PolicyTrial{},
		},
		{
			Pattern: "PUT x/dry-run/operator-policies/{vhost}/{name}", Tag: authz.Administrator, Serve: tryOperatorPolicy, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Dry run of setting an operator policy", In: api.PutPolicy{}, Out: api.PolicyTrial{},
		},
		{
			Pattern: "DELETE x/dry-run/operator-policies/{vhost}/{name}", Tag: authz.Administrator, Serve: tryClearingOperatorPolicy, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Dry run of deleting a policy", Out: api.PolicyTrial{},
		},
	}
}

func explainQueue(r *web.Request) (web.Answer, error)    { return explain(r, false) }
func explainExchange(r *web.Request) (web.Answer, error) { return explain(r, true) }

func kindOf(exchange bool) string {
	if exchange {
		return ToExchange
	}
	return ToQueue
}

// explain tells what a queue or an exchange runs with: each setting's value, source and why. Source: ours.
func explain(r *web.Request, exchange bool) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	name := r.PathValue("queue")
	if exchange {
		name = web.ExchangeName(r.PathValue("exchange"))
	}
	var subject vhost.Subject
	var rules *vhost.Rules
	var found bool
	var missing, where string
	var drain vhost.Drain
	err := r.Look(r.PathValue("vhost"), func(v vhost.Reader) {
		if subject, found = v.Subject(name, exchange); !found {
			return
		}
		rules = v.Rules()
		if q, ok := v.Queue(name); ok && !exchange {
			drain = v.Drain(q.ID)
			if dlx, has := q.Settings.DLX(); has && v.Topology().Exchange(dlx) == nil {
				missing, where = dlx, "become lost letters"
				if q.Settings.AtLeastOnce {
					where = "are held in their queue"
				}
			}
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	shown := api.Explanation{Name: subject.Name, VHost: r.PathValue("vhost"), Kind: kindOf(exchange), Type: subject.Type}
	for _, s := range rules.Explain(&subject) {
		shown.Settings = append(shown.Settings, api.ExplainedSetting{
			Name: s.Name, Value: api.RawValue(s.Value), Source: s.Source.String(), From: s.From, Why: s.Why,
		})
	}
	for _, p := range rules.Standings(&subject) {
		shown.Policies = append(shown.Policies, api.ExplainedPolicy{
			Policy: showPolicy(r.PathValue("vhost"), &p.Policy), Operator: p.Operator, Matches: p.Matches, InForce: p.InForce, Why: p.Why,
		})
	}
	for _, i := range rules.Ignored(&subject) {
		shown.Ignored = append(shown.Ignored, api.IgnoredSetting{Name: i.Name, Source: i.Source.String(), From: i.From, Why: i.Why})
	}
	if missing != "" {
		shown.Warnings = append(shown.Warnings, fmt.Sprintf("exchange '%s' does not exist: dead letters of the queue %s", missing, where))
	}
	if drain.Overgrown {
		shown.Warnings = append(shown.Warnings, fmt.Sprintf("%d messages are ready: publishers may have to wait for the "+
			"consumers of the queue, their connections have the state 'flow' then", drain.Ready))
	}
	return web.OK(shown)
}

func tryPolicy(r *web.Request) (web.Answer, error)                 { return trySet(r, false) }
func tryOperatorPolicy(r *web.Request) (web.Answer, error)         { return trySet(r, true) }
func tryClearingPolicy(r *web.Request) (web.Answer, error)         { return tryClear(r, false) }
func tryClearingOperatorPolicy(r *web.Request) (web.Answer, error) { return tryClear(r, true) }

// trySet tells what setPolicy would do with the same body.
func trySet(r *web.Request, operator bool) (web.Answer, error) {
	p, err := policy(r, operator)
	if err != nil {
		return web.Answer{}, err
	}
	return try(r, p, false)
}

func tryClear(r *web.Request, operator bool) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	return try(r, &vhost.Policy{Name: r.PathValue("name"), Operator: operator}, true)
}

// try tells what a change of a policy would do, without holding up the virtual host while it is found out.
func try(r *web.Request, p *vhost.Policy, clear bool) (web.Answer, error) {
	var subjects vhost.Subjects
	var own []string
	var astray string
	var trials []settings.PolicyDryRun
	var refused *amqp.Error
	if err := r.BeginTask(); err != nil {
		return web.Answer{}, err
	}
	err := r.Copy(r.PathValue("vhost"), func(v vhost.Reader, most int) bool {
		if subjects.Rules == nil {
			own, astray = graves(v, p), leadsNowhere(v, p)
		}
		return v.SubjectsSome(&subjects, most)
	}, func() error {
		until := time.Now().Add(web.PatternPatience)
		trials, refused = subjects.Rules.DryRun(*p, clear, subjects.All(), func() bool {
			return r.Context().Err() == nil && time.Now().Before(until)
		})
		return nil
	})
	if err != nil {
		return web.Answer{}, err
	}
	if refused != nil && refused.Code == amqp.CodeNotFound {
		return web.Answer{}, web.ErrNotFound
	}
	if refused != nil {
		return web.Answer{}, web.AsBadRequest(refused)
	}
	var shown api.PolicyTrial
	for i := range trials {
		t := &trials[i]
		outcome := api.PolicyOutcome{
			Name: t.Name, Kind: kindOf(t.Exchange), Type: t.Type, Matches: t.Matches,
			PolicyBefore: t.Before, PolicyAfter: t.After,
			Drops: t.Drops.Messages, Estimated: t.Drops.Estimated, DeadLetters: t.DeadLetters,
		}
		if t.Drops.TooMany {
			outcome.Limits = append(outcome.Limits, "max-length")
		}
		if t.Drops.BytesOver > 0 {
			outcome.Limits = append(outcome.Limits, "max-length-bytes")
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
	if astray != "" && (shown.Matched == 0 || slices.ContainsFunc(trials, usesDLX)) {
		shown.Warnings = append(shown.Warnings, astray)
	}
	shown.Warnings = append(shown.Warnings, warnings(trials, p, own)...)
	return web.OK(shown)
}

// graves are the queues to which the dead letters under p go: those bound to its dead-letter exchange.
func graves(v vhost.Reader, p *vhost.Policy) []string {
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

// leadsNowhere says that the dead-letter exchange of p does not exist, or that nothing is bound to it, or that it
// is the default one and leads to no queue or back to the same; "" if it leads somewhere, or p has none.
func leadsNowhere(v vhost.Reader, p *vhost.Policy) string {
	dlx, ok := p.Definition.Get("dead-letter-exchange")
	if !ok || dlx.Kind != amqp.KindString {
		return ""
	}
	fate := "become lost letters"
	if strategy, _ := p.Definition.Get("dead-letter-strategy"); strategy.Str == "at-least-once" {
		fate = "are held in their queue"
	}
	if dlx.Str == "" {
		key, keyed := p.Definition.Get("dead-letter-routing-key")
		if !keyed {
			return "without a dead-letter routing key, the default exchange returns a dead letter that was published to a " +
				"queue by its name to this queue; set one"
		}
		if _, there := v.Queue(key.Str); !there {
			return fmt.Sprintf("queue '%s' does not exist: until it exists, dead letters %s", key.Str, fate)
		}
		return ""
	}
	x := v.Topology().Exchange(dlx.Str)
	if x == nil {
		return fmt.Sprintf("exchange '%s' does not exist: until it exists, dead letters %s", dlx.Str, fate)
	}
	if x.Alternate != "" {
		return ""
	}
	for range v.Topology().BindingsFrom(dlx.Str) {
		return ""
	}
	return fmt.Sprintf("exchange '%s' has no bindings: until it has some, dead letters %s", dlx.Str, fate)
}

// usesDLX reports whether a queue would have the dead-letter exchange of the policy.
func usesDLX(t settings.PolicyDryRun) bool { return t.Matches && !t.Exchange && t.KeepsDLX == "" }

// warningsMax bounds how many of a kind are told.
const warningsMax = 5

// warnings tells what is odd about a policy: that dead letters go round, that a key or times of retries have no effect,
// and that messages would go at once.
func warnings(trials []settings.PolicyDryRun, p *vhost.Policy, own []string) []string {
	isGrave := map[string]bool{}
	for _, name := range own {
		isGrave[name] = true
	}
	var loops, keep, alone, steps, drops []string
	for i := range trials {
		t := &trials[i]
		if t.Matches && !t.Exchange && t.After == p.Name && isGrave[t.Name] {
			loops = append(loops, fmt.Sprintf("policy '%s' matches queue '%s', which receives its dead letters: "+
				"messages that die there return there; change the pattern to exclude it", p.Name, t.Name))
		}
		if t.KeepsDLX != "" {
			keep = append(keep, fmt.Sprintf("queue '%s' keeps its dead-letter exchange '%s': its argument overrides the policy",
				t.Name, t.KeepsDLX))
		}
		if t.KeyAlone {
			alone = append(alone, fmt.Sprintf("queue '%s' has a dead-letter routing key and no dead-letter exchange: "+
				"the key has no effect", t.Name))
		}
		if t.StepsAlone {
			steps = append(steps, fmt.Sprintf("queue '%s' has delayed-retry-steps: delayed-retry-min, delayed-retry-max and "+
				"delayed-retry-backoff have no effect", t.Name))
		}
		switch d := &t.Drops; {
		case d.Messages == 0 || len(t.Changes) == 0:
		case d.Estimated:
			drops = append(drops, fmt.Sprintf("queue '%s' exceeds max-length-bytes by %d bytes: about %d messages are "+
				"dropped from its head immediately", t.Name, d.BytesOver, d.Messages))
		default:
			drops = append(drops, fmt.Sprintf("queue '%s' exceeds its limit by %d messages: they are dropped from its head "+
				"immediately", t.Name, d.Messages))
		}
	}
	return slices.Concat(few(loops), few(keep), few(alone), few(steps), few(drops))
}

// few are the first of some warnings, and how many more there are.
func few(all []string) []string {
	if len(all) <= warningsMax {
		return all
	}
	return append(all[:warningsMax:warningsMax], fmt.Sprintf("and %d more warnings like the last one", len(all)-warningsMax))
}
