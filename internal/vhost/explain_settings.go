package vhost

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Source says where a setting comes from.
type Source uint8

// The sources.
const (
	FromDefault  Source = iota // nothing sets it
	FromOption                 // an option of the vhost
	FromArgument               // of the declaration
	FromPolicy
	FromOperator
)

// String names the source for people.
func (s Source) String() string {
	return [...]string{"default", "option", "argument", "policy", "operator policy"}[s]
}

// A Setting is one of the effective arguments that a queue or an exchange runs with, and where it comes from.
type Setting struct {
	Name   string     // as in policies; with x- before it, the argument's
	Value  amqp.Value // Void is none
	Source Source
	From   string // the policy's or the option's name
	Why    string
}

// Ignored is something that was asked for and does nothing.
type Ignored struct {
	Name   string
	Source Source
	From   string // the policy's name
	Why    string
}

// An explained setting: how it is read, and who wins where several set it.
type explained struct {
	name   string
	read   func(*Settings, *Subject) amqp.Value
	order  [3]Source // of those that ask for the value in force, the one that is named
	rule   string
	option string // what a vhost's option that sets a default is called
}

// Who wins. Source: reference policies-and-permissions 5, 6.
var (
	argumentFirst = [3]Source{FromArgument, FromOperator, FromPolicy}
	policyFirst   = [3]Source{FromOperator, FromPolicy, FromArgument}
	operatorFirst = [3]Source{FromOperator, FromArgument, FromPolicy}
)

const (
	ruleSmaller  = "the smaller value applies"
	ruleArgument = "the argument overrides policies"
	rulePolicy   = "policies override the argument"
	ruleOperator = "the operator policy overrides the argument, which overrides the policy"
	ruleLimit    = "the smaller value applies, and a negative value means no limit"
	ruleTimeout  = "the smaller value applies, and 0 means no timeout"
	ruleRetryMin = "the larger policy value applies, or the argument if it is smaller"
)

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

// queueSettings are those of queues, in the order in which they are told.
var queueSettings = []explained{
	{"dead-letter-exchange", wordIf((*Settings).DLX), argumentFirst, ruleArgument, ""},
	{"dead-letter-routing-key", wordIf((*Settings).DLRK), argumentFirst, ruleArgument, ""},
	{"dead-letter-strategy", wordOf(func(e *Settings) string { return either(e.AtLeastOnce, "at-least-once", "at-most-once") }), argumentFirst, ruleArgument, ""},
	{"message-ttl", numberFrom(0, func(e *Settings) int64 { return e.TTL }), argumentFirst, ruleSmaller, ""},
	{"expires", numberFrom(0, func(e *Settings) int64 { return e.Expires }), argumentFirst, ruleSmaller, ""},
	{"max-length", numberFrom(0, func(e *Settings) int64 { return e.MaxLength }), argumentFirst, ruleSmaller, ""},
	{"max-length-bytes", numberFrom(0, func(e *Settings) int64 { return e.MaxLengthBytes }), argumentFirst, ruleSmaller, ""},
	{"overflow", wordOf(func(e *Settings) string { return e.Overflow.String() }), operatorFirst, ruleOperator, ""},
	{"max-priority", func(_ *Settings, s *Subject) amqp.Value { return amqp.Int64(int64(priorityMax(&s.Object))) }, argumentFirst, ruleArgument, ""},
	{"delivery-limit", numberFrom(0, func(e *Settings) int64 { return e.DeliveryLimit }), argumentFirst, ruleLimit, "delivery-limit"},
	{"delivery-count-mode", wordOf(func(e *Settings) string { return either(e.CountFailed, "failed", "all") }), argumentFirst, ruleArgument, ""},
	{"delayed-retry-type", wordOf(func(e *Settings) string { return e.RetryType.String() }), policyFirst, rulePolicy, ""},
	{"delayed-retry-min", numberFrom(1, func(e *Settings) int64 { return e.RetryMin }), argumentFirst, ruleRetryMin, ""},
	{"delayed-retry-max", numberFrom(1, func(e *Settings) int64 { return e.RetryMax }), argumentFirst, ruleSmaller, ""},
	{"delayed-retry-backoff", wordOf(func(e *Settings) string { return e.RetryBackoff.String() }), policyFirst, rulePolicy, ""},
	{"delayed-retry-steps", wordIf(retrySteps), policyFirst, rulePolicy, ""},
	{"delayed-retry-jitter", numberFrom(0, func(e *Settings) int64 { return e.RetryJitter }), argumentFirst, ruleSmaller, ""},
	{"delayed-retry-attempts", numberFrom(1, func(e *Settings) int64 { return e.RetryAttempts }), argumentFirst, ruleSmaller, ""},
	{"consumer-timeout", numberFrom(0, func(e *Settings) int64 { return e.ConsumerTimeout }), argumentFirst, ruleTimeout, "consumer-timeout"},
	{"single-active-consumer", func(e *Settings, _ *Subject) amqp.Value { return amqp.Bool(e.SingleActive) }, argumentFirst, ruleArgument, ""},
	{"expiry", wordOf(func(e *Settings) string { return either(e.ExpiryHead, "head", "exact") }), policyFirst, rulePolicy, ""},
	{"cycle", wordOf(func(e *Settings) string { return either(e.CycleKeep, "keep", "shelf") }), policyFirst, rulePolicy, "ttl-in-loops"},
}

// String is the name of the overflow behaviour in arguments.
func (o Overflow) String() string {
	return [...]string{"drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"}[o]
}

// retrySteps writes the steps as arguments do.
func retrySteps(e *Settings) (string, bool) {
	steps := make([]string, len(e.RetrySteps))
	for i, ms := range e.RetrySteps {
		steps[i] = strconv.FormatInt(ms, 10) + "ms"
	}
	return strings.Join(steps, ","), len(steps) > 0
}

type namedValue struct {
	name  string
	value amqp.Value
}

// effective is what a queue runs with under these rules.
func (r *Rules) effective(s *Subject) Settings {
	return effective(s.Arguments, s.inForce(&r.policies, false).table(), s.inForce(&r.policies, true).table(), s.Type == "quorum", &r.options)
}

// valuesOf lists what s runs with, in an order that is always the same.
func (r *Rules) valuesOf(s *Subject) []namedValue {
	if s.Exchange {
		e := r.alternate(s)
		return []namedValue{{e.Name, e.Value}}
	}
	to := r.effective(s)
	all := make([]namedValue, len(queueSettings))
	for i := range queueSettings {
		all[i] = namedValue{queueSettings[i].name, queueSettings[i].read(&to, s)}
	}
	return all
}

// Explain tells what s runs with, and why.
func (r *Rules) Explain(s *Subject) []Setting {
	if s.Exchange {
		return []Setting{r.alternate(s)}
	}
	all := make([]Setting, len(queueSettings))
	for i := range queueSettings {
		all[i] = r.explain(&queueSettings[i], s)
	}
	return all
}

// alternate tells the alternate exchange of an exchange.
func (r *Rules) alternate(s *Subject) Setting {
	const key = "alternate-exchange"
	t := Setting{Name: key, Value: amqp.Void(), Why: "not set"}
	p := s.inForce(&r.policies, false)
	byPolicy, hasPolicy := p.table().Get(key)
	if a, ok := s.Arguments.Get(key); ok {
		t.Value, t.Source, t.Why = a, FromArgument, "no other source sets it"
		if hasPolicy {
			t.Why = fmt.Sprintf("%s; policy '%s' sets %s", ruleArgument, p.Name, show(byPolicy))
		}
	} else if hasPolicy {
		t.Value, t.Source, t.From, t.Why = byPolicy, FromPolicy, p.Name, "no other source sets it"
	}
	return t
}

// An offer is a value that somebody asks for.
type offer struct {
	source Source
	from   string
	asked  amqp.Value
	alone  amqp.Value // what would be in force if nobody else asked for anything
}

func (o *offer) String() string {
	if o.source == FromArgument {
		return "the argument sets " + show(o.asked)
	}
	return fmt.Sprintf("%s '%s' sets %s", o.source, o.from, show(o.asked))
}

func isVoid(a amqp.Value) bool { return a.Kind == 0 || a.Kind == amqp.KindVoid }

// lifts reports whether the offer is that there be no limit, which none in force comes from then.
func (o *offer) lifts() bool {
	n, ok := o.asked.Integer()
	return ok && n < 0
}

// offers lists who asks for a setting, in the order in which one of those that ask for the same is named.
func (r *Rules) offers(x *explained, s *Subject) []offer {
	var all []offer
	user, operator := s.inForce(&r.policies, false), s.inForce(&r.policies, true)
	add := func(source Source, from string, t amqp.Table, key string, alone func() Settings) {
		if asked, ok := t.Get(key); ok {
			e := alone()
			all = append(all, offer{source, from, asked, x.read(&e, s)})
		}
	}
	quorum := s.Type == "quorum"
	for _, source := range x.order {
		switch source {
		case FromArgument:
			add(source, "", s.Arguments, "x-"+x.name, func() Settings { return effective(s.Arguments, nil, nil, quorum, &r.options) })
		case FromPolicy:
			add(source, user.named(), user.table(), x.name, func() Settings { return effective(nil, user.table(), nil, quorum, &r.options) })
		case FromOperator:
			add(source, operator.named(), operator.table(), x.name, func() Settings { return effective(nil, nil, operator.table(), quorum, &r.options) })
		}
	}
	return all
}

// explain finds who asked for the value in force: the first of those who would have it in force alone.
func (r *Rules) explain(x *explained, s *Subject) Setting {
	to := r.effective(s)
	t := Setting{Name: x.name, Value: x.read(&to, s)}
	offers := r.offers(x, s)
	winner := slices.IndexFunc(offers, func(o offer) bool { return o.alone.Equal(t.Value) && (!isVoid(t.Value) || o.lifts()) })
	if winner < 0 {
		r.explainDefault(x, s, &t)
	} else {
		w := &offers[winner]
		t.Source, t.From, t.Why = w.source, w.from, "no other source sets it"
		if w.asked.Kind == amqp.KindString && w.asked.Str != t.Value.Str && x.name == "overflow" {
			t.Why = w.String() + ", which a quorum queue treats as " + t.Value.Str
		}
	}
	var others []string
	for i := range offers {
		if i != winner {
			others = append(others, offers[i].String())
		}
	}
	switch {
	case others == nil:
	case winner < 0 && r.options.DLXByArgumentOnly && strings.HasPrefix(x.name, "dead-letter-"):
		t.Why = "the option dlx-by-argument-only is on; " + strings.Join(others, ", ")
	case winner < 0:
		t.Why += "; " + strings.Join(others, ", ")
	default:
		t.Why = x.rule + "; " + strings.Join(others, ", ")
	}
	return t
}

// explainDefault tells an option's default from that of the product.
func (r *Rules) explainDefault(x *explained, s *Subject, t *Setting) {
	t.Why = "not set"
	untouched := optionsOf(nil)
	e := effective(nil, nil, nil, s.Type == "quorum", &untouched)
	if x.option != "" && !x.read(&e, s).Equal(t.Value) {
		t.Source, t.From, t.Why = FromOption, x.option, "set by a virtual host option or the dialect"
	}
}

// emptyArguments are the arguments that are accepted for RabbitMQ's sake, and do nothing.
var emptyArguments = []string{
	"x-queue-mode", "x-queue-version", "x-queue-master-locator", "x-queue-leader-locator", "x-max-in-memory-length",
	"x-max-in-memory-bytes", "x-quorum-initial-group-size", "x-quorum-target-group-size", "x-consumer-disconnected-timeout",
}

// Ignored lists what a queue or its policies ask for, and what does nothing.
func (r *Rules) Ignored(s *Subject) []Ignored {
	var all []Ignored
	if s.Exchange {
		return nil
	}
	for _, f := range s.Arguments {
		if _, known := queueArguments[f.Name]; !known {
			all = append(all, Ignored{f.Name, FromArgument, "", "unknown argument"})
		} else if slices.Contains(emptyArguments, f.Name) {
			all = append(all, Ignored{f.Name, FromArgument, "", "accepted for compatibility with RabbitMQ, no effect"})
		}
	}
	to := r.effective(s)
	for _, operator := range []bool{false, true} {
		p, source := s.inForce(&r.policies, operator), FromPolicy
		if operator {
			source = FromOperator
		}
		for _, key := range r.options.inert(p.table()) {
			why := "no effect on queues"
			if strings.HasPrefix(key, "dead-letter-") {
				why = "the option dlx-by-argument-only is on"
			}
			all = append(all, Ignored{key, source, p.named(), why})
		}
		if _, has := p.table().Get("dead-letter-routing-key"); has && !to.hasDLX {
			all = append(all, Ignored{"dead-letter-routing-key", source, p.named(), "there is no dead-letter exchange"})
		}
	}
	return all
}
