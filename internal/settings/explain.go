package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/duration"
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

// retrySteps writes the steps as arguments do: 1m,5m,15m.
func retrySteps(e *Settings) (string, bool) {
	steps := make([]string, len(e.RetrySteps))
	for i, ms := range e.RetrySteps {
		steps[i] = duration.Text(ms)
	}
	return strings.Join(steps, ","), len(steps) > 0
}

type namedValue struct {
	name  string
	value amqp.Value
}

// effective is what a queue runs with under these rules.
func (r *Rules) effective(s *Subject) Settings {
	user, operator := s.InForce(&r.policies, false).Table(), s.InForce(&r.policies, true).Table()
	return r.options.Apply(s.Name, Effective(s.Arguments, user, operator, s.Type == "quorum", &r.options))
}

// valuesOf lists what s runs with, in an order that is always the same.
func (r *Rules) valuesOf(s *Subject) []namedValue {
	if s.Exchange {
		e := r.alternate(s)
		return []namedValue{{e.Name, e.Value}}
	}
	to := r.effective(s)
	all := make([]namedValue, len(explained))
	for i := range explained {
		all[i] = namedValue{explained[i].name, explained[i].read(&to, s)}
	}
	return all
}

// Explain tells what s runs with, and why.
func (r *Rules) Explain(s *Subject) []Setting {
	if s.Exchange {
		return []Setting{r.alternate(s)}
	}
	all := make([]Setting, len(explained))
	for i := range explained {
		all[i] = r.explain(&explained[i], s)
	}
	return all
}

// alternate tells the alternate exchange of an exchange.
func (r *Rules) alternate(s *Subject) Setting {
	const key = "alternate-exchange"
	t := Setting{Name: key, Value: amqp.Void(), Why: "not set"}
	p := s.InForce(&r.policies, false)
	byPolicy, hasPolicy := p.Table().Get(key)
	if a, ok := s.Arguments.Get(key); ok {
		t.Value, t.Source, t.Why = a, FromArgument, "no other source sets it"
		if hasPolicy {
			t.Why = fmt.Sprintf("%s; policy '%s' sets %s", argumentWins.text, p.Name, showAs(key, byPolicy))
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

// of is the offer in words; name is that of the setting.
func (o *offer) of(name string) string {
	if o.source == FromArgument {
		return "the argument sets " + showAs(name, o.asked)
	}
	return fmt.Sprintf("%s '%s' sets %s", o.source, o.from, showAs(name, o.asked))
}

// showAs is Show for a sentence about a setting, which would end without a word for an empty text.
func showAs(name string, a amqp.Value) string {
	if s := Show(a); s != "" {
		return s
	}
	if strings.HasSuffix(name, "-exchange") {
		return "the default exchange"
	}
	return "an empty text"
}

// lifts reports whether the offer is that there be no limit, which none in force comes from then.
func (o *offer) lifts() bool {
	n, ok := o.asked.Integer()
	return ok && n < 0
}

// offers lists who asks for a setting, in the order in which one of those that ask for the same is named.
func (r *Rules) offers(x *setting, s *Subject) []offer {
	var all []offer
	user, operator := s.InForce(&r.policies, false), s.InForce(&r.policies, true)
	add := func(source Source, from string, t amqp.Table, key string, alone func() Settings) {
		if asked, ok := t.Get(key); ok {
			e := alone()
			all = append(all, offer{source, from, asked, x.read(&e, s)})
		}
	}
	quorum := s.Type == "quorum"
	for _, source := range x.wins.order {
		switch source {
		case FromOption:
			if m := r.options.MarkOf(s.Name); m != Unmarked {
				all = append(all, offer{source, marksName, amqp.Bool(m == Marked), amqp.Bool(m == Marked)})
			}
		case FromArgument:
			add(source, "", s.Arguments, x.argument, func() Settings { return Effective(s.Arguments, nil, nil, quorum, &r.options) })
		case FromPolicy:
			add(source, user.Named(), user.Table(), x.name, func() Settings { return Effective(nil, user.Table(), nil, quorum, &r.options) })
		case FromOperator:
			add(source, operator.Named(), operator.Table(), x.name, func() Settings { return Effective(nil, nil, operator.Table(), quorum, &r.options) })
		}
	}
	return all
}

// explain finds who asked for the value in force: the first of those who would have it in force alone.
func (r *Rules) explain(x *setting, s *Subject) Setting {
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
			t.Why = w.of(x.name) + ", which a quorum queue treats as " + t.Value.Str
		}
	}
	var others []string
	for i := range offers {
		if i != winner {
			others = append(others, offers[i].of(x.name))
		}
	}
	switch {
	case others == nil:
	case winner < 0 && r.options.DLXByArgumentOnly && aboutDeadLetters(x.name):
		t.Why = "the option dlx-by-argument-only is on; " + strings.Join(others, ", ")
	case winner < 0:
		t.Why += "; " + strings.Join(others, ", ")
	default:
		t.Why = x.wins.text + "; " + strings.Join(others, ", ")
	}
	return t
}

// explainDefault tells an option's default from that of the product.
func (r *Rules) explainDefault(x *setting, s *Subject, t *Setting) {
	t.Why = "not set"
	untouched := OptionsOf(nil)
	e := Effective(nil, nil, nil, s.Type == "quorum", &untouched)
	if x.option != "" && !x.read(&e, s).Equal(t.Value) {
		t.Source, t.From, t.Why = FromOption, x.option, "set by a virtual host option or the dialect"
	}
}

// keyAlone reports whether p sets a dead-letter routing key, which has no effect: the queue, whose settings are to, has
// no dead-letter exchange.
func (p *PolicyEntry) keyAlone(to *Settings) bool {
	_, keyed := p.Table().Get("dead-letter-routing-key")
	return keyed && !to.HasDLX
}

// Ignored lists what a queue or its policies ask for, and what does nothing.
func (r *Rules) Ignored(s *Subject) []Ignored {
	var all []Ignored
	if s.Exchange {
		return nil
	}
	for _, f := range s.Arguments {
		switch x := settingOfArgument[f.Name]; {
		case x == nil:
			all = append(all, Ignored{f.Name, FromArgument, "", "unknown argument"})
		case x.inert:
			all = append(all, Ignored{f.Name, FromArgument, "", "accepted for compatibility with RabbitMQ, no effect"})
		}
	}
	to := r.effective(s)
	for _, operator := range []bool{false, true} {
		p, source := s.InForce(&r.policies, operator), FromPolicy
		if operator {
			source = FromOperator
		}
		for _, key := range r.options.Inert(p.Table()) {
			why := "no effect on queues"
			if aboutDeadLetters(key) {
				why = "the option dlx-by-argument-only is on"
			}
			all = append(all, Ignored{key, source, p.Named(), why})
		}
		if p.keyAlone(&to) {
			all = append(all, Ignored{"dead-letter-routing-key", source, p.Named(), "there is no dead-letter exchange"})
		}
	}
	return all
}
