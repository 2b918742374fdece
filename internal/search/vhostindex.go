package search

import (
	"slices"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A vhostIndex is the index of one virtual host. The crawler changes it, with the lock held; searches only read it.
type vhostIndex struct {
	name   string
	number uint32 // of its log, which no other virtual host ever gets

	sync.Mutex
	record     record
	byPlace    map[placeName]uint16
	free       []uint16 // numbers of places that are gone, and of which nothing is known any more
	segments   []*segment
	tail       *tail
	gone       map[int]bool         // of the tail's messages
	copied     *segment             // the tail as a segment
	copiedOf   int                  // how many messages that has
	dropping   []uint64             // segments that were given up, stored until what is read anew is sealed
	again      map[uint16][]idRange // whose messages are read anew, by place
	machine    vhost.Identity       // that was looked at last
	met        uint64               // Broker.Changed, before that
	books      uint64               // what it had done then
	rules      uint64               // the version of its policies and options then
	ready      bool                 // all was read once
	settled    bool                 // there was nothing to do at the end of the last round
	complete   time.Time            // what came before is here
	behind     int64
	storedGone time.Time // which messages have gone was stored then
	rebuild    bool      // it is to be forgotten
}

// placeName tells places apart: a queue that is declared anew is another, and so is one that is marked as a dead-letter
// queue: all its messages are messages, or they no longer are.
type placeName struct {
	vhost.Where
	id     uint32
	marked bool
}

// idRange is IDs from first to last.
type idRange struct{ first, last uint64 }

// A record is what is stored of a virtual host.
type record struct {
	Name      string
	Places    []placeRecord
	Forgotten bool // there was no space for the oldest messages
}

// placeRecord is a place by its number in a virtual host.
type placeRecord struct {
	vhost.Where
	ID   uint32 `json:",omitempty"` // of the queue, 0: of the lost letters
	Read marks  `json:",omitempty"` // the greatest IDs that were read and outlive a start, by priority
	Gone bool   `json:",omitempty"` // the queue was deleted
	// the queue is marked as a dead-letter queue
	Marked bool `json:",omitempty"`

	marks     marks  // the greatest IDs that were read
	met       bool   // since the virtual host was opened
	published uint64 // messages that came, and
	total     int    // how many there were, and
	held      uint64 // how many messages it had held, when it was last looked at
	holds     bool   // it holds more since: a sweep will find them
	behind    int64  // messages to be read, about

	sweep    bool          // it has to be compared with what is there,
	sweepAt  time.Time     // from then on;
	sweptTo  uint64        // up to there it was, in the sweep that goes on
	sweptFor time.Duration // work, without rests
}

func (p *placeRecord) name() placeName { return placeName{p.Where, p.ID, p.Marked} }

func newKnown(name string, number uint32, tail *tail) *vhostIndex {
	return &vhostIndex{name: name, number: number, record: record{Name: name}, byPlace: map[placeName]uint16{}, tail: tail,
		gone: map[int]bool{}, again: map[uint16][]idRange{}}
}

// place finds the number of a place, or gives it one; ok is false if there are too many.
func (k *vhostIndex) place(at placeName) (n uint16, ok bool) {
	if n, ok := k.byPlace[at]; ok {
		return n, true
	}
	p := placeRecord{Where: at.Where, ID: at.id, Marked: at.marked}
	switch free := len(k.free); {
	case free > 0:
		n = k.free[free-1]
		k.free = k.free[:free-1]
		k.record.Places[n] = p
	case len(k.record.Places) >= placesMax:
		return 0, false
	default:
		n = uint16(len(k.record.Places))
		k.record.Places = append(k.record.Places, p)
	}
	k.byPlace[at] = n
	return n, true
}

// loaded is told that record is what was stored.
func (k *vhostIndex) loaded() {
	for i := range k.record.Places {
		p := &k.record.Places[i]
		p.sweep = !p.Gone
		p.marks = slices.Clone(p.Read)
		if !p.Gone {
			k.byPlace[p.name()] = uint16(i)
		}
	}
}

// messages counts those that are here.
func (k *vhostIndex) messages() int64 {
	n := int64(k.tail.n - len(k.gone))
	for _, s := range k.segments {
		n += int64(s.left)
	}
	return n
}

// tailCopy is the tail as a segment, nil if it is empty. It is made anew when there are messages that it has
// not.
func (k *vhostIndex) tailCopy() *segment {
	if k.tail.n == 0 {
		return nil
	}
	if k.copied == nil || k.copiedOf != k.tail.n {
		p := k.tail.seal()
		k.copied = &segment{number: k.tail.number, meta: k.tail.describe(p), parts: p, gone: newSet(k.tail.n), left: k.tail.n}
		k.copiedOf = k.tail.n
	}
	for i := range k.gone {
		k.copied.remove(i)
	}
	return k.copied
}

// readings begins to look at all segments, those with the newest messages first, or with the oldest.
func (k *vhostIndex) readings(from *store, order Order) (all []*reading) {
	add := func(s *segment) {
		if s != nil && s.left > 0 {
			all = append(all, s.read(from))
		}
	}
	for _, s := range k.segments {
		add(s)
	}
	add(k.tailCopy())
	slices.SortStableFunc(all, func(a, b *reading) int {
		if order == Oldest {
			return compare(a.meta.MinAt, b.meta.MinAt)
		}
		return compare(b.meta.MaxAt, a.meta.MaxAt)
	})
	return all
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// remove notes that a message of a segment, or of the tail that will be the segment of that number, is gone.
func (k *vhostIndex) remove(number uint64, i int) {
	if number == k.tail.number {
		k.gone[i] = true
		return
	}
	for _, s := range k.segments {
		if s.number == number {
			s.remove(i)
		}
	}
}

// state says how complete this is.
func (k *vhostIndex) state() *State {
	return &State{CompleteUntil: k.complete, Behind: k.behind, Forgotten: k.record.Forgotten}
}

// dropTransient forgets the messages that a restart has ended, when their IDs may be used again.
func (k *vhostIndex) dropTransient(from *store) error {
	for _, s := range k.segments {
		if s.meta.Flags&flagTransient == 0 {
			continue
		}
		gone, err := s.read(from).flagged(flagTransient)
		if err != nil {
			return err
		}
		gone.each(s.remove)
	}
	return nil
}

// reopened is told that the machine is another one: what was not sealed is read anew, and so is what it had beside the
// log.
func (k *vhostIndex) reopened(from *store, t *tail) error {
	if err := k.dropTransient(from); err != nil {
		return err
	}
	k.tail, k.gone, k.copied, k.copiedOf = t, map[int]bool{}, nil, 0
	for i := range k.record.Places {
		p := &k.record.Places[i]
		p.marks = slices.Clone(p.Read)
		p.met, p.sweep, p.sweptTo, p.sweepAt = false, !p.Gone, 0, time.Time{}
	}
	return nil
}

// clone is a copy to be stored.
func (r *record) clone() record {
	c := *r
	c.Places = slices.Clone(r.Places)
	for i := range c.Places {
		c.Places[i].Read = slices.Clone(c.Places[i].Read)
	}
	return c
}

// lose forgets the messages of a queue that is no more, or that is another place by its mark.
func (k *vhostIndex) lose(n uint16, from *store) error {
	p := &k.record.Places[n]
	delete(k.byPlace, p.name())
	p.Gone, p.sweep, p.behind, p.sweptTo = true, false, 0, 0
	delete(k.again, n)
	for _, s := range k.segments {
		if !slices.ContainsFunc(s.meta.Places, func(x span) bool { return x.Place == n }) {
			continue
		}
		places, err := s.read(from).column(numbersPlace)
		if err != nil {
			return err
		}
		for i := range s.meta.Messages {
			if places.at(i) == int64(n) {
				s.remove(i)
			}
		}
	}
	for i, at := range k.tail.numbers[numbersPlace] {
		if at == int64(n) {
			k.gone[i] = true
		}
	}
	return nil
}

// releaseAll has the messages that are left of a segment read anew.
func (k *vhostIndex) giveUp(s *segment) {
	k.segments = slices.DeleteFunc(k.segments, func(x *segment) bool { return x == s })
	k.dropping = append(k.dropping, s.number)
	k.settled = false
	for _, x := range s.meta.Places {
		if p := &k.record.Places[x.Place]; !p.Gone {
			k.again[x.Place] = append(k.again[x.Place], idRange{x.MinID, x.MaxID})
			p.sweep, p.sweptTo, p.sweepAt = true, 0, time.Time{}
		}
	}
}

// freePlaces finds the numbers of places that can be given to others: no message, stored or not, is of them.
func (k *vhostIndex) freePlaces() {
	if len(k.dropping) > 0 {
		return // these have messages, too
	}
	used := make([]bool, len(k.record.Places))
	for _, s := range k.segments {
		for _, x := range s.meta.Places {
			used[x.Place] = true
		}
	}
	for _, n := range k.tail.numbers[numbersPlace] {
		used[n] = true
	}
	k.free = k.free[:0]
	for i := range k.record.Places {
		if k.record.Places[i].Gone && !used[i] {
			k.free = append(k.free, uint16(i))
		}
	}
}
