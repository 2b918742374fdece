package sim

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// choices are the options that a vhost has if nothing is set, and those of the dialect that has its own.
var choices, apsara = amqp.Table{
	{Name: "lost-letters-max-bytes", Value: amqp.Int64(64 << 20)},
	{Name: "lost-letters-max-age", Value: amqp.Int64(7 * 24 * 3_600_000)},
	{Name: "consumer-timeout", Value: amqp.Int64(1_800_000)},
	{Name: "delivery-limit", Value: amqp.Int64(-1)},
	{Name: "hops-max", Value: amqp.Int64(0)},
	{Name: "death-total", Value: amqp.Bool(false)},
	{Name: "reject-reasons", Value: amqp.Bool(false)},
	{Name: "ttl-in-loops", Value: amqp.Bool(true)},
	{Name: "ttl-in-dlq", Value: amqp.Bool(true)},
	{Name: "dlx-by-argument-only", Value: amqp.Bool(false)},
	{Name: "strict-names", Value: amqp.Bool(false)},
	{Name: "dialect", Value: amqp.String("rabbitmq-4")},
}, amqp.Table{
	{Name: "delivery-limit", Value: amqp.Int64(16)},
	{Name: "hops-max", Value: amqp.Int64(16)},
	{Name: "death-total", Value: amqp.Bool(true)},
	{Name: "reject-reasons", Value: amqp.Bool(true)},
	{Name: "ttl-in-loops", Value: amqp.Bool(false)},
	{Name: "ttl-in-dlq", Value: amqp.Bool(false)},
	{Name: "dlx-by-argument-only", Value: amqp.Bool(true)},
	{Name: "strict-names", Value: amqp.Bool(true)},
}

// option is what holds: what is set, else what the dialect says, else what always holds.
func (l *ledger) option(name string) amqp.Value {
	if v, ok := l.options.Get(name); ok {
		return v
	}
	if d, ok := l.options.Get("dialect"); ok && d.Str == "apsaramq" {
		if v, ok := apsara.Get(name); ok {
			return v
		}
	}
	v, _ := choices.Get(name)
	return v
}

func (l *ledger) number(name string) int64 {
	n, _ := l.option(name).Integer()
	return n
}

func (l *ledger) truth(name string) bool {
	b, _ := l.option(name).Bool()
	return b
}

// checkConfigured compares new options with what was asked for.
func (w *world) checkConfigured(st *step, f *vhost.Fact) {
	want := map[string]amqp.Value{}
	for _, o := range w.live.options {
		want[o.Name] = o.Value
	}
	for _, o := range st.command.Definition.Arguments {
		if want[o.Name] = o.Value; o.Value.Kind == amqp.KindVoid {
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

// checkOptions makes sure that a machine runs with the options that the ledger knows.
func (w *world) checkOptions(l *ledger) {
	now, table := w.vhost.Reader().Options()
	byName := func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) }
	if got, want := slices.SortedFunc(slices.Values(table), byName), slices.SortedFunc(slices.Values(l.options), byName); !amqp.Table(got).Equal(want) {
		w.violate(Configured, "the options are %v, expected %v", got, want)
	}
	total, words := now.Dialect&vhost.DialectTotal != 0, now.Dialect&vhost.DialectReasons != 0
	same := now.LostLettersMaxBytes == l.number("lost-letters-max-bytes") && now.LostLettersMaxAge == l.number("lost-letters-max-age") &&
		now.ConsumerTimeout == l.number("consumer-timeout") && now.DeliveryLimit == l.number("delivery-limit") && now.HopsMax == l.number("hops-max") &&
		total == l.truth("death-total") && words == l.truth("reject-reasons") &&
		now.TTLInLoops == l.truth("ttl-in-loops") && now.TTLInDLQ == l.truth("ttl-in-dlq") &&
		now.DLXByArgumentOnly == l.truth("dlx-by-argument-only") && now.StrictNames == l.truth("strict-names")
	if !same {
		w.violate(Configured, "options %v lead to %+v", l.options, now)
	}
}
