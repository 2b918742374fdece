package vhost

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/regex"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// Policy is a rule that gives settings to the queues and exchanges whose names match. Source: RabbitMQ policies.
type Policy struct {
	Name       string
	Operator   bool   // an operator policy: it limits what users and arguments ask for
	Pattern    string // RE2, searched in the name
	ApplyTo    string // all, queues, classic_queues, quorum_queues, streams, exchanges
	Priority   int64
	Definition amqp.Table
}

// policyKey says what a key of a definition must be, and whether operators may use it.
// Source: reference policies-and-permissions 4, 5.
type policyKey struct {
	valid    func(amqp.Value) bool
	what     string // "… is not a valid <what>"
	operator bool
}

func isText(a amqp.Value) bool { return a.Kind == amqp.KindString }

func isShortText(a amqp.Value) bool { return isText(a) && shortText(a) == "" }

func isInteger(a amqp.Value) bool {
	_, ok := a.Integer()
	return ok
}

func atLeast(least int64) func(amqp.Value) bool {
	return func(a amqp.Value) bool {
		n, ok := a.Integer()
		return ok && n >= least
	}
}

func within(least, most int64) func(amqp.Value) bool {
	return func(a amqp.Value) bool { n, ok := a.Integer(); return ok && n >= least && n <= most }
}

func lasting(least int64) func(amqp.Value) bool {
	return func(a amqp.Value) bool {
		n, ok := a.Integer()
		return ok && n >= least && n <= ttlMax
	}
}

// isAge reports whether a is a number with one of RabbitMQ's units of age.
func isAge(a amqp.Value) bool {
	n := len(a.Str) - 1
	if !isText(a) || n < 1 || !strings.Contains("YMDhms", a.Str[n:]) {
		return false
	}
	_, err := strconv.ParseUint(a.Str[:n], 10, 31)
	return err == nil
}

func oneOf(words ...string) func(amqp.Value) bool {
	return func(a amqp.Value) bool { return isText(a) && slices.Contains(words, a.Str) }
}

var policyKeys = map[string]policyKey{
	"dead-letter-exchange":          {isShortText, "dead letter exchange name", false},
	"dead-letter-routing-key":       {isShortText, "dead letter routing key", false},
	"dead-letter-strategy":          {oneOf("at-most-once", "at-least-once"), "dead letter strategy", false},
	"message-ttl":                   {lasting(0), "message TTL", true},
	"expires":                       {lasting(1), "queue expiry", true},
	"max-length":                    {atLeast(0), "maximum length", true},
	"max-length-bytes":              {atLeast(0), "maximum length in bytes", true},
	"max-in-memory-length":          {atLeast(0), "maximum memory in bytes", true},
	"max-in-memory-bytes":           {atLeast(0), "maximum memory in bytes", true},
	"overflow":                      {oneOf("drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"), "overflow value", true},
	"delivery-limit":                {isInteger, "delivery limit", true},
	"delivery-count-mode":           {oneOf("all", "failed"), "delivery count mode", false},
	"delayed-retry-type":            {oneOf("all", "failed", "returned", "disabled"), "delayed retry type. Must be one of: all, failed, returned, disabled", true},
	"delayed-retry-min":             {atLeast(1), "delayed retry minimum delay. Must be a positive integer", true},
	"delayed-retry-max":             {atLeast(1), "delayed retry maximum delay. Must be a positive integer", true},
	"delayed-retry-backoff":         {oneOf("linear", "fixed", "exponential"), "delayed retry backoff. Must be one of: linear, fixed, exponential", true},
	"delayed-retry-steps":           {isSteps, "list of delayed retry steps, such as 10m,30m,1h", true},
	"delayed-retry-jitter":          {within(0, retryJitterMax), "delayed retry jitter. Must be a percentage", true},
	"delayed-retry-attempts":        {atLeast(1), "number of delayed retry attempts. Must be a positive integer", true},
	"consumer-timeout":              {atLeast(0), "consumer timeout", false},
	"consumer-disconnected-timeout": {atLeast(0), "consumer disconnected timeout", false},
	"expiry":                        {oneOf("exact", "head"), "expiry: exact or head", false},
	"cycle":                         {oneOf("shelf", "keep"), "treatment of cycles: shelf or keep", false},
	"max-age":                       {isAge, "max age", false},
	"stream-max-segment-size-bytes": {atLeast(1), "stream max segment size value", false},
	"stream-filter-size-bytes":      {within(16, 255), "stream filter size value", false},
	"initial-cluster-size":          {atLeast(1), "initial cluster size", false},
	"queue-mode":                    {oneOf("default", "lazy"), "queue-mode value", false},
	"queue-version":                 {func(a amqp.Value) bool { n, ok := a.Integer(); return ok && (n == 1 || n == 2) }, "queue-version value", true},
	"queue-leader-locator":          {oneOf("client-local", "balanced", "random", "least-leaders"), "queue leader locator value", false},
	"queue-master-locator":          {oneOf("min-masters", "client-local", "random"), "queue master locator value", false},
	"target-group-size":             {atLeast(1), "qq target count value", true},
	"alternate-exchange":            {isShortText, "alternate exchange name", false},
	"ha-mode":                       {isText, "ha-mode", false},
	"ha-params":                     {func(amqp.Value) bool { return true }, "ha-params", false},
	"ha-sync-mode":                  {isText, "ha-sync-mode", false},
	"ha-promote-on-shutdown":        {isText, "ha-promote-on-shutdown", false},
	"ha-promote-on-failure":         {isText, "ha-promote-on-failure", false},
}

// check validates p. Its errors are worded as RabbitMQ's, after the line "Validation failed".
// Source: reference policies-and-permissions 4.
func (p *Policy) check() *amqp.Error {
	invalid := func(format string, args ...any) *amqp.Error {
		return amqp.PreconditionFailed("Validation failed\n\n"+format, args...)
	}
	switch p.ApplyTo {
	case "all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges":
	default:
		return invalid("apply-to '%s' unrecognised; should be one of: 'queues', 'classic_queues',  'quorum_queues', 'streams', 'exchanges', or 'all'", p.ApplyTo)
	}
	if len(p.Pattern) > patternBytesMax {
		return invalid("pattern must not exceed %d bytes", patternBytesMax)
	}
	if err := regex.Check(p.Pattern, patternSizeMax); err != nil {
		return invalid("pattern should be regular expression but is invalid: %v", err)
	}
	if len(p.Definition) == 0 {
		return invalid("no policy provided")
	}
	var unknown []string
	for _, f := range p.Definition {
		key, ok := policyKeys[f.Name]
		switch {
		case !ok || p.Operator && !key.operator:
			unknown = append(unknown, fmt.Sprintf("{<<\"%s\">>,%s}", f.Name, erlang(f.Value)))
		case !key.valid(f.Value):
			return invalid("%s is not a valid %s", erlang(f.Value), key.what)
		}
	}
	if unknown != nil {
		return invalid("[%s] are not recognised policy settings", strings.Join(unknown, ","))
	}
	if detail := p.checkRetry(); detail != "" {
		return invalid("%s", detail)
	}
	return nil
}

// checkRetry checks what the keys of delayed retry say together. Source: reference policies-and-permissions 4.
func (p *Policy) checkRetry() string {
	kind, hasKind := p.Definition.Get("delayed-retry-type")
	least, hasLeast := p.Definition.Get("delayed-retry-min")
	most, hasMost := p.Definition.Get("delayed-retry-max")
	_, hasSteps := p.Definition.Get("delayed-retry-steps")
	switch {
	case hasKind && kind.Str != "disabled" && !hasLeast && !hasSteps:
		return "delayed-retry-min is required when delayed-retry-type is " + kind.Str
	case hasLeast && hasMost && whole(most) < whole(least):
		return retryBounds(whole(least), whole(most))
	}
	return ""
}

// erlang prints a value as RabbitMQ's messages do.
func erlang(a amqp.Value) string {
	switch a.Kind {
	case amqp.KindString:
		return fmt.Sprintf("<<\"%s\">>", a.Str)
	case amqp.KindBool:
		return fmt.Sprint(a.Int != 0)
	}
	return show(a)
}

// inertKeys are the keys of policies that do nothing to a queue: they are for exchanges, for streams, or for what this
// broker does otherwise. A policy with such a key applies all the same. Source: reference policies-and-permissions 3.
var inertKeys = map[string]bool{
	"alternate-exchange": true, "max-age": true, "stream-max-segment-size-bytes": true, "stream-filter-size-bytes": true,
	"initial-cluster-size": true, "target-group-size": true, "max-in-memory-length": true, "max-in-memory-bytes": true,
	"queue-mode": true, "queue-version": true, "queue-leader-locator": true, "queue-master-locator": true, "ha-mode": true,
	"ha-params": true, "ha-sync-mode": true, "ha-promote-on-shutdown": true, "ha-promote-on-failure": true,
	"consumer-disconnected-timeout": true,
}

// inert lists the keys of a queue's policies that do nothing to it.
func (o *Options) inert(definition amqp.Table) (names []string) {
	for _, f := range definition {
		if inertKeys[f.Name] || o.DLXByArgumentOnly && strings.HasPrefix(f.Name, "dead-letter-") {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (v *VHost) setPolicy(s *Stamp, c *Command, out *Outcome) *amqp.Error {
	p := *c.Policy
	if p.ApplyTo == "" {
		p.ApplyTo = "all"
	}
	if err := p.check(); err != nil {
		return err
	}
	v.changeRules(s, c, &Fact{Kind: PolicySet, Durable: true, Policy: &p}, out)
	return nil
}

func (v *VHost) clearPolicy(s *Stamp, c *Command, out *Outcome) *amqp.Error {
	if v.policies.of(c.Policy.Operator)[c.Policy.Name] == nil {
		return amqp.NotFound("policy '%s' in vhost '%s'", c.Policy.Name, v.name)
	}
	v.changeRules(s, c, &Fact{Kind: PolicyCleared, Durable: true, Policy: &Policy{Name: c.Policy.Name, Operator: c.Policy.Operator}}, out)
	return nil
}

func (ps *policySet) of(operator bool) map[string]*policyEntry {
	if operator {
		return ps.operator
	}
	return ps.user
}

// set puts a policy in force, and returns the one of its name that was until then, or nil.
func (ps *policySet) set(p Policy) (before *policyEntry) {
	before = ps.of(p.Operator)[p.Name]
	pattern, err := regexp.Compile(p.Pattern)
	if err != nil {
		pattern = regexp.MustCompile(`^\b$`) // checked before it was set: matches nothing
	}
	ps.of(p.Operator)[p.Name] = &policyEntry{p, pattern}
	return before
}

// clear takes a policy away, and returns it; nil if there is none.
func (ps *policySet) clear(name string, operator bool) (before *policyEntry) {
	before = ps.of(operator)[name]
	delete(ps.of(operator), name)
	return before
}

// isFor reports whether a policy may apply to something of that name, which is of one of some kinds.
func (p *policyEntry) isFor(name string, kinds ...string) bool {
	return p != nil && slices.Contains(kinds, p.ApplyTo) && p.pattern.MatchString(name)
}

// match finds the policy that applies to a name: the highest priority, then the smallest name.
// Source: reference policies-and-permissions 2.
func (ps *policySet) match(operator bool, name string, kinds ...string) *policyEntry {
	var best *policyEntry
	for _, p := range ps.of(operator) {
		if !p.isFor(name, kinds...) {
			continue
		}
		if best == nil || p.Priority > best.Priority || p.Priority == best.Priority && p.Name < best.Name {
			best = p
		}
	}
	return best
}

// applyPolicies computes anew what every queue and exchange runs with.
func (v *VHost) applyPolicies() {
	v.rulesChanged(func(*queueState) bool { return true })
	v.applyPoliciesToExchanges()
}

// applyPolicy does so for those that a policy, which was before until now, is or was in force on: each pattern that is tried
// on every queue of tens of thousands costs ten milliseconds.
func (v *VHost) applyPolicy(p *Policy, before *policyEntry) {
	now := v.policies.of(p.Operator)[p.Name]
	v.rulesChanged(func(q *queueState) bool {
		inForce := q.policy
		if p.Operator {
			inForce = q.operator
		}
		return before != nil && inForce == p.Name || now.isFor(q.object.Name, q.kinds()...)
	})
	const key = "alternate-exchange"
	_, was := before.table().Get(key)
	_, is := now.table().Get(key)
	if was || is {
		v.applyPoliciesToExchanges()
	}
}

func (v *VHost) applyPoliciesToExchanges() {
	for x := range v.topo.Exchanges() {
		v.applyPoliciesToExchange(x)
	}
}

// kinds is what policies call q, beside its name.
func (q *queueState) kinds() []string { return []string{"all", "queues", q.object.Type + "_queues"} }

func (v *VHost) applyPoliciesToExchange(x *topology.Exchange) {
	var byPolicy amqp.Table
	if p := v.policies.match(false, x.Name, "all", "exchanges"); p != nil {
		byPolicy = p.Definition
	}
	alternate, _ := first(x.Arguments, "alternate-exchange", byPolicy, "alternate-exchange")
	v.topo.SetAlternate(x.Name, alternate)
}

func (v *VHost) applyPoliciesTo(q *queueState) {
	kinds := q.kinds()
	var user, operator amqp.Table
	q.policy, q.operator = "", ""
	if p := v.policies.match(false, q.object.Name, kinds...); p != nil {
		q.policy, user = p.Name, p.Definition
	}
	if p := v.policies.match(true, q.object.Name, kinds...); p != nil {
		q.operator, operator = p.Name, p.Definition
	}
	headOnly := q.settings != nil && q.settings.ExpiryHead
	q.settings = v.share(effective(q.object.Arguments, user, operator, q.quorum, &v.options))
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

// mergeDefinitions merges a user's and an operator's policy, key by key. Source: reference
// policies-and-permissions 5.
func mergeDefinitions(user, operator amqp.Table) amqp.Table {
	if len(operator) == 0 {
		return user
	}
	merged := slices.Clone(user)
	for _, f := range operator {
		i := slices.IndexFunc(merged, func(o amqp.Field) bool { return o.Name == f.Name })
		if i < 0 {
			merged = append(merged, f)
			continue
		}
		u, _ := merged[i].Value.Integer()
		o, _ := f.Value.Integer()
		switch f.Name {
		case "expires", "message-ttl", "max-length", "max-length-bytes", "max-in-memory-length", "max-in-memory-bytes",
			"delayed-retry-max":
			if o < u {
				merged[i] = f
			}
		case "delivery-limit":
			if o < u && o >= 0 || u < 0 {
				merged[i] = f
			}
		case "target-group-size", "delayed-retry-min":
			if o > u {
				merged[i] = f
			}
		default:
			merged[i] = f
		}
	}
	return merged
}
