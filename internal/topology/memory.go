package topology

import "strings"

// About how many bytes of memory an exchange, a binding and a word of a topic's pattern with wildcards take, entries of
// maps and lists included. Words that patterns share are counted for each.
const (
	exchangeBytes = 600
	bindingBytes  = 450
	wordBytes     = 170
)

// recentBytes is what a recent history takes for each message, about.
const recentBytes = 120

// bytes counts a recent history as if it were full: what is declared is refused, and messages that fill it are not. A
// durable exchange has two, one of durable and one of volatile messages.
func (x *Exchange) bytes() int {
	n := exchangeBytes + len(x.Name) + x.Arguments.Memory()
	if x.Kind == RecentHistory {
		full := recentBytes * int(x.RecentLength())
		if n += full; x.Durable {
			n += full
		}
	}
	return n
}

// bytes counts arguments twice, or thrice: an identity has a copy of them, and so has what compares them with headers.
func (b *binding) bytes() int {
	n := bindingBytes + len(b.RoutingKey) + 2*b.Arguments.Memory()
	switch b.from.Kind {
	case Topic:
		if !isLiteral(b.RoutingKey) {
			n += wordBytes * (1 + strings.Count(b.RoutingKey, "."))
		}
	case Headers:
		n += b.Arguments.Memory()
	}
	return n
}
