package stats

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Readings as bytes. docs/format/readings.md draws them.

const (
	keptMagic  = "bartread"
	keptFormat = 1
	// keptMax bounds the file. What is of the node and of whole virtual hosts comes first, then the
	// queues in which most died, then exchanges; the readings of what does not fit begin with the next start.
	keptMax = 4 << 20
	// queueFiguresFirst is how many figures the first version kept of queues, exchanges and virtual
	// hosts.
	queueFiguresFirst = atRepublished
	// keptTextMax bounds a name that is read.
	keptTextMax = 1 << 10
)

var (
	errKept       = errors.New("damaged")
	castagnoli    = crc32.MakeTable(crc32.Castagnoli)
	errKeptFormat = errors.New("it has an unknown format")
)

// What histories are of, the most important first.
const (
	keptNode = iota + 1
	keptWhole
	keptWire
	keptQueue
	keptExchange
)

// encode writes the readings. The lock is held.
func (s *Sampler) encode() []byte {
	b := append(make([]byte, 0, 64<<10), keptMagic...)
	b = append(b, keptFormat)
	b = binary.AppendUvarint(b, uint64(s.mu.last))
	b = binary.AppendUvarint(b, uint64(len(s.mu.runs)))
	for _, x := range s.mu.runs {
		b = binary.AppendUvarint(b, uint64(x.from))
		b = binary.AppendUvarint(b, uint64(x.to-x.from))
	}
	for _, k := range s.toKeep() {
		if len(b)+k.size()+crc32.Size <= keptMax {
			b = k.append(b)
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// A keptHistory is a history and what it is of.
type keptHistory struct {
	kind uint8
	log  uint32 // of the virtual host
	id   fact.QueueID
	name string // of the queue, the exchange, or, of a wire, the virtual host
	died uint64 // of a queue: messages
	*history
}

// toKeep lists what is kept, the most important first.
func (s *Sampler) toKeep() (all []keptHistory) {
	all = append(all, keptHistory{kind: keptNode, history: &s.mu.node})
	for name, h := range s.mu.wires.vhosts {
		all = append(all, keptHistory{kind: keptWire, name: name, history: &h.history})
	}
	for log, l := range s.mu.ledgers {
		all = append(all, keptHistory{kind: keptWhole, log: log, history: &l.whole})
		for id, name := range l.named {
			if h := l.queues[id]; h != nil {
				all = append(all, keptHistory{keptQueue, log, id, name, diedIn(h), h})
			}
		}
		for name, h := range l.exchanges {
			all = append(all, keptHistory{kind: keptExchange, log: log, name: name, history: h})
		}
	}
	all = slices.DeleteFunc(all, func(k keptHistory) bool { return k.figures == nil || k.isUnmoved() })
	slices.SortFunc(all, func(a, b keptHistory) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(b.died, a.died),
			cmp.Compare(a.log, b.log), cmp.Compare(a.id, b.id))
	})
	return all
}

// diedIn is how many messages died in a queue.
func diedIn(h *history) uint64 {
	if len(h.figures) != queueFigures {
		return 0
	}
	return sumDied((*figures)(h.figures))
}

// isUnmoved reports whether nothing has happened in a queue or an exchange.
func (k *keptHistory) isUnmoved() bool {
	moved := func(n uint64) bool { return n > 0 }
	single := k.kind == keptQueue || k.kind == keptExchange
	return single && len(k.steps) == 0 && !slices.ContainsFunc(k.figures, moved)
}

// size is at most how many bytes append takes.
func (k *keptHistory) size() int {
	return 2 + binary.MaxVarintLen64*(6+len(k.figures)) + len(k.name) + len(k.steps)
}

func (k *keptHistory) append(b []byte) []byte {
	b = append(b, k.kind)
	b = binary.AppendUvarint(b, uint64(k.log))
	b = binary.AppendUvarint(b, uint64(k.id))
	b = append(binary.AppendUvarint(b, uint64(len(k.name))), k.name...)
	h := k.history
	b = append(b, byte(BoolInt(h.fromZero)))
	b = binary.AppendUvarint(b, uint64(h.from))
	b = binary.AppendUvarint(b, uint64(len(h.figures)))
	for _, n := range h.figures {
		b = binary.AppendUvarint(b, n)
	}
	return append(binary.AppendUvarint(b, uint64(len(h.steps))), h.steps...)
}

// decode reads what encode wrote, as it is now. The sampler has no readings yet, and is as it was if there is an error.
func (s *Sampler) decode(b []byte, now int64) error {
	r, err := openKept(b)
	if err != nil {
		return err
	}
	var covered runs
	last := int64(r.Uint())
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		from := int64(r.Uint())
		covered = append(covered, run{from, from + int64(r.Uint())})
	}
	var all []keptHistory
	for r.Err == nil && len(r.Rest) > 0 {
		all = append(all, readHistory(r, now))
	}
	switch {
	case r.Err != nil:
		return errKept
	case last > now:
		return errors.New("its readings are from the future, by the clock of this machine")
	}
	covered.thin(now - WholeKept[len(WholeKept)-1].age)
	s.mu.runs = covered
	for _, k := range all {
		s.take(k)
	}
	return nil
}

// openKept checks the frame.
func openKept(b []byte) (*fact.Decoder, error) {
	head := len(keptMagic) + 1
	if len(b) < head+crc32.Size || string(b[:len(keptMagic)]) != keptMagic {
		return nil, errKept
	}
	body, sum := b[:len(b)-crc32.Size], b[len(b)-crc32.Size:]
	switch {
	case binary.LittleEndian.Uint32(sum) != crc32.Checksum(body, castagnoli):
		return nil, errKept
	case b[len(keptMagic)] != keptFormat:
		return nil, errKeptFormat
	}
	return &fact.Decoder{Rest: body[head:]}, nil
}

// readHistory reads one; r has an error if it is none.
func readHistory(r *fact.Decoder, now int64) keptHistory {
	k := keptHistory{kind: r.Byte(), log: uint32(r.Uint()), id: fact.QueueID(r.Uint())}
	name := r.Bytes()
	k.name = string(name)
	k.history = &history{fromZero: r.Byte() != 0, from: int64(r.Uint()), thinned: now}
	width := r.Uint()
	if len(name) > keptTextMax || width > figuresMax {
		r.Err = errKept
		return k
	}
	for range width {
		k.figures = append(k.figures, r.Uint())
	}
	k.steps = slices.Clone(r.Bytes())
	if !areSteps(k.steps, int(width)) {
		r.Err = errKept
	}
	return k
}

// areSteps reports whether bytes are what putStep writes, again and again, of so many figures.
func areSteps(b []byte, width int) bool {
	for len(b) > 0 {
		end := len(b) - 1
		n := int(b[end])
		if n == 0 || n > end {
			return false
		}
		r := fact.Decoder{Rest: b[end-n : end]}
		r.Uint()
		mask := r.Uint()
		if mask>>width != 0 {
			return false
		}
		for range bits.OnesCount64(mask) {
			r.Uint() // a varint has the same length
		}
		if r.Err != nil || len(r.Rest) > 0 {
			return false
		}
		b = b[:end-n]
	}
	return true
}

// take takes over one history. Of an earlier version, which counted fewer things in queues, those
// that are missing were 0; otherwise it is left out if it has another number of figures than this
// version counts.
func (s *Sampler) take(k keptHistory) {
	width := queueFigures
	switch k.kind {
	case keptWire:
		width = dataFigures
	case keptNode:
		width = nodeFigures
	}
	if n := len(k.figures); width == queueFigures && n >= queueFiguresFirst && n < width {
		k.figures = append(k.figures, make([]uint64, width-n)...)
	}
	if len(k.figures) != width {
		return
	}
	switch k.kind {
	case keptNode:
		s.mu.node = *k.history
		s.mu.node.restart(nodeGauges...)
		return
	case keptWire:
		k.restart()
		s.mu.wires.restore(k.name, k.history)
		return
	}
	l := s.mu.ledgers[k.log]
	if l == nil {
		l = newLedger()
		l.kept, l.named = true, map[fact.QueueID]string{}
		s.mu.ledgers[k.log] = l
	}
	switch k.kind {
	case keptWhole:
		l.whole = *k.history
	case keptQueue:
		l.queues[k.id], l.named[k.id] = k.history, k.name
	case keptExchange:
		l.exchanges[k.name] = k.history
	}
}
