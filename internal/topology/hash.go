package topology

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Arguments of a consistent hash exchange: what is hashed instead of the routing key.
const (
	hashHeader   = "hash-header"   // the value of the header of that name
	hashProperty = "hash-property" // the property of that name
)

// pointsMax is the most points that one binding can have. RabbitMQ names no limit: it keeps each point in memory.
const pointsMax = math.MaxInt32

// consistentHash gives every destination as many points as its binding key says, and a message to the destination of
// the point that its hash leads to. Of several bindings to one destination the oldest counts. A new destination
// takes its share from the others evenly, and nothing else moves; when one goes, the points behind it move up.
//
//	bindings   a "2"   b "1"   a "5"   c "3"
//	points     0 1     2               3 4 5
//	shares     a: 2    b: 3            c: 6      where the points of each end
//
// Source: RabbitMQ consistent hash exchange.
type consistentHash struct {
	x        *Exchange
	header   string
	property string
	shares   []share                     // of the oldest binding to each destination, in the order of binding
	to       map[destination]bindingList // from x, with points
}

// share is the points from where those of the share before end.
type share struct {
	b   *binding
	end uint64
}

func newConsistentHash(x *Exchange) matcher {
	header, _ := x.Arguments.Get(hashHeader)
	property, _ := x.Arguments.Get(hashProperty)
	return &consistentHash{x: x, header: header.Str, property: property.Str, to: map[destination]bindingList{}}
}

// add: the latest binding of all is at the end.
func (c *consistentHash) add(b *binding) {
	if _, err := points(b.RoutingKey); err != nil {
		return
	}
	to := b.to()
	c.to[to] = append(c.to[to], b)
	if len(c.to[to]) == 1 {
		c.shares = append(c.shares, share{b, c.before(len(c.shares)) + pointsOf(b)})
	}
}

// remove: where the binding goes that counts, the next one to the same destination counts.
func (c *consistentHash) remove(gone bindingList) (moved int) {
	if len(gone) > removeFew {
		return c.removeMany(gone)
	}
	for _, b := range gone {
		to := b.to()
		l := c.to[to]
		counts := len(l) > 0 && l[0] == b
		moved += removeFrom(c.to, bindingList{b}, (*binding).to)
		if !counts {
			continue
		}
		i := c.search(b)
		c.shares = slices.Delete(c.shares, i, i+1)
		moved += c.shift(i, -pointsOf(b))
		if l := c.to[to]; len(l) > 0 {
			i := c.search(l[0])
			c.shares = slices.Insert(c.shares, i, share{l[0], c.before(i) + pointsOf(l[0])})
			moved += c.shift(i+1, pointsOf(l[0]))
		}
	}
	return moved
}

// removeMany makes all shares anew.
func (c *consistentHash) removeMany(gone bindingList) (moved int) {
	moved = removeFrom(c.to, gone, (*binding).to)
	c.shares = c.shares[:0]
	for _, l := range c.to {
		c.shares = append(c.shares, share{b: l[0]})
	}
	slices.SortFunc(c.shares, func(x, y share) int { return cmp.Compare(x.b.seq, y.b.seq) })
	for i := range c.shares {
		c.shares[i].end = c.before(i) + pointsOf(c.shares[i].b)
	}
	return moved + lookWork*len(c.shares)*bits.Len(uint(len(c.shares)))
}

// search finds the share of a binding, or where it would be.
func (c *consistentHash) search(b *binding) int {
	i, _ := slices.BinarySearchFunc(c.shares, b.seq, func(s share, seq uint64) int { return cmp.Compare(s.b.seq, seq) })
	return i
}

// before is where the points before the i-th share end.
func (c *consistentHash) before(i int) uint64 {
	if i == 0 {
		return 0
	}
	return c.shares[i-1].end
}

// shift moves the points from the i-th share on by n.
func (c *consistentHash) shift(i int, n uint64) (moved int) {
	for k := i; k < len(c.shares); k++ {
		c.shares[k].end += n
	}
	return 2 * (len(c.shares) - i)
}

// pointsOf is the points of a binding that has some.
func pointsOf(b *binding) uint64 {
	n, _ := points(b.RoutingKey)
	return n
}

func (c *consistentHash) match(w *walk) {
	if len(c.shares) == 0 {
		return
	}
	point := jump(c.hash(w), c.shares[len(c.shares)-1].end)
	i, _ := slices.BinarySearchFunc(c.shares, point+1, func(s share, end uint64) int { return cmp.Compare(s.end, end) })
	w.reach(c.shares[i].b)
}

// hash is that of the routing key, CC and BCC left aside, or of what the arguments name instead. Messages without the
// header or property named all have the same.
func (c *consistentHash) hash(w *walk) uint64 {
	switch {
	case c.header != "":
		v, ok := w.header(c.header)
		if !ok {
			return hashOf(nil)
		}
		if n, ok := v.Integer(); ok {
			v = amqp.Int64(n) // of whatever size: equal numbers go to the same destination
		}
		return hashOf(amqp.AppendTable(nil, amqp.Table{{Value: v}}))
	case c.property != "":
		p := w.properties()
		switch c.property {
		case "correlation_id":
			return hashOf([]byte(p.CorrelationID))
		case "message_id":
			return hashOf([]byte(p.MessageID))
		}
		if p.Has&amqp.FlagTimestamp == 0 {
			return hashOf(nil)
		}
		return hashOf(binary.BigEndian.AppendUint64(nil, p.Timestamp))
	}
	return hashOf(w.key(0))
}

// checkConsistentHash refuses arguments that do not name one thing to hash.
// Source: RabbitMQ consistent hash exchange.
func checkConsistentHash(x Exchange) error {
	header, hasHeader := x.Arguments.Get(hashHeader)
	property, hasProperty := x.Arguments.Get(hashProperty)
	switch {
	case hasHeader && header.Kind != amqp.KindString:
		return amqp.PreconditionFailed("invalid type '%s' for arg '%s'", header.TypeName(), hashHeader)
	case hasProperty && property.Kind != amqp.KindString:
		return amqp.PreconditionFailed("invalid type '%s' for arg '%s'", property.TypeName(), hashProperty)
	case hasHeader && hasProperty:
		return amqp.PreconditionFailed("hash-header and hash-property are mutually exclusive")
	case !hasProperty:
		return nil
	}
	switch property.Str {
	case "correlation_id", "message_id", "timestamp":
		return nil
	}
	return amqp.PreconditionFailed("Unsupported property: %s", property.Str)
}

// checkPoints refuses a binding key that is no number of points.
func checkPoints(b Binding) error {
	_, err := points(b.RoutingKey)
	return err
}

// points is the number of points that a binding key stands for: decimal digits, a sign is allowed.
// Source: RabbitMQ consistent hash exchange.
func points(key string) (uint64, error) {
	n, err := strconv.ParseInt(key, 10, 64)
	switch {
	case err != nil && n == 0: // out of range is the nearest number in range, and an error
		return 0, amqp.PreconditionFailed("The binding key must be an integer: %s", term(amqp.String(key)))
	case n < 1:
		return 0, amqp.PreconditionFailed("The binding key must be greater than 0")
	case n > pointsMax:
		return 0, amqp.PreconditionFailed("The binding key must be at most %d", int64(pointsMax))
	}
	return uint64(n), nil
}

// modulusHash looks neither at binding keys nor at arguments: the hash of the routing keys chooses among the bindings,
// sorted by destination. A destination bound twice is chosen twice as often.
// Source: RabbitMQ modulus hash exchange.
type modulusHash struct {
	x      *Exchange
	sorted bindingList // nil if no message has come since many bindings went
}

func newModulusHash(x *Exchange) matcher { return &modulusHash{x: x} }

func (m *modulusHash) add(b *binding) {
	if m.sorted != nil {
		i, _ := slices.BinarySearchFunc(m.sorted, b, byDestination)
		m.sorted = slices.Insert(m.sorted, i, b)
	}
}

func (m *modulusHash) remove(gone bindingList) (moved int) {
	if len(gone) > removeFew {
		m.sorted = nil
		return 0
	}
	for _, b := range gone {
		if i, found := slices.BinarySearchFunc(m.sorted, b, byDestination); found {
			m.sorted = slices.Delete(m.sorted, i, i+1)
			moved += len(m.sorted) - i
		}
	}
	return moved
}

func (m *modulusHash) match(w *walk) {
	if len(m.x.out) == 0 {
		return
	}
	if m.sorted == nil {
		w.work += len(m.x.out) * bits.Len(uint(len(m.x.out)))
		m.sorted = slices.Clone(m.x.out)
		slices.SortFunc(m.sorted, byDestination)
	}
	h := hashOf(w.key(0))
	for i := 1; i < w.keys(); i++ {
		h = mix(h + hashOf(w.key(i)))
	}
	w.reach(m.sorted[h%uint64(len(m.sorted))])
}

// byDestination puts exchanges before queues, and bindings to one destination in the order of binding.
func byDestination(a, b *binding) int {
	if a.ToQueue != b.ToQueue {
		if b.ToQueue {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.seq, b.seq))
}

// jump maps a hash to one of n points, evenly. When n grows, a hash keeps its point or goes to one of the new ones.
// Source: Lamping and Veach, A Fast, Minimal Memory, Consistent Hash Algorithm; here without floats.
func jump(hash, n uint64) uint64 {
	point := uint64(0)
	for next := uint64(0); next < n; {
		point = next
		hash = hash*2862933555777941757 + 1
		divisor := hash>>33 + 1
		hi, lo := bits.Mul64(point+1, 1<<31)
		if hi >= divisor {
			break // next would not fit 64 bits
		}
		next, _ = bits.Div64(hi, lo, divisor)
	}
	return point
}

// hashOf is FNV-1a with its bits mixed. Clients rely on equal keys going to the same queue from one version to the
// next: it never changes.
func hashOf(b []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return mix(h)
}

// spread is an odd number with evenly spread bits: adding it over and over visits every number.
const spread = 0x9e3779b97f4a7c15

// mix makes every bit of the result depend on every bit of h; it is SplitMix64's.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
