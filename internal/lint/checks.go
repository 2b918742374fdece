package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// namedMax is how many keys or queues a text names.
	namedMax = 5
	// smallLength and smallBytes are limits that look like a mistake.
	smallLength, smallBytes = 10, 4096
)

// fate is what becomes of dead letters of a queue that find no place.
func (s *Analysis) fate(set *vhost.Settings) Param {
	switch {
	case set.AtLeastOnce:
		return Param{"fate", "held"}
	case s.options.LostLettersMaxBytes > 0:
		return Param{"fate", "shelf"}
	}
	return Param{"fate", "gone"}
}

// lostFate is that of dead letters that no queue holds.
func (s *Analysis) lostFate() Param { return s.fate(&vhost.Settings{}) }

func number(name string, n int64) Param { return Param{name, strconv.FormatInt(n, 10)} }

// named lists the first of some names.
func named(all []string) string {
	if len(all) > namedMax {
		return strings.Join(all[:namedMax], ", ") + ", …"
	}
	return strings.Join(all, ", ")
}

// deadLetters looks at where the dead letters of a queue go.
func (f *findings) deadLetters(i int, q *vhost.SnapshotQueue) {
	w, set := &f.ways[i], &q.Settings
	if !w.set {
		return
	}
	add := func(s Severity, code string, params ...Param) {
		params = append([]Param{{"dlx", set.DeadLetterExchange}}, params...)
		if f.dlxByPolicy(q) {
			params = append(params, Param{"policy", q.Policy})
		}
		f.add(s, code, "queue", q.Name, params...)
	}
	if w.missing {
		add(Error, "missing_dlx", f.fate(set))
		return
	}
	var lost, all []string
	leads := false
	for k, r := range w.reaches {
		all = append(all, w.shapes[k].text)
		reach := &f.reached[r]
		unknown := reach.none() && set.DeadLetterExchange == "" && w.shapes[k].kind != shapeExact
		leads = leads || !reach.none() || unknown
		if reach.none() && !unknown {
			lost = append(lost, w.shapes[k].text)
		}
	}
	switch {
	case !leads && w.own:
		add(Error, "no_binding_own_keys", Param{"keys", named(all)}, f.fate(set))
	case !leads:
		add(Error, "no_binding", Param{"key", set.DeadLetterRoutingKey}, f.fate(set))
	case lost != nil:
		add(Warning, "some_keys_unbound", Param{"keys", named(lost)}, f.fate(set))
	}
	x := f.exchange(set.DeadLetterExchange)
	if q.Durable && !x.Durable {
		add(Warning, "dlx_not_durable")
	}
	if x.AutoDelete {
		add(Warning, "dlx_auto_delete")
	}
}

// target looks at a queue to which dead letters of others come.
func (f *findings) target(i int, q *vhost.SnapshotQueue) {
	set, from := &q.Settings, &f.senders[i]
	if _, ok := from.all.but(i); !ok {
		return
	}
	add := func(s Severity, code string, from few, params ...Param) {
		f.add(s, code, "queue", q.Name, append(f.sources(from, i), params...)...)
	}
	f.full(i, q)
	keeps := f.roles[i] == RoleDeadLetter && !f.inLoop[i] // in a loop they are work
	if keeps && q.Consumers == 0 && set.TTL < 0 && set.Expires < 0 && !set.Limited() {
		severity, messages := grown(q)
		add(severity, "no_consumer", from.all, messages)
	}
	if set.Limited() && set.Overflow.DropsHead() && !hasDLX(set) && set.MaxLength != 0 && set.MaxLengthBytes != 0 {
		add(Note, "dlq_drops_head", from.all, limitOf(set))
	}
	if set.Expires >= 0 {
		add(Warning, "dlq_expires", from.all, number("ms", set.Expires))
	}
	if q.AutoDelete || q.Exclusive {
		add(Warning, "dlq_goes", from.all)
	}
	if _, ok := from.durable.but(i); ok && !q.Durable && !q.Exclusive {
		add(Warning, "dlq_not_durable", from.durable)
	}
	if set.TTL >= 0 && !f.options.TTLInDLQ {
		add(Note, "ttl_not_for_letters", from.all)
	}
}

// manyDead is how many messages make a warning of a dead-letter queue that nothing empties. With fewer it is a note:
// such a queue is how dead letters are kept until somebody handles them.
const manyDead = 1000

// grown is how severe it is that nothing empties a dead-letter queue, and how many messages it has.
func grown(q *vhost.SnapshotQueue) (Severity, Param) {
	n := q.Ready + q.Unacked + q.Waiting + q.Held
	severity := Note
	if n >= manyDead {
		severity = Warning
	}
	return severity, number("messages", int64(n))
}

// sourcesNamed is how many queues a finding names whose dead letters come to another.
const sourcesNamed = 3

// sources names the queues whose dead letters come to queue i: the first, and others if there are any.
func (f *findings) sources(from few, i int) []Param {
	all := from.butAll(i)
	params := []Param{{"source", f.Queues[all[0]].Name}}
	var also []string
	for n, other := range all[1:] {
		if n == sourcesNamed-1 {
			also = append(also, "…")
			break
		}
		also = append(also, f.Queues[other].Name)
	}
	if also != nil {
		params = append(params, Param{alsoParam, strings.Join(also, ", ")})
	}
	return params
}

// marked looks at a queue that is a dead-letter queue by its mark alone.
func (f *findings) marked(i int, q *vhost.SnapshotQueue) {
	set := &q.Settings
	if _, ok := f.senders[i].all.but(i); ok || set.DLQ != vhost.Marked {
		return
	}
	if q.Consumers == 0 && set.TTL < 0 && set.Expires < 0 && !set.Limited() {
		severity, messages := grown(q)
		f.add(severity, "marked_no_limit", "queue", q.Name, messages)
	}
	if set.Limited() && set.Overflow.DropsHead() && !hasDLX(set) && set.MaxLength != 0 && set.MaxLengthBytes != 0 {
		f.add(Note, "marked_drops_head", "queue", q.Name, limitOf(set))
	}
	if set.Expires >= 0 || q.AutoDelete || q.Exclusive {
		f.add(Warning, "marked_goes", "queue", q.Name)
	}
}

// marks looks for marks of queues that do not exist.
func (f *findings) marks() {
	for name := range f.options.Marks() {
		if _, there := f.queues[name]; !there {
			f.add(Note, "mark_unused", "queue", name)
		}
	}
}

// full looks whether a queue takes the dead letters that come.
func (f *findings) full(i int, q *vhost.SnapshotQueue) {
	set, from := &q.Settings, &f.senders[i]
	if !set.Limited() || set.Overflow.DropsHead() || set.PassesOn() || q.Type == "quorum" {
		return
	}
	_, held := from.holding.but(i)
	if stuck := q.Refuses && q.Consumers == 0 && set.TTL < 0; held && stuck {
		f.add(Error, "target_never_takes", "queue", q.Name, f.sources(from.holding, i)...)
		return
	}
	if sender, ok := from.all.but(i); ok && q.Refuses {
		fate := f.fate(&f.Queues[sender].Settings)
		f.add(Error, "target_full", "queue", q.Name, append(f.sources(from.all, i), fate)...)
	} else if _, ok := from.loose.but(i); ok {
		f.add(Warning, "target_refuses", "queue", q.Name, append(f.sources(from.loose, i), limitOf(set), f.lostFate())...)
	}
}

// limitOf tells the limits of a queue.
func limitOf(set *vhost.Settings) Param {
	var all []string
	if set.MaxLength >= 0 {
		all = append(all, fmt.Sprintf("max-length %d", set.MaxLength))
	}
	if set.MaxLengthBytes >= 0 {
		all = append(all, fmt.Sprintf("max-length-bytes %d", set.MaxLengthBytes))
	}
	return Param{"limit", strings.Join(all, ", ")}
}

// settings looks at what a queue runs with, by itself.
func (f *findings) settings(q *vhost.SnapshotQueue) {
	set := &q.Settings
	if !hasDLX(set) {
		f.withoutDLX(q)
	}
	small := set.MaxLength >= 0 && set.MaxLength <= smallLength || set.MaxLengthBytes >= 0 && set.MaxLengthBytes <= smallBytes
	switch {
	case set.MaxLength == 0 || set.MaxLengthBytes == 0:
		f.add(Error, "max_length_zero", "queue", q.Name)
	case small:
		f.add(Note, "max_length_small", "queue", q.Name, limitOf(set))
	}
	if hasDLX(set) && !set.AtLeastOnce && set.Limited() && set.Overflow == vhost.RejectPublish {
		f.add(Note, "reject_publish_at_most_once", "queue", q.Name, limitOf(set), f.lostFate())
	}
	switch {
	case set.RetryType == vhost.RetryDisabled:
	case set.RetryMin <= 0 && len(set.RetrySteps) == 0:
		f.add(Warning, "retry_without_wait", "queue", q.Name)
	case set.TTL >= 0:
		f.ladder(q)
	}
}

// withoutDLX looks at a queue that has no dead-letter exchange.
func (f *findings) withoutDLX(q *vhost.SnapshotQueue) {
	set := &q.Settings
	if set.TTL >= 0 {
		severity := Warning
		// the last station of dead letters, or nothing to be kept
		if i := f.queues[q.Name]; f.senders[i].all != (few{}) || set.DLQ == vhost.Marked || !q.Durable {
			severity = Note
		}
		f.add(severity, "ttl_without_dlx", "queue", q.Name, number("ms", set.TTL))
	}
	if set.DeliveryLimit >= 0 && (f.asksForLimit(q) || f.options.LostLettersMaxBytes == 0) {
		severity := Note // the lost store has them
		if f.options.LostLettersMaxBytes == 0 {
			severity = Warning
		}
		f.add(severity, "delivery_limit_without_dlx", "queue", q.Name, number("limit", set.DeliveryLimit), f.lostFate())
	}
	if hasDLRK(set) {
		f.add(Warning, "key_without_dlx", "queue", q.Name, Param{"policy", q.Policy})
	}
	if set.AtLeastOnce {
		f.add(Warning, "strategy_without_dlx", "queue", q.Name)
	}
}

// asksForLimit reports whether somebody has set a queue's delivery limit.
func (f *findings) asksForLimit(q *vhost.SnapshotQueue) bool {
	_, byArgument := q.Arguments.Get("x-delivery-limit")
	_, byUser := f.Rules.Definition(q.Policy, false).Get("delivery-limit")
	_, byOperator := f.Rules.Definition(q.OperatorPolicy, true).Get("delivery-limit")
	return byArgument || byUser || byOperator
}

// ladder looks whether messages live long enough to be tried as often as they may.
func (f *findings) ladder(q *vhost.SnapshotQueue) {
	set := &q.Settings
	attempts := set.ReturnLimit()
	if attempts < 0 {
		attempts = int64(max(len(set.RetrySteps), 1))
	}
	if sum := set.TotalWait(attempts); attempts > 0 && sum >= set.TTL {
		f.add(Warning, "ladder_outlives_ttl", "queue", q.Name, number("ms", set.TTL), number("attempts", attempts), number("ladder", sum))
	}
}

// arguments looks at what a queue was declared with.
func (f *findings) arguments(q *vhost.SnapshotQueue) {
	for _, a := range q.Arguments {
		if strings.HasPrefix(a.Name, "x-") && !settings.IsQueueArgument(a.Name) {
			f.add(Note, "unknown_argument", "queue", q.Name, Param{"argument", a.Name})
		}
	}
}

// circles looks at the ways on which dead letters come back.
func (f *findings) circles() {
	for i := range f.loops {
		l := &f.loops[i]
		first := &f.Queues[l.queues[0]]
		if len(l.queues) == 1 && f.covered(l.queues[0]) {
			f.add(Warning, "policy_covers_dlq", "queue", first.Name, Param{"policy", first.Policy})
			if l.kind == loopRejected {
				continue
			}
		}
		path := Param{"path", f.told(l)}
		ends := f.lostFate()
		if !slices.ContainsFunc(l.path, func(q int) bool { return !f.Queues[q].Settings.AtLeastOnce }) {
			ends = Param{"fate", "held"}
		}
		fate := ends
		if !slices.ContainsFunc(l.path, func(q int) bool { return !f.Queues[q].Settings.CycleKeep }) {
			fate = Param{"fate", "stay"}
		}
		switch l.kind {
		case loopExpired:
			severity := Warning // it depends on keys
			if l.sure {
				severity = Error
			}
			f.add(severity, "loop", "queue", first.Name, path, fate)
		case loopLimited:
			f.add(Warning, "loop_limited", "queue", first.Name, path, ends)
		case loopReturned:
			f.add(Warning, "loop_returned", "queue", first.Name, path, ends)
		default:
			f.add(Warning, "loop_with_rejection", "queue", first.Name, path)
		}
	}
}

// told is the way round, in words.
func (f *findings) told(l *loop) string {
	var b strings.Builder
	for i, q := range l.path[:min(len(l.path), 2*namedMax)] {
		b.WriteString(f.Queues[q].Name + " → ")
		if i < len(l.by) && l.by[i] != "" {
			b.WriteString("(" + l.by[i] + ") → ")
		}
	}
	if len(l.path) > 2*namedMax {
		b.WriteString("… → ")
	}
	return b.String() + f.Queues[l.path[0]].Name
}

// covered reports whether a queue has its dead-letter exchange by the policy that sends dead letters of others to it.
func (f *findings) covered(i int) bool {
	q := &f.Queues[i]
	if !f.dlxByPolicy(q) {
		return false
	}
	other, ok := f.senders[i].all.but(i)
	return ok && f.Queues[other].Policy == q.Policy
}

// dlxByPolicy reports whether a queue has its dead-letter exchange from its policy.
func (f *findings) dlxByPolicy(q *vhost.SnapshotQueue) bool {
	_, byPolicy := f.Rules.Definition(q.Policy, false).Get("dead-letter-exchange")
	_, byArgument := q.Arguments.Get("x-dead-letter-exchange")
	return q.Policy != "" && byPolicy && !byArgument
}

// exchanges looks at exchanges.
func (f *findings) exchanges() {
	for i := range f.Exchanges {
		x := &f.Exchanges[i]
		if x.Alternate != "" && f.exchange(x.Alternate) == nil {
			f.add(Warning, "missing_alternate", "exchange", x.Name, Param{"alternate", x.Alternate})
		}
		if x.Delayed && len(f.from[x.Name]) == 0 && (x.Alternate == "" || f.exchange(x.Alternate) == nil) {
			severity := Warning
			if x.Scheduled > 0 {
				severity = Error
			}
			f.add(severity, "delayed_without_bindings", "exchange", x.Name, number("messages", int64(x.Scheduled)))
		}
	}
}

// policies looks at policies that do nothing.
func (f *findings) policies() {
	subjects := make([]vhost.Subject, 0, len(f.Queues)+len(f.Exchanges))
	won := map[bool]map[string]bool{false: {}, true: {}} // policies that are in force, those of operators apart
	for i := range f.Queues {
		q := &f.Queues[i]
		subjects = append(subjects, vhost.Subject{Name: q.Name, Type: q.Type, Arguments: q.Arguments, Policy: q.Policy, OperatorPolicy: q.OperatorPolicy})
		won[false][q.Policy], won[true][q.OperatorPolicy] = true, true
	}
	for i := range f.Exchanges {
		if x := &f.Exchanges[i]; x.Name != "" {
			s := vhost.Subject{Name: x.Name, Type: x.Type, Exchange: true}
			s.Policy = f.Rules.InForce(&s, false)
			subjects = append(subjects, s)
			won[false][s.Policy] = true
		}
	}
	for _, operator := range []bool{false, true} {
		which := Param{"which", "user"}
		if operator {
			which.Value = "operator"
		}
		for p := range f.Rules.Policies(operator) {
			if _, names := p.Definition.Get("dead-letter-exchange"); names && f.options.DLXByArgumentOnly {
				f.add(Warning, "policy_dlx_ignored", "policy", p.Name)
			}
			switch i := slices.IndexFunc(subjects, func(s vhost.Subject) bool { return f.Rules.Matches(p.Name, operator, &s) }); {
			case won[operator][p.Name]:
			case p.ApplyTo == "streams":
				f.add(Note, "policy_for_streams", "policy", p.Name, which)
			case i < 0:
				f.add(Note, "policy_unused", "policy", p.Name, which)
			default:
				better := subjects[i].Policy
				if operator {
					better = subjects[i].OperatorPolicy
				}
				f.add(Warning, "policy_beaten", "policy", p.Name, which, Param{"object", subjects[i].Name}, Param{"policy", better})
			}
		}
	}
}
