package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Rules copies the rules in force.
func (r Reader) Rules() *Rules {
	return settings.NewRules(r.v.policies.Clone(), r.v.options)
}

// Subject shows the queue, or the exchange, of a name.
func (r Reader) Subject(name string, exchange bool) (s Subject, ok bool) {
	if !exchange {
		q := r.v.queueNamed(name)
		if q == nil {
			return s, false
		}
		return subjectOf(q), true
	}
	x := r.v.topo.Exchange(name)
	if x == nil {
		return s, false
	}
	return r.exchangeSubject(x.Name, x.Type(), x.Arguments), true
}

// Subjects is all queues, and all exchanges but the default one, that policies can be in force on. SubjectsSome copies
// them in portions. The zero value begins.
type Subjects struct {
	Rules  *Rules // as of the first portion
	copied [][]Subject
	after  fact.QueueID
	names  []string // of exchanges that are not copied yet
}

// SubjectsSome copies up to most queues and exchanges more, and reports whether there are others.
func (r Reader) SubjectsSome(to *Subjects, most int) (more bool) {
	if to.Rules == nil {
		to.Rules = r.Rules()
		for x := range r.v.topo.Exchanges() {
			if x.Name != "" {
				to.names = append(to.names, x.Name)
			}
		}
	}
	portion := make([]Subject, 0, most)
	defer func() { to.copied = append(to.copied, portion) }()
	for _, q := range r.v.behind(to.after) {
		if q.deleted || q.schedule != nil {
			continue
		}
		if len(portion) == most {
			return true
		}
		to.after = q.id
		portion = append(portion, subjectOf(q))
	}
	for ; len(to.names) > 0; to.names = to.names[1:] {
		if len(portion) == most {
			return true
		}
		if x := r.v.topo.Exchange(to.names[0]); x != nil {
			portion = append(portion, r.exchangeSubject(x.Name, x.Type(), x.Arguments))
		}
	}
	return false
}

// All lists what was copied, in no order: sorting is for who has time.
func (to *Subjects) All() []Subject { return slices.Concat(to.copied...) }

func subjectOf(q *queueState) Subject {
	m := q.messages
	return Subject{
		Name: q.object.Name, Type: q.object.Type, Arguments: q.object.Arguments,
		Policy: q.policy, OperatorPolicy: q.operator, Ready: m.Ready(), Waiting: m.Count(queue.Waiting),
		ReadyBytes: m.Bytes(queue.Ready), Bytes: q.countedBytes(queue.Gone),
	}
}

func (r Reader) exchangeSubject(name, kind string, arguments amqp.Table) Subject {
	s := Subject{Name: name, Type: kind, Arguments: arguments, Exchange: true}
	if name != "" {
		s.Policy = r.v.ruledBy[name]
	}
	return s
}

// Policies lists the policies of one kind, by name.
func (r Reader) Policies(operator bool) []Policy {
	var all []Policy
	for _, p := range r.v.policies.Of(operator) {
		all = append(all, p.Policy)
	}
	slices.SortFunc(all, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// PolicyOf names the policy that applies to an exchange, "" if none.
func (r Reader) PolicyOf(exchange string) string { return r.v.ruledBy[exchange] }
