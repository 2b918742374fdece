package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
)

// Options are the choices that hold for a whole vhost. Source: ours, design §5; reference dead-lettering 15.
type Options struct {
	LostLettersMaxBytes int64 // on the shelf, records and slips; 0: there is no shelf
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
	clientDeathsCount bool  // an x-death header of a publisher is the message's history
	keyTakesCC        bool  // a dead-letter key takes the CC header away
}

// Sync says what "safe" means: what has to be so before a confirm, or anything else that depends on what was decided, is
// let go. Source: ours, docs/durability.md.
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
	valid func(amqp.Value) bool
	what  string
	set   func(*Options, amqp.Value)
}

func whole(a amqp.Value) int64 {
	n, _ := a.Integer()
	return n
}

func truth(a amqp.Value) bool {
	b, _ := a.Bool()
	return b
}

func isBool(a amqp.Value) bool { return a.Kind == amqp.KindBool }

func (d *Dialect) put(flag Dialect, on bool) {
	if *d &^= flag; on {
		*d |= flag
	}
}

// choices lists what can be chosen. "dialect" comes first: the others refine it.
var choices = []choice{
	{"dialect", oneOf("rabbitmq-4", "rabbitmq-3", "apsaramq"), "dialect: rabbitmq-4, rabbitmq-3 or apsaramq", speak},
	{"lost-letters-max-bytes", atLeast(0), "number of bytes", func(o *Options, a amqp.Value) { o.LostLettersMaxBytes = whole(a) }},
	{"lost-letters-max-age", lasting(1), "number of milliseconds", func(o *Options, a amqp.Value) { o.LostLettersMaxAge = whole(a) }},
	{"consumer-timeout", lasting(0), "number of milliseconds", func(o *Options, a amqp.Value) { o.ConsumerTimeout = whole(a) }},
	{"sync", oneOf(syncNames...), "way to sync: default, always, interval or never", func(o *Options, a amqp.Value) { o.Sync, _ = ParseSync(a.Str) }},
	{"death-total", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.Dialect.put(DialectTotal, truth(a)) }},
	{"reject-reasons", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.Dialect.put(DialectReasons, truth(a)) }},
	{"delivery-limit", atLeast(-1), "delivery limit", func(o *Options, a amqp.Value) { o.DeliveryLimit = whole(a) }},
	{"hops-max", atLeast(0), "number of deaths", func(o *Options, a amqp.Value) { o.HopsMax = whole(a) }},
	{"ttl-in-loops", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.TTLInLoops = truth(a) }},
	{"ttl-in-dlq", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.TTLInDLQ = truth(a) }},
	{"dlx-by-argument-only", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.DLXByArgumentOnly = truth(a) }},
	{"strict-names", isBool, "boolean, true or false", func(o *Options, a amqp.Value) { o.StrictNames = truth(a) }},
}

// speak sets what a dialect says of everything. Source: reference dead-lettering 4 to 8, 15.
func speak(o *Options, a amqp.Value) {
	switch a.Str {
	case "rabbitmq-3":
		o.Dialect |= Dialect3
		o.clientDeathsCount, o.keyTakesCC = true, true
	case "apsaramq":
		o.Dialect |= DialectTotal | DialectReasons
		o.DeliveryLimit, o.HopsMax = apsaraReturnsMax, apsaraHopsMax
		o.TTLInLoops, o.TTLInDLQ = false, false
		o.DLXByArgumentOnly, o.StrictNames = true, true
	}
}

// optionsOf reads a table that was checked.
func optionsOf(t amqp.Table) Options {
	o := Options{
		LostLettersMaxBytes: shelfBytesMax, LostLettersMaxAge: shelfAgeMax, ConsumerTimeout: consumerTimeoutMax,
		DeliveryLimit: -1, TTLInLoops: true, TTLInDLQ: true,
	}
	for i := range choices {
		if a, ok := t.Get(choices[i].name); ok {
			choices[i].set(&o, a)
		}
	}
	return o
}

// setOptions decides SetOptions.
func (v *VHost) setOptions(s *Stamp, c *Command, out *Outcome) *amqp.Error {
	table := slices.Clone(v.optionTable)
	for _, f := range c.Definition.Arguments {
		i := slices.IndexFunc(choices, func(o choice) bool { return o.name == f.Name })
		switch {
		case i < 0:
			return amqp.PreconditionFailed("'%s' is not an option of a virtual host", f.Name)
		case f.Value.Kind != amqp.KindVoid && !choices[i].valid(f.Value):
			return amqp.PreconditionFailed("%s is not a valid value of the option '%s': it is a %s", show(f.Value), f.Name, choices[i].what)
		}
		table = slices.DeleteFunc(table, func(o amqp.Field) bool { return o.Name == f.Name })
		if f.Value.Kind != amqp.KindVoid {
			table = append(table, f)
		}
	}
	slices.SortFunc(table, func(a, b amqp.Field) int { return strings.Compare(a.Name, b.Name) })
	v.changeRules(s, c, &Fact{Kind: Configured, Durable: true, Object: &Object{Arguments: table}}, out)
	v.touch(v.shelf, 0)
	return nil
}

// configured folds the vhost's options.
func (v *VHost) configured(table amqp.Table) {
	before := v.options.LostLettersMaxAge
	v.optionTable, v.options = table, optionsOf(table)
	if by := v.options.LostLettersMaxAge - before; by != 0 {
		v.age(by)
	}
	v.shelf.settings.MaxLengthBytes = v.options.LostLettersMaxBytes
	v.applyPolicies()
}

// age moves the deadlines of all lost letters, whose life has become longer by so many ms.
func (v *VHost) age(by int64) {
	v.shelf.messages.Each(0, func(at queue.Seq, _ *queue.Entry) bool {
		e := v.shelf.messages.Change(at)
		e.ExpireAt = max(e.ExpireAt+deadline.Instant(by), 1)
		v.schedule(v.shelf, at, e)
		return true
	})
}

// strictName reports whether a queue may have that name where names are strict. Source: reference dead-lettering 15.
func strictName(name string) bool {
	return len(name) > 0 && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.#/@", r))
	}) < 0
}

// Options shows what the vhost runs with, and the table that was set, which is shared: do not change it.
func (v *VHost) Options() (Options, amqp.Table) { return v.options, v.optionTable }

// Sync is when the vhost's log is synced.
func (v *VHost) Sync() Sync { return v.options.Sync }

// OptionNames lists what SetOptions takes.
func OptionNames() []string {
	names := make([]string, len(choices))
	for i := range choices {
		names[i] = choices[i].name
	}
	return names
}
