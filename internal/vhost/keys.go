package vhost

import (
	"hash/fnv"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// KeyHeader names a scheduled message for its publisher: a later one with the same key, in the same exchange, takes its
// place, and commands find it by that. A key costs some two hundred bytes of memory while its message waits; without
// one a scheduled message costs none.
const KeyHeader = "x-schedule-key"

const (
	// scheduleKeyMax is the longest key, in bytes.
	scheduleKeyMax = 255
	// scheduleKeysMax is how many messages of a virtual host wait under keys: some 250 MiB of memory.
	scheduleKeysMax = 4 << 20
)

// keys finds messages by a hash of their keys. It changes only by facts. Two keys with one hash are told apart by the
// messages themselves; the older of two such is no longer found.
type keys struct {
	messages map[uint64]queue.Seq
	hashes   map[queue.Seq]uint64

	count *int // of messages with keys in the virtual host

	past  map[uint64]queue.Seq // the last message of keys that none waits under, as far as that is remembered
	order []uint64             // of past, oldest first
}

func (k *keys) set(hash uint64, seq queue.Seq) {
	if k.messages == nil {
		k.messages, k.hashes = map[uint64]queue.Seq{}, map[queue.Seq]uint64{}
	}
	if old, taken := k.messages[hash]; taken {
		delete(k.hashes, old)
		*k.count--
	}
	*k.count++
	k.messages[hash], k.hashes[seq] = seq, hash
}

func (k *keys) has(seq queue.Seq) bool {
	_, ok := k.hashes[seq]
	return ok
}

// drop takes its key from a message that ends, if it has one, and remembers whose it was.
func (k *keys) drop(seq queue.Seq) {
	if hash, ok := k.hashes[seq]; ok {
		delete(k.messages, hash)
		delete(k.hashes, seq)
		*k.count--
		k.note(hash, seq)
	}
}

func (k *keys) note(hash uint64, seq queue.Seq) {
	if k.past == nil {
		k.past = map[uint64]queue.Seq{}
	}
	_, known := k.past[hash]
	k.past[hash] = seq
	if known {
		return
	}
	if k.order = append(k.order, hash); len(k.order) > recallMax {
		delete(k.past, k.order[0])
		k.order = k.order[1:]
	}
}

func hashOf(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key)) // never fails
	return mix(h.Sum64())
}

// keyOf reads a message's key; "" is none.
func keyOf(headers []byte) (string, *amqp.Error) {
	a, ok, bad := amqp.LookupField(headers, KeyHeader)
	switch {
	case bad != nil || !ok:
		return "", nil
	case a.Kind != amqp.KindString || a.Str == "" || len(a.Str) > scheduleKeyMax:
		return "", amqp.PreconditionFailed("invalid %s '%s': it must be a string of 1 to %d bytes", KeyHeader, settings.Show(a), scheduleKeyMax)
	}
	return a.Str, nil
}

// keyed finds what waits under a key on a schedule.
func (v *VHost) keyed(q *queueState, key string) (seq queue.Seq, ok bool) {
	if q == nil || key == "" {
		return 0, false
	}
	if seq, ok = q.schedule.keys.messages[hashOf(key)]; !ok || q.messages.Entry(seq) == nil { // a repair may have given it up
		return 0, false
	}
	m := v.loadMessage(q, seq)
	found, err := keyOf(m.scan().Headers)
	return seq, err == nil && found == key
}

// overtake cancels what waits under the key of m, which is due now, in the delayed exchanges that it passes: m takes
// its place.
func (s *step) overtake(m *message, passed []*topology.Exchange) (any bool) {
	for _, x := range passed {
		q := s.schedules[x.Name]
		if old, waits := s.keyed(q, m.name); waits {
			s.cancelOne(q, old)
			any = true
		}
	}
	return any
}

// underKey finds the message that a key means: what waits under it, or else the last that did; outcome is what has
// become of that. Of the keys under which nothing waits the 16,384 that were used first since the last are remembered.
func (v *VHost) underKey(q *queueState, key string) (seq queue.Seq, outcome string) {
	seq, waits := v.keyed(q, key)
	if waits {
		return seq, ""
	}
	if q == nil {
		return 0, outcomeUnknown
	}
	seq, known := q.schedule.keys.past[hashOf(key)]
	if !known {
		return 0, outcomeUnknown
	}
	return seq, q.schedule.outcome(q, seq)
}

// replaces reports whether each delayed exchange on the way of p has a message with its key, whose place it takes.
func (v *VHost) replaces(p *publication) bool {
	for _, x := range p.way.Delayed {
		if _, waits := v.keyed(v.schedules[x.Name], p.name); !waits {
			return false
		}
	}
	return true
}

// giveKey gives the newest message of a schedule its key. What had that key is cancelled.
func (s *step) giveKey(q *queueState, seq queue.Seq, key string) {
	old, taken := s.keyed(q, key)
	s.emit(&fact.Fact{Kind: fact.Keyed, Durable: true, Queue: q.id, Seq: seq, N: hashOf(key)})
	if taken {
		s.cancelOne(q, old)
	}
}

// sorted lists messages that have keys.
func (k *keys) sorted() []queue.Seq { return slices.Sorted(maps.Keys(k.hashes)) }

// mix spreads bits. Source: splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
