package settings

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/duration"
)

// Options are the choices that hold for a whole vhost. Source: ours, docs/compat/differences.md#dialects;
// docs/compat/dead-lettering.md#15.
type Options struct {
	LostLettersMaxBytes int64 // in the lost store, records and slips; 0: there is no lost store
	LostLettersMaxAge   int64 // ms
	ConsumerTimeout     int64 // ms that a delivery may stay unsettled where no queue or consumer says otherwise, 0: for ever

	Sync Sync // when publishers and consumers are told that something is safe

	Dialect Dialect // how deaths are told

	DeliveryLimit     int64 // of queues that set none, -1: what their type says
	HopsMax           int64 // deaths after which a message has no TTL any more, 0: it always has
	TTLInLoops        bool  // what comes round in a cycle of deaths is lost; else it stays where it is, without TTL
	TTLInDLQ          bool  // a queue's TTL holds for dead letters too
	DLXByArgumentOnly bool  // policies name no dead-letter exchange or key
	StrictNames       bool  // queue names have letters, digits and -_.#/@ only
	ClientDeathsCount bool  // an x-death header of a publisher is the message's history
	KeyTakesCC        bool  // a dead-letter key takes the CC header away

	// marks are queues that were marked as dead-letter queues, by name, or as none. The map is never changed.
	marks map[string]Mark
}

// Apply is what a queue of that name runs with, if s is what its arguments and policies lead to: its mark overrides
// both.
func (o *Options) Apply(name string, s Settings) Settings {
	if m := o.marks[name]; m != Unmarked {
		s.DLQ = m
	}
	return s
}

// Marks lists the queues that the option marks, in no order.
func (o *Options) Marks() iter.Seq2[string, Mark] { return maps.All(o.marks) }

// MarkOf is the mark of a queue of that name by the option.
func (o *Options) MarkOf(name string) Mark { return o.marks[name] }

// Sync says what "safe" means: what has to be so before a confirm, or anything else that depends on what was decided,
// is let go. Source: ours, docs/durability.md.
type Sync uint8

const (
	// SyncDefault leaves it to the broker.
	SyncDefault Sync = iota
	// SyncAlways: it is on the disk, and survives a loss of power.
	SyncAlways
	// SyncInterval: it was handed to the system, and is on the disk a little later.
	SyncInterval
	// SyncNever: it was handed to the system, which brings it to the disk in its own time.
	SyncNever
)

// syncNames are the values of the option, in the order of the constants.
var syncNames = []string{"default", "always", "interval", "never"}

func (s Sync) String() string { return syncNames[s] }

// ParseSync reads a name; ok reports whether it is one.
func ParseSync(name string) (s Sync, ok bool) {
	i := slices.Index(syncNames, name)
	return Sync(max(i, 0)), i >= 0
}

// Dialect says how the deaths of a message are told to consumers, as flags. Zero is RabbitMQ 4.x.
type Dialect uint8

const (
	// Dialect3 is that of RabbitMQ up to 3.12: no x-last-death-*, fields in its order.
	Dialect3 Dialect = 1 << iota
	// DialectTotal adds x-death-total. Source: ApsaraMQ.
	DialectTotal
	// DialectReasons tells nack from reject, and words the limit as ApsaraMQ does.
	DialectReasons
)

// choice is one entry of the table that SetOptions changes.
type choice struct {
	name  string
	takes values
	what  string
	set   func(*Options, amqp.Value)
}

func Whole(a amqp.Value) int64 {
	n, _ := a.Integer()
	return n
}

func truth(a amqp.Value) bool {
	b, _ := a.Bool()
	return b
}

func (d *Dialect) put(flag Dialect, on bool) {
	if *d &^= flag; on {
		*d |= flag
	}
}

// choices lists what can be chosen. "dialect" comes first: the others refine it.
var choices = []choice{
	{"dialect", oneOf("invalid", "rabbitmq-4", "rabbitmq-3", "apsaramq"), "dialect: rabbitmq-4, rabbitmq-3 or apsaramq", speak},
	{"lost-letters-max-bytes", size(0), "number of bytes", func(o *Options, a amqp.Value) { o.LostLettersMaxBytes = Whole(a) }},
	{"lost-letters-max-age", lasting(1), "number of milliseconds, or text with a unit, such as 7d", func(o *Options, a amqp.Value) { o.LostLettersMaxAge = Whole(a) }},
	{"consumer-timeout", lasting(0), "number of milliseconds, or text with a unit, such as 30m", func(o *Options, a amqp.Value) { o.ConsumerTimeout = Whole(a) }},
	{"sync", oneOf("invalid", syncNames...), "sync mode: default, always, interval or never", func(o *Options, a amqp.Value) { o.Sync, _ = ParseSync(a.Str) }},
	{"death-total", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.Dialect.put(DialectTotal, truth(a)) }},
	{"reject-reasons", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.Dialect.put(DialectReasons, truth(a)) }},
	{"delivery-limit", within(-1, math.MaxInt64), "delivery limit", func(o *Options, a amqp.Value) { o.DeliveryLimit = Whole(a) }},
	{"hops-max", whole(0), "number of deaths", func(o *Options, a amqp.Value) { o.HopsMax = Whole(a) }},
	{"ttl-in-loops", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.TTLInLoops = truth(a) }},
	{"ttl-in-dlq", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.TTLInDLQ = truth(a) }},
	{"dlx-by-argument-only", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.DLXByArgumentOnly = truth(a) }},
	{"strict-names", flag, "boolean, true or false", func(o *Options, a amqp.Value) { o.StrictNames = truth(a) }},
	{marksName, marks, "table of names of queues with true or false", readMarks},
}

// marksName is the option that marks queues by their names. A change of it concerns the queues that it names, and no
// others.
const marksName = "dead-letter-queues"

// readMarks reads the option.
func readMarks(o *Options, a amqp.Value) {
	for _, f := range a.Table {
		if o.marks == nil {
			o.marks = make(map[string]Mark, len(a.Table))
		}
		o.marks[f.Name] = markOf(truth(f.Value))
	}
}

// withMarks returns the value of the option with others set over it; Void takes one away. Void is no mark at all.
func withMarks(table, others amqp.Value) (amqp.Value, *amqp.Error) {
	all := slices.Clone(table.Table)
	for _, f := range others.Table {
		all = slices.DeleteFunc(all, func(o amqp.Field) bool { return o.Name == f.Name })
		if f.Value.Kind != amqp.KindVoid {
			all = append(all, f)
		}
	}
	switch {
	case len(all) == 0:
		return amqp.Void(), nil
	case len(all) > marksMax && len(all) > len(table.Table):
		return table, amqp.PreconditionFailed("the option '%s' may name %d queues, and would name %d", marksName, marksMax, len(all))
	}
	slices.SortFunc(all, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
	return amqp.TableValue(all), nil
}

// OnlyMarks reports whether two tables of options differ in marks of queues alone.
func OnlyMarks(a, b amqp.Table) bool {
	return slices.EqualFunc(withoutMarks(a), withoutMarks(b), func(x, y amqp.Field) bool {
		return x.Name == y.Name && x.Value.Equal(y.Value)
	})
}

func withoutMarks(options amqp.Table) amqp.Table {
	return slices.DeleteFunc(slices.Clone(options), func(f amqp.Field) bool { return f.Name == marksName })
}

// speak sets what a dialect says of everything. Source: docs/compat/dead-lettering.md#4 to #8, #15.
func speak(o *Options, a amqp.Value) {
	switch a.Str {
	case "rabbitmq-3":
		o.Dialect |= Dialect3
		o.ClientDeathsCount, o.KeyTakesCC = true, true
	case "apsaramq":
		o.Dialect |= DialectTotal | DialectReasons
		o.DeliveryLimit, o.HopsMax = apsaraReturnsMax, apsaraHopsMax
		o.TTLInLoops, o.TTLInDLQ = false, false
		o.DLXByArgumentOnly, o.StrictNames = true, true
	}
}

// WithOptions returns a table of options with others set over it; Void takes one away. Of the marks of queues, those
// that are named are set over the others.
func WithOptions(table, others amqp.Table) (amqp.Table, *amqp.Error) {
	table = slices.Clone(table)
	for _, f := range others {
		i := slices.IndexFunc(choices, func(o choice) bool { return o.name == f.Name })
		switch {
		case i < 0:
			return nil, amqp.PreconditionFailed("'%s' is not an option of a virtual host", f.Name)
		case f.Value.Kind != amqp.KindVoid && f.Name == marksName && queueMarks(f.Value) != "":
			return nil, amqp.PreconditionFailed("the option '%s' %s", f.Name, queueMarks(f.Value))
		case choices[i].takes.kind == Duration && text(f.Value) == "":
			ms, err := duration.Milliseconds(f.Value.Str)
			if err != nil {
				return nil, amqp.PreconditionFailed("the option '%s': %v", f.Name, err)
			}
			f.Value = amqp.Int64(ms)
		}
		switch {
		case f.Value.Kind != amqp.KindVoid && choices[i].takes.check(f.Value) != "":
			return nil, amqp.PreconditionFailed("%s is not a valid value of the option '%s': it is a %s", Show(f.Value), f.Name,
				choices[i].what)
		}
		if before, _ := table.Get(f.Name); f.Name == marksName && f.Value.Kind != amqp.KindVoid {
			var err *amqp.Error
			if f.Value, err = withMarks(before, f.Value); err != nil {
				return nil, err
			}
		}
		table = slices.DeleteFunc(table, func(o amqp.Field) bool { return o.Name == f.Name })
		if f.Value.Kind != amqp.KindVoid {
			table = append(table, f)
		}
	}
	slices.SortFunc(table, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
	return table, nil
}

// OptionsOf reads a table that was checked.
func OptionsOf(t amqp.Table) Options {
	o := Options{
		LostLettersMaxBytes: LostLettersBytesMax, LostLettersMaxAge: LostLettersAgeMax, ConsumerTimeout: ConsumerTimeoutMax,
		DeliveryLimit: -1, TTLInLoops: true, TTLInDLQ: true,
	}
	for i := range choices {
		if a, ok := t.Get(choices[i].name); ok {
			choices[i].set(&o, a)
		}
	}
	return o
}

// OptionNames lists what SetOptions takes.
func OptionNames() []string {
	names := make([]string, len(choices))
	for i := range choices {
		names[i] = choices[i].name
	}
	return names
}
