package topology

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// ExchangeKind is the type of an exchange: how it compares messages with bindings. Zero is none.
type ExchangeKind uint8

// The kinds of exchange. The numbers are kept on disk and never change their meaning.
const (
	Direct         ExchangeKind = iota + 1 // binding key equals a routing key, octet by octet
	Fanout                                 // every binding
	Topic                                  // binding key is a pattern of words: * is one, # is none or more
	Headers                                // binding arguments are compared with the message's headers
	ConsistentHash                         // one destination by a hash of the message, in proportion to the binding keys
	ModulusHash                            // one binding by a hash of the routing keys
	Random                                 // one binding by chance
	LocalRandom                            // likewise, on the publisher's node
	RecentHistory                          // every binding; a new binding is given the newest messages too, by the owner
)

// kind is what tells one kind of exchange from another.
type kind struct {
	name    string
	about   string                    // what lists of types say of it, in RabbitMQ's words
	plugin  string                    // of RabbitMQ, that brings it; "" if none does
	declare func(x Exchange) error    // what an exchange must obey; nil if anything goes
	check   func(b Binding) error     // what a binding must obey; nil if anything goes
	index   func(x *Exchange) matcher // the matcher of a new exchange
}

var kinds = [...]kind{
	Direct:  {name: "direct", about: "AMQP direct exchange, as per the AMQP specification", index: newDirect},
	Fanout:  {name: "fanout", about: "AMQP fanout exchange, as per the AMQP specification", index: newFanout},
	Topic:   {name: "topic", about: "AMQP topic exchange, as per the AMQP specification", index: newTopic},
	Headers: {name: "headers", about: "AMQP headers exchange, as per the AMQP specification", check: checkHeadersBinding, index: newHeaders},
	ConsistentHash: {
		name: "x-consistent-hash", about: "Consistent Hashing Exchange", plugin: "rabbitmq_consistent_hash_exchange",
		declare: checkConsistentHash, check: checkPoints, index: newConsistentHash,
	},
	ModulusHash: {name: "x-modulus-hash", about: "Modulus Hashing Exchange", index: newModulusHash},
	Random: {
		name: "x-random", about: "Randomly picks a binding (queue) to route via (to).", plugin: "rabbitmq_random_exchange", index: newRandom,
	},
	LocalRandom: {
		name: "x-local-random", about: "Picks one random local binding (queue) to route via (to).", check: checkLocalBinding, index: newRandom,
	},
	RecentHistory: {
		name: "x-recent-history", about: "Recent History Exchange.", plugin: "rabbitmq_recent_history_exchange",
		declare: checkRecentHistory, index: newRecentHistory,
	},
}

// matcher finds the bindings of one exchange that a message satisfies.
type matcher interface {
	add(b *binding)
	remove(gone bindingList) (moved int) // takes bindings out, and tells how many entries of lists that has moved
	match(w *walk)                       // calls w.reach for each binding satisfied, in an order that depends on bindings and message alone
}

// DelayedType is the type of an exchange that keeps messages until they are due, and then routes them as the type that
// its argument DelayedBy names would.
// Source: RabbitMQ delayed message exchange; docs/compat/delayed-exchange.md#1.
const (
	DelayedType = "x-delayed-message"
	DelayedBy   = "x-delayed-type"
)

// A Type is a type that exchanges can be declared with, as lists of types show it.
type Type struct {
	Name, Description string
	Plugin            string // of RabbitMQ, that brings it; "" if none does
}

// Types are all of them, by name.
func Types() []Type {
	all := []Type{{Name: DelayedType, Description: "Delayed Message Exchange.", Plugin: "rabbitmq_delayed_message_exchange"}}
	for _, k := range kinds {
		if k.name != "" {
			all = append(all, Type{k.name, k.about, k.plugin})
		}
	}
	slices.SortFunc(all, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// DelayedKind is the kind by which an exchange of DelayedType with those arguments routes.
func DelayedKind(arguments amqp.Table) (ExchangeKind, error) {
	a, _ := arguments.Get(DelayedBy)
	switch kind, known := ParseKind(a.Str); {
	case a.Kind != amqp.KindString || a.Str == "":
		return 0, amqp.PreconditionFailed("Invalid argument, '%s' must be an existing exchange type", DelayedBy)
	case a.Str == DelayedType:
		return 0, amqp.PreconditionFailed("Invalid argument, '%s' can't be used for '%s'", DelayedType, DelayedBy)
	case !known:
		return 0, amqp.PreconditionFailed("unknown exchange type '%s'", a.Str)
	default:
		return kind, nil
	}
}

// ParseKind is the kind of that name, as in exchange.declare; ok is false if there is none.
func ParseKind(name string) (k ExchangeKind, ok bool) {
	for i := range kinds {
		if name != "" && kinds[i].name == name {
			return ExchangeKind(i), true
		}
	}
	return 0, false
}

// Valid reports whether k is one of the kinds.
func (k ExchangeKind) Valid() bool { return k > 0 && int(k) < len(kinds) }

// String is the name of the kind, as in exchange.declare.
func (k ExchangeKind) String() string {
	if !k.Valid() {
		return "none"
	}
	return kinds[k].name
}

// Exchange is an exchange as it was declared. Once declared it is read-only for everyone but its Topology.
type Exchange struct {
	Name       string // "" is the default exchange
	Kind       ExchangeKind
	Delayed    bool // it is of DelayedType, and Kind is how it routes what is due
	Durable    bool
	AutoDelete bool
	Internal   bool       // clients may not publish to it
	Arguments  amqp.Table // as declared; kept, not copied
	// Alternate is the effective alternate exchange: argument or policy, whichever the owner found to win; "" is
	// none. It need not exist. It changes by SetAlternate.
	Alternate string

	matcher matcher
	out     bindingList           // bindings from here
	in      bindingList           // bindings to here
	ids     map[identity]*binding // those in out, by identity
	pass    uint64                // the last Route that came by
}

// Type is the type that x was declared with.
func (x *Exchange) Type() string {
	if x.Delayed {
		return DelayedType
	}
	return x.Kind.String()
}

// Predeclared is the exchanges every vhost is born with, all durable. The default exchange is not among them: it needs
// no declaration.
// Source: RabbitMQ, exchange class.
func Predeclared() []Exchange {
	return []Exchange{
		{Name: "amq.direct", Kind: Direct, Durable: true},
		{Name: "amq.fanout", Kind: Fanout, Durable: true},
		{Name: "amq.headers", Kind: Headers, Durable: true},
		{Name: "amq.match", Kind: Headers, Durable: true},
		{Name: "amq.rabbitmq.trace", Kind: Topic, Durable: true, Internal: true},
		{Name: "amq.topic", Kind: Topic, Durable: true},
	}
}
