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
	shares   []share // in the order of binding
	stale    bool    // the bindings have changed since
}

// share is the points from where those of the share before end.
type share struct {
	b   *binding
	end uint64
}

func newConsistentHash(x *Exchange) matcher {
	header, _ := x.Arguments.Get(hashHeader)
	property, _ := x.Arguments.Get(hashProperty)
	return &consistentHash{x: x, header: header.Str, property: property.Str}
}

func (c *consistentHash) add(*binding)    { c.shares, c.stale = nil, true }
func (c *consistentHash) remove(*binding) { c.shares, c.stale = nil, true }

func (c *consistentHash) match(w *walk) {
	if c.stale {
		c.divide()
	}
	if len(c.shares) == 0 {
		return
	}
	point := jump(c.hash(w), c.shares[len(c.shares)-1].end)
	i, _ := slices.BinarySearchFunc(c.shares, point+1, func(s share, end uint64) int { return cmp.Compare(s.end, end) })
	w.reach(c.shares[i].b)
}

func (c *consistentHash) divide() {
	type destination struct {
		queue    *queue
		exchange *Exchange
	}
	seen := make(map[destination]bool, len(c.x.out))
	end := uint64(0)
	for _, b := range c.x.out {
		to := destination{b.queue, b.exchange}
		n, err := points(b.RoutingKey)
		if seen[to] || err != nil {
			continue
		}
		seen[to] = true
		end += n
		c.shares = append(c.shares, share{b, end})
	}
	c.stale = false
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
	sorted bindingList // nil if the bindings have changed since
}

func newModulusHash(x *Exchange) matcher { return &modulusHash{x: x} }

func (m *modulusHash) add(*binding)    { m.sorted = nil }
func (m *modulusHash) remove(*binding) { m.sorted = nil }

func (m *modulusHash) match(w *walk) {
	if len(m.x.out) == 0 {
		return
	}
	if m.sorted == nil {
		m.sorted = slices.Clone(m.x.out)
		slices.SortStableFunc(m.sorted, byDestination)
	}
	h := hashOf(w.key(0))
	for i := 1; i < w.keys(); i++ {
		h = mix(h + hashOf(w.key(i)))
	}
	w.reach(m.sorted[h%uint64(len(m.sorted))])
}

// byDestination puts exchanges before queues.
func byDestination(a, b *binding) int {
	if a.ToQueue != b.ToQueue {
		if b.ToQueue {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Destination, b.Destination)
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

// hashOf is FNV-1a with its bits mixed. Clients rely on equal keys going to the same queue from one version to the next:
// it never changes.
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
