package settings

import (
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A setting is what one argument of a queue, or one key of a policy, sets. The table of settings is all that is known
// of them: what they are called, what values they take, who wins where several set them, and what a queue does with
// them. Forms and completion read it as All.
//
// A new setting is a row, its field in Settings, its use, its test, its line in the docs and its words in the console.
type setting struct {
	name     string // in policies; the argument has x- before it
	argument string // where that is not so
	by       scope
	only     string // the type of queue that knows the argument; "": all do

	takes  values
	policy values // what a policy takes, if policies are stricter
	what   string // "… is not a valid <what>", in a policy

	wins rule
	set  func(*Settings, amqp.Value)          // nil: no queue runs with it
	read func(*Settings, *Subject) amqp.Value // what a queue runs with; Void is none
	// option is the option of a virtual host that sets a default.
	option string
	// exchanges says that it is for exchanges alone.
	exchanges bool
	// inert says that it does nothing: it is for streams, or for what this broker does otherwise.
	inert bool
}

// A scope is who may set something.
type scope uint8

const (
	byArgument scope = 1 << iota
	byPolicy
	byOperator // too, beside policies

	byAll = byArgument | byPolicy | byOperator
)

// table is all settings, those that queues run with first, in the order in which they are explained.
// Source: docs/compat/expiry-and-limits.md, docs/compat/dead-lettering.md#13,
// docs/compat/policies-and-permissions.md#4, #5.
var table = []setting{
	{
		name: "dead-letter-exchange", by: byArgument | byPolicy, takes: shortText, what: "dead letter exchange name",
		wins: argumentWins,
		set:  func(s *Settings, a amqp.Value) { s.DeadLetterExchange, s.HasDLX = a.Str, true },
		read: wordIf((*Settings).DLX),
	}, {
		name: "dead-letter-routing-key", by: byArgument | byPolicy, takes: shortText, what: "dead letter routing key",
		wins: argumentWins,
		set:  func(s *Settings, a amqp.Value) { s.DeadLetterRoutingKey, s.HasDLRK = a.Str, true },
		read: wordIf((*Settings).DLRK),
	}, {
		name: "dead-letter-strategy", by: byArgument | byPolicy, what: "dead letter strategy", wins: argumentWins,
		takes: oneOf("invalid_dlx_strategy", "at-most-once", "at-least-once"),
		set:   func(s *Settings, a amqp.Value) { s.AtLeastOnce = a.Str == "at-least-once" },
		read:  wordOf(func(s *Settings) string { return either(s.AtLeastOnce, "at-least-once", "at-most-once") }),
	}, {
		name: markName, by: byArgument | byPolicy, takes: flag,
		what: "mark of a dead letter queue. Must be true or false", wins: markWins,
		set: func(s *Settings, a amqp.Value) { s.DLQ = markOf(truth(a)) },
		read: func(s *Settings, _ *Subject) amqp.Value {
			if s.DLQ == Unmarked {
				return amqp.Void()
			}
			return amqp.Bool(s.DLQ == Marked)
		},
	}, {
		name: "message-ttl", by: byAll, takes: lasting(0), what: "message TTL", wins: smallerWins,
		set:  func(s *Settings, a amqp.Value) { s.TTL = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.TTL }),
	}, {
		name: "expires", by: byAll, takes: lasting(1), what: "queue expiry", wins: smallerWins,
		set:  func(s *Settings, a amqp.Value) { s.Expires = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.Expires }),
	}, {
		name: "max-length", by: byAll, takes: whole(0), what: "maximum length", wins: smallerWins,
		set:  func(s *Settings, a amqp.Value) { s.MaxLength = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.MaxLength }),
	}, {
		name: "max-length-bytes", by: byAll, takes: size(0), what: "maximum length in bytes", wins: smallerWins,
		set:  func(s *Settings, a amqp.Value) { s.MaxLengthBytes = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.MaxLengthBytes }),
	}, {
		name: "overflow", by: byAll, what: "overflow value", wins: operatorWins,
		takes: oneOf("invalid_overflow", overflowNames...),
		set:   func(s *Settings, a amqp.Value) { s.Overflow = Overflow(indexOf(overflowNames, a.Str)) },
		read:  wordOf(func(s *Settings) string { return s.Overflow.String() }),
	}, {
		name: "max-priority", by: byArgument, takes: numbers(Number, 0, math.MaxUint8), wins: argumentWins,
		read: func(_ *Settings, s *Subject) amqp.Value { return amqp.Int64(int64(PriorityMax(s.Type, s.Arguments))) },
	}, {
		name: "delivery-limit", by: byAll, takes: whole(math.MinInt64), what: "delivery limit", wins: limitWins,
		option: "delivery-limit",
		set:    func(s *Settings, a amqp.Value) { s.DeliveryLimit = max(Whole(a), -1) },
		read:   numberFrom(0, func(s *Settings) int64 { return s.DeliveryLimit }),
	}, {
		name: "delivery-count-mode", by: byArgument | byPolicy, what: "delivery count mode", wins: argumentWins,
		takes: oneOf("invalid_delivery_count_mode", "all", "failed"),
		set:   func(s *Settings, a amqp.Value) { s.CountFailed, s.Counts = a.Str == "failed", true },
		read:  wordOf(func(s *Settings) string { return either(s.CountFailed, "failed", "all") }),
	}, {
		name: "delayed-retry-type", by: byAll,
		what: "delayed retry type. Must be one of: all, failed, returned, disabled", wins: policyWins,
		takes: oneOf("invalid_delayed_retry_type", retryTypeNames...),
		set:   func(s *Settings, a amqp.Value) { s.RetryType = RetryType(indexOf(retryTypeNames, a.Str)) },
		read:  wordOf(func(s *Settings) string { return s.RetryType.String() }),
	}, {
		name: "delayed-retry-min", by: byAll, takes: span(1),
		what: "delayed retry minimum delay. Must be a positive integer", wins: retryMinWins,
		set:  func(s *Settings, a amqp.Value) { s.RetryMin = Whole(a) },
		read: numberFrom(1, func(s *Settings) int64 { return s.RetryMin }),
	}, {
		name: "delayed-retry-max", by: byAll, takes: span(1),
		what: "delayed retry maximum delay. Must be a positive integer", wins: smallerWins,
		set:  func(s *Settings, a amqp.Value) { s.RetryMax = Whole(a) },
		read: numberFrom(1, func(s *Settings) int64 { return s.RetryMax }),
	}, {
		name: "delayed-retry-backoff", by: byAll,
		what: "delayed retry backoff. Must be one of: linear, fixed, exponential", wins: policyWins,
		takes: oneOf("invalid_delayed_retry_backoff", backoffNames...),
		set:   func(s *Settings, a amqp.Value) { s.RetryBackoff = Backoff(indexOf(backoffNames, a.Str)) },
		read:  wordOf(func(s *Settings) string { return s.RetryBackoff.String() }),
	}, {
		name: "delayed-retry-steps", by: byAll, takes: steps, what: "list of delayed retry steps, such as 10m,30m,1h, each with a unit",
		wins: policyWins,
		set:  func(s *Settings, a amqp.Value) { s.RetrySteps = storedSteps(a.Str) },
		read: wordIf(retrySteps),
	}, {
		name: "delayed-retry-jitter", by: byAll, takes: numbers(Percentage, 0, retryJitterMax),
		what: "delayed retry jitter. Must be a percentage",
		wins: smallerOfPolicyWins,
		set:  func(s *Settings, a amqp.Value) { s.RetryJitter = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.RetryJitter }),
	}, {
		name: "delayed-retry-attempts", by: byAll, takes: whole(1), wins: smallerOfPolicyWins,
		what: "number of delayed retry attempts. Must be a positive integer",
		set:  func(s *Settings, a amqp.Value) { s.RetryAttempts = Whole(a) },
		read: numberFrom(1, func(s *Settings) int64 { return s.RetryAttempts }),
	}, {
		name: "consumer-timeout", by: byArgument | byPolicy, takes: span(0), what: "consumer timeout",
		wins: timeoutWins, option: "consumer-timeout",
		set:  func(s *Settings, a amqp.Value) { s.ConsumerTimeout = Whole(a) },
		read: numberFrom(0, func(s *Settings) int64 { return s.ConsumerTimeout }),
	}, {
		name: "single-active-consumer", by: byArgument, takes: flag, wins: argumentWins,
		set:  func(s *Settings, a amqp.Value) { s.SingleActive = truth(a) },
		read: func(s *Settings, _ *Subject) amqp.Value { return amqp.Bool(s.SingleActive) },
	}, {
		name: "expiry", by: byPolicy, takes: oneOf("invalid_expiry", "exact", "head"), what: "expiry: exact or head",
		wins: policyWins,
		set:  func(s *Settings, a amqp.Value) { s.ExpiryHead = a.Str == "head" },
		read: wordOf(func(s *Settings) string { return either(s.ExpiryHead, "head", "exact") }),
	}, {
		name: "cycle", by: byPolicy, takes: oneOf("invalid_cycle", "shelf", "keep"),
		what: "treatment of cycles: shelf or keep", wins: policyWins, option: "ttl-in-loops",
		set:  func(s *Settings, a amqp.Value) { s.CycleKeep = a.Str == "keep" },
		read: wordOf(func(s *Settings) string { return either(s.CycleKeep, "keep", "shelf") }),
	},

	{name: "queue-type", by: byArgument, takes: anyText},

	{
		name: "consumer-disconnected-timeout", by: byArgument | byPolicy, takes: span(0),
		what: "consumer disconnected timeout", inert: true,
	},
	{
		name: "queue-mode", by: byArgument | byPolicy, only: "classic", takes: queueMode, what: "queue-mode value",
		inert: true,
	},
	{
		name: "queue-version", by: byAll, only: "classic", takes: queueVersion, what: "queue-version value",
		inert: true,
	},
	{
		name: "queue-leader-locator", by: byArgument | byPolicy, takes: leaderLocator,
		what: "queue leader locator value", inert: true,
	},
	{
		name: "queue-master-locator", by: byArgument | byPolicy, only: "classic", takes: anyText,
		what: "queue master locator value", inert: true,
		policy: oneOf("invalid_queue_master_locator", "min-masters", "client-local", "random"),
	},
	{
		name: "max-in-memory-length", by: byAll, only: "quorum", takes: whole(0), what: "maximum memory in bytes",
		wins: smallerWins, inert: true,
	},
	{
		name: "max-in-memory-bytes", by: byAll, only: "quorum", takes: size(0), what: "maximum memory in bytes",
		wins: smallerWins, inert: true,
	},
	{name: "quorum-initial-group-size", by: byArgument, only: "quorum", takes: whole(1), inert: true},
	{
		name: "target-group-size", argument: "x-quorum-target-group-size", by: byAll, only: "quorum", takes: whole(1),
		what: "qq target count value", wins: largerWins, inert: true,
	},
	{
		name: "max-age", by: byArgument | byPolicy, only: "stream", takes: anyText, what: "max age",
		policy: values{kind: Text, check: age}, inert: true,
	},
	{
		name: "stream-max-segment-size-bytes", by: byArgument | byPolicy, only: "stream", takes: size(0),
		policy: size(1), what: "stream max segment size value", inert: true,
	},
	{
		name: "stream-filter-size-bytes", by: byArgument | byPolicy, only: "stream", takes: size(0),
		policy: within(16, 255),
		what:   "stream filter size value", inert: true,
	},
	{
		name: "initial-cluster-size", by: byArgument | byPolicy, only: "stream", takes: whole(0), policy: whole(1),
		what: "initial cluster size", inert: true,
	},
	{name: "alternate-exchange", by: byPolicy, takes: shortText, what: "alternate exchange name", exchanges: true},
	{name: "ha-mode", by: byPolicy, takes: anyText, what: "ha-mode", inert: true},
	{name: "ha-params", by: byPolicy, takes: values{kind: Any, check: anything}, what: "ha-params", inert: true},
	{name: "ha-sync-mode", by: byPolicy, takes: anyText, what: "ha-sync-mode", inert: true},
	{name: "ha-promote-on-shutdown", by: byPolicy, takes: anyText, what: "ha-promote-on-shutdown", inert: true},
	{name: "ha-promote-on-failure", by: byPolicy, takes: anyText, what: "ha-promote-on-failure", inert: true},
}

// markName is the setting by which a queue is marked as a dead-letter queue, or as none.
const markName = "dead-letter-queue"

// explained are the settings that queues run with.
var explained = table[:slices.IndexFunc(table, func(x setting) bool { return x.read == nil })]

// settingOfKey and settingOfArgument find settings by the names that policies and declarations have for them.
var settingOfKey, settingOfArgument = func() (keys, arguments map[string]*setting) {
	keys, arguments = map[string]*setting{}, map[string]*setting{}
	for i := range table {
		x := &table[i]
		if x.argument == "" {
			x.argument = "x-" + x.name
		}
		if x.policy.check == nil {
			x.policy = x.takes
		}
		if x.by&byPolicy != 0 {
			keys[x.name] = x
		}
		if x.by&byArgument != 0 {
			arguments[x.argument] = x
		}
	}
	return keys, arguments
}()

// IsQueueArgument reports whether queues know an argument, if only for RabbitMQ's sake.
func IsQueueArgument(name string) bool { return settingOfArgument[name] != nil }

// ArgumentsOf lists the arguments that queues of a type know, by name.
func ArgumentsOf(kind string) (names []string) {
	for name, x := range settingOfArgument {
		if x.only == "" || x.only == kind {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// aboutDeadLetters reports whether a setting is one of those that the option dlx-by-argument-only takes from
// policies.
func aboutDeadLetters(name string) bool {
	return strings.HasPrefix(name, "dead-letter-") && name != markName
}

// A rule says which of an argument, a policy and an operator policy wins. The values that it chooses from may be Void.
// Source: docs/compat/policies-and-permissions.md#5, #6.
type rule struct {
	text     string
	wins     string    // as Description.Wins
	none     string    // as Description.None
	order    [3]Source // of those that ask for the value in force, the one that is named
	policies func(user, operator amqp.Value) amqp.Value
	// all has the policies merged, and the operator's apart.
	all func(argument, merged, operator amqp.Value) amqp.Value
}

var (
	argumentFirst = [3]Source{FromArgument, FromOperator, FromPolicy}
	policyFirst   = [3]Source{FromOperator, FromPolicy, FromArgument}
	operatorFirst = [3]Source{FromOperator, FromArgument, FromPolicy}
)

const smaller = "the smaller value applies"

var (
	argumentWins = rule{"the argument overrides policies", "argument", "", argumentFirst, operatorOver, argumentOver}
	markWins     = rule{"the option dead-letter-queues overrides the argument, which overrides policies", "argument", "",
		[3]Source{FromOption, FromArgument, FromPolicy}, operatorOver, argumentOver}
	policyWins = rule{"policies override the argument", "policy", "", policyFirst, operatorOver,
		func(argument, merged, _ amqp.Value) amqp.Value { return firstOf(merged, argument) }}
	operatorWins = rule{"the operator policy overrides the argument, which overrides the policy", "operator policy", "",
		operatorFirst, operatorOver,
		func(argument, merged, operator amqp.Value) amqp.Value { return firstOf(operator, argument, merged) }}
	smallerWins         = rule{smaller, "smaller", "", argumentFirst, lesser, argumentAnd(lesser)}
	smallerOfPolicyWins = rule{smaller, "smaller", "", // of the policies, the operator's
		argumentFirst, operatorOver, argumentAnd(lesser)}
	largerWins   = rule{"the larger value applies", "larger", "", argumentFirst, larger, argumentAnd(larger)}
	retryMinWins = rule{"the larger policy value applies, or the argument if it is smaller", "smaller", "",
		argumentFirst, larger, argumentAnd(lesser)}
	limitWins = rule{"the smaller value applies, and a negative value means no limit", "smaller", "negative",
		argumentFirst, lesserLimit, argumentAnd(lesserLimit)}
	timeoutWins = rule{"the smaller value applies, and 0 means no timeout", "smaller", "zero",
		argumentFirst, operatorOver, argumentAnd(lesserTimeout)}
)

func operatorOver(user, operator amqp.Value) amqp.Value { return firstOf(operator, user) }

func argumentOver(argument, merged, _ amqp.Value) amqp.Value { return firstOf(argument, merged) }

func argumentAnd(choose func(a, b amqp.Value) amqp.Value) func(argument, merged, operator amqp.Value) amqp.Value {
	return func(argument, merged, _ amqp.Value) amqp.Value { return choose(argument, merged) }
}

// firstOf is the first value that is there.
func firstOf(all ...amqp.Value) amqp.Value {
	for _, a := range all {
		if !isVoid(a) {
			return a
		}
	}
	return amqp.Void()
}

// lesser is the smaller of two numbers, larger the larger one.
func lesser(a, b amqp.Value) amqp.Value { return ofTwo(a, b, func(n, m int64) bool { return m < n }) }

func larger(a, b amqp.Value) amqp.Value { return ofTwo(a, b, func(n, m int64) bool { return m > n }) }

// lesserLimit is the smaller of two limits: one that is negative gives way.
// Source: docs/compat/quorum-and-retry.md#1.
func lesserLimit(a, b amqp.Value) amqp.Value {
	return ofTwo(a, b, func(n, m int64) bool { return m < n && m >= 0 || n < 0 })
}

// lesserTimeout is the smaller of two timeouts: 0, which is none, gives way.
func lesserTimeout(a, b amqp.Value) amqp.Value {
	return ofTwo(a, b, func(n, m int64) bool { return m < n && m > 0 || n == 0 })
}

// ofTwo is b if a is no number, or if it is to be preferred to a; else a.
func ofTwo(a, b amqp.Value, second func(n, m int64) bool) amqp.Value {
	n, okA := a.Integer()
	m, okB := b.Integer()
	switch {
	case !okA && !okB:
		return amqp.Void()
	case !okB:
		return a
	case !okA || second(n, m):
		return b
	}
	return a
}

func isVoid(a amqp.Value) bool { return a.Kind == 0 || a.Kind == amqp.KindVoid }

// Effective merges a queue's arguments with its policies' definitions.
// Source: docs/compat/policies-and-permissions.md#6; for overflow docs/compat/differences.md#policies.
func Effective(arguments, user, operator amqp.Table, quorum bool, o *Options) Settings {
	s := Settings{
		TTL: -1, Expires: -1, MaxLength: -1, MaxLengthBytes: -1, DeliveryLimit: -1, CycleKeep: !o.TTLInLoops,
		ConsumerTimeout: o.ConsumerTimeout,
	}
	switch {
	case o.DeliveryLimit >= 0:
		s.DeliveryLimit = o.DeliveryLimit
	case quorum:
		s.DeliveryLimit = quorumDeliveryLimit
	}
	for i := range explained {
		x := &explained[i]
		if x.set == nil {
			continue
		}
		var a, p, q amqp.Value
		if x.by&byArgument != 0 {
			a, _ = arguments.Get(x.argument)
		}
		if !o.DLXByArgumentOnly || !aboutDeadLetters(x.name) {
			p, _ = user.Get(x.name)
			q, _ = operator.Get(x.name)
		}
		if a = x.wins.all(a, x.wins.policies(p, q), q); !isVoid(a) {
			x.set(&s, a)
		}
	}
	s.Counts = s.Counts || quorum || s.DeliveryLimit >= 0 || s.RetryType != RetryDisabled
	if quorum && s.Overflow == RejectPublishDLX {
		s.Overflow = DropHead
	}
	return s
}

// MergePolicies merges a user's and an operator's policy, key by key.
// Source: docs/compat/policies-and-permissions.md#5.
func MergePolicies(user, operator amqp.Table) amqp.Table {
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
		if x := settingOfKey[f.Name]; x != nil && x.wins.policies != nil {
			f.Value = x.wins.policies(merged[i].Value, f.Value)
		}
		merged[i] = f
	}
	return merged
}

// Inert lists the keys of a queue's policies that do nothing to it. A policy with such a key applies all the same.
// Source: docs/compat/policies-and-permissions.md#3.
func (o *Options) Inert(definition amqp.Table) (names []string) {
	for _, f := range definition {
		x := settingOfKey[f.Name]
		if x != nil && (x.inert || x.exchanges) || o.DLXByArgumentOnly && aboutDeadLetters(f.Name) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// How settings are read.

func numberFrom(least int64, read func(*Settings) int64) func(*Settings, *Subject) amqp.Value {
	return func(e *Settings, _ *Subject) amqp.Value {
		if n := read(e); n >= least {
			return amqp.Int64(n)
		}
		return amqp.Void()
	}
}

func wordOf(read func(*Settings) string) func(*Settings, *Subject) amqp.Value {
	return func(e *Settings, _ *Subject) amqp.Value { return amqp.String(read(e)) }
}

func wordIf(read func(*Settings) (string, bool)) func(*Settings, *Subject) amqp.Value {
	return func(e *Settings, _ *Subject) amqp.Value {
		if s, ok := read(e); ok {
			return amqp.String(s)
		}
		return amqp.Void()
	}
}

func either(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}
