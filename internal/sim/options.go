package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// checkConfigured compares new options with what was asked for.
func (w *world) checkConfigured(st *step, f *fact.Fact) {
	want := map[string]amqp.Value{}
	for _, o := range w.live.Options {
		want[o.Name] = o.Value
	}
	for _, o := range st.command.Definition.Arguments {
		v := o.Value
		if o.Name == "dead-letter-queues" {
			v = withMarks(want[o.Name], v)
		}
		if want[o.Name] = v; v.Kind == amqp.KindVoid {
			delete(want, o.Name)
		}
	}
	table := f.Object.Arguments
	for _, o := range table {
		if v, ok := want[o.Name]; !ok || !v.Equal(o.Value) {
			w.violate(Configured, "the option %q is %+v, expected %+v", o.Name, o.Value, v)
		}
		delete(want, o.Name)
	}
	if len(want) > 0 {
		w.violate(Configured, "options %v were set, and are not in %v", want, table)
	}
}

// withMarks is a table of marks of queues with others set over it; Void if there are none.
func withMarks(table, others amqp.Value) amqp.Value {
	if others.Kind == amqp.KindVoid {
		return others
	}
	marks := map[string]amqp.Value{}
	for _, f := range append(slices.Clone(table.Table), others.Table...) {
		if marks[f.Name] = f.Value; f.Value.Kind == amqp.KindVoid {
			delete(marks, f.Name)
		}
	}
	if len(marks) == 0 {
		return amqp.Void()
	}
	var all amqp.Table
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		all = append(all, amqp.Field{Name: name, Value: marks[name]})
	}
	return amqp.TableValue(all)
}

// checkOptions makes sure that a machine runs with the options that the ledger knows.
func (w *world) checkOptions(l *ledger.Ledger) {
	now, table := w.vhost.Reader().Options()
	byName := func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) }
	if got, want := slices.SortedFunc(slices.Values(table), byName), slices.SortedFunc(slices.Values(l.Options), byName); !amqp.Table(got).Equal(want) {
		w.violate(Configured, "the options are %v, expected %v", got, want)
	}
	total, words := now.Dialect&vhost.DialectTotal != 0, now.Dialect&vhost.DialectReasons != 0
	same := now.LostLettersMaxBytes == l.Number("lost-letters-max-bytes") && now.LostLettersMaxAge == l.Number("lost-letters-max-age") &&
		now.ConsumerTimeout == l.Number("consumer-timeout") && now.DeliveryLimit == l.Number("delivery-limit") && now.HopsMax == l.Number("hops-max") &&
		total == l.Truth("death-total") && words == l.Truth("reject-reasons") &&
		now.TTLInLoops == l.Truth("ttl-in-loops") && now.TTLInDLQ == l.Truth("ttl-in-dlq") &&
		now.DLXByArgumentOnly == l.Truth("dlx-by-argument-only") && now.StrictNames == l.Truth("strict-names")
	if !same {
		w.violate(Configured, "options %v lead to %+v", l.Options, now)
	}
}
