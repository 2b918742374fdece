package topology

import "strings"

// About how many bytes of memory an exchange, a binding and a word of a topic's pattern take, entries of maps and lists
// included. Words that patterns share are counted for each.
const (
	exchangeBytes = 600
	bindingBytes  = 450
	wordBytes     = 170
)

func (x *Exchange) bytes() int { return exchangeBytes + len(x.Name) + x.Arguments.Memory() }

// bytes counts arguments twice, or thrice: an identity has a copy of them, and so has what compares them with headers.
func (b *binding) bytes() int {
	n := bindingBytes + len(b.RoutingKey) + 2*b.Arguments.Memory()
	switch b.from.Kind {
	case Topic:
		n += wordBytes * (1 + strings.Count(b.RoutingKey, "."))
	case Headers:
		n += b.Arguments.Memory()
	}
	return n
}
