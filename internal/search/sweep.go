package search

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A sweep compares the messages that are known of a place with those that are there, a window of IDs at a
// time: what has gone is removed, what is held by now is taken, and so is what is read anew.

// windowWorth and messageWorth are some times what a window takes, and each message in it.
const windowWorth, messageWorth = 2 * time.Millisecond, 20 * time.Microsecond

// window is IDs of a place, behind from and up to to, with the messages that are known of them, by ID.
type window struct {
	from, to uint64
	known    []knownMessage
	again    []idRange
	marks    marks
	held     bool // the place holds messages
	looked   int  // messages that were compared
}

type knownMessage struct {
	id   uint64
	in   uint64 // number of the segment
	i    int
	held bool
}

// sweepPlace goes on with a sweep, or begins one. done says that it has come to its end.
func (c *crawler) sweepPlace(k *vhostIndex, place uint16, ends time.Time) (done bool, err error) {
	k.Lock()
	p := &k.record.Places[place]
	if p.sweptTo == 0 {
		if time.Now().Before(p.sweepAt) {
			k.Unlock()
			return false, nil
		}
		p.sweep, p.sweptFor = false, 0
	}
	where := p.Where
	k.Unlock()
	for {
		began := c.workedInAll()
		k.Lock()
		w, err := k.window(place, c.store)
		k.Unlock()
		if err != nil {
			return false, err
		}
		if err := c.sweepWindow(k, place, where, w); err != nil {
			return false, err
		}
		k.Lock()
		p := &k.record.Places[place]
		p.sweptFor += min(c.workedInAll()-began, w.worth())
		if p.sweptTo = w.to; w.to == math.MaxUint64 {
			p.sweptTo, p.sweepAt = 0, time.Now().Add(busyRest*p.sweptFor)
			if !p.sweep { // nothing has come up since it began
				p.holds = false
				delete(k.again, place)
			}
			k.Unlock()
			return true, nil
		}
		k.Unlock()
		if err := c.pause(); err != nil {
			return false, err
		}
		if time.Now().After(ends) {
			return false, nil
		}
	}
}

// window is what the sweep of a place compares next: up to the end of one segment.
func (k *vhostIndex) window(place uint16, from *store) (*window, error) {
	p := &k.record.Places[place]
	w := &window{from: p.sweptTo, to: math.MaxUint64, again: k.again[place], marks: slices.Clone(p.marks), held: p.held > 0}
	var in []*segment
	for _, s := range k.segments {
		for _, x := range s.meta.Places {
			if x.Place == place && x.MaxID > w.from {
				in = append(in, s)
				w.to = min(w.to, x.MaxID)
			}
		}
	}
	for _, s := range in {
		if s.left == 0 {
			continue
		}
		if err := w.add(s, place, from); err != nil && !errors.Is(err, errForgotten) {
			return nil, err
		}
	}
	for i := range k.tail.n {
		id := uint64(k.tail.numbers[numbersID][i])
		if uint16(k.tail.numbers[numbersPlace][i]) == place && id > w.from && id <= w.to && !k.gone[i] {
			held := uint8(k.tail.numbers[numbersFlags][i])&flagHeld != 0
			w.known = append(w.known, knownMessage{id, k.tail.number, i, held})
		}
	}
	slices.SortFunc(w.known, func(a, b knownMessage) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.in, a.in)) })
	return w, nil
}

func (w *window) add(s *segment, place uint16, from *store) error {
	r := s.read(from)
	columns, err := r.columns(numbersPlace, numbersID, numbersFlags)
	if err != nil {
		return err
	}
	places, ids, flags := columns[0], columns[1], columns[2]
	r.all.each(func(i int) {
		if id := uint64(ids.at(i)); places.at(i) == int64(place) && id > w.from && id <= w.to {
			w.known = append(w.known, knownMessage{id, s.number, i, uint8(flags.at(i))&flagHeld != 0})
		}
	})
	return nil
}

// worth is more than the work of a window takes where nothing else wants the processor. What the crawler was kept from
// it is no work: a few messages would else be looked at again after half a minute.
func (w *window) worth() time.Duration {
	return windowWorth + time.Duration(len(w.known)+w.looked)*messageWorth
}

// idle reports whether there is nothing to compare.
func (w *window) idle() bool {
	return len(w.known) == 0 && !w.held && !slices.ContainsFunc(w.again, func(x idRange) bool { return x.last > w.from && x.first <= w.to })
}

// sweepWindow looks at the messages of a window, in portions.
func (c *crawler) sweepWindow(k *vhostIndex, place uint16, where vhost.Where, w *window) error {
	if w.idle() {
		return nil
	}
	at, after := 0, w.from // of w.known; the ID that was looked at last
	for more := true; more; {
		h := haul{}
		var gone []knownMessage
		err := c.look(c.ctx, k.name, func(v vhost.Reader) {
			began := time.Now()
			for more && time.Since(began) < c.portion() && len(h.octets) < portionBytes {
				next, _ := v.Browse(vhost.Glance{Where: where, After: after, Looks: looksOnce}, func(x *vhost.Seen) bool {
					if x.ID > w.to {
						more = false
						return false
					}
					after = x.ID
					if w.compare(x, &at, &gone) {
						h.take(x, place)
					}
					return len(h.octets) < portionBytes
				})
				more = more && next != 0
			}
		})
		if err != nil {
			return err
		}
		if !more {
			gone = append(gone, w.known[at:]...)
		}
		k.Lock()
		for _, x := range gone {
			k.remove(x.in, x.i)
		}
		k.Unlock()
		if err := c.keep(k, place, &h); err != nil {
			return err
		}
		if err := c.pause(); err != nil {
			return err
		}
	}
	return nil
}

// compare says whether a message that is there has to be taken; those that are known before it are gone.
func (w *window) compare(x *vhost.Seen, at *int, gone *[]knownMessage) (take bool) {
	w.looked++
	for *at < len(w.known) && w.known[*at].id < x.ID {
		*gone = append(*gone, w.known[*at])
		*at++
	}
	held, here := x.State == queue.Held, false
	for ; *at < len(w.known) && w.known[*at].id == x.ID; *at++ {
		if one := w.known[*at]; here || held && !one.held { // twice, or as it was before it was held
			*gone = append(*gone, one)
		} else {
			here = true
		}
	}
	if here || x.ID > w.marks.of(laneOf(x.ID)) {
		return false
	}
	return held || x.DeadLetter && slices.ContainsFunc(w.again, func(r idRange) bool { return r.first <= x.ID && x.ID <= r.last })
}

// bound keeps the index within its limits, and what it has in order: segments of which little is left are read anew,
// and the oldest leave when there are too many.
func (c *crawler) bound() error {
	var errs []error
	var total int64
	var largest *vhostIndex
	words := 0
	for _, k := range c.all() {
		drop, gone := k.tidy()
		if len(drop)+len(gone) > 0 && !c.options.Broker.LowOnDisk() {
			if err := c.store.apply(&change{vhost: k.number, drop: drop, gone: gone}); err != nil {
				errs = append(errs, errStore, err)
			}
		}
		k.Lock()
		for _, s := range k.segments {
			total += s.meta.Bytes
		}
		n := k.tail.octets()
		if words += n; largest == nil || n > largest.tail.octets() {
			largest = k
		}
		k.Unlock()
	}
	if words > tailsOctets {
		errs = append(errs, c.seal(largest))
	}
	for total > c.options.MaxBytes/10*9 {
		n, err := c.forgetOldest()
		if errs = append(errs, err); n == 0 || err != nil {
			break
		}
		total -= n
	}
	errs = append(errs, c.store.shrink())
	c.stored.Store(c.store.bytes())
	return errors.Join(errs...)
}

// tidy gives up what is not worth keeping, and tells which segments can be deleted at once and of which it is to be
// stored what has gone.
func (k *vhostIndex) tidy() (drop []uint64, gone map[uint64][]byte) {
	k.Lock()
	defer k.Unlock()
	small := 0
	for _, s := range k.segments {
		if s.left < smallMessages {
			small++
		}
	}
	gone = map[uint64][]byte{}
	for _, s := range slices.Clone(k.segments) {
		switch {
		case s.left == 0:
			k.segments = slices.DeleteFunc(k.segments, func(x *segment) bool { return x == s })
			drop = append(drop, s.number)
		case s.left < smallMessages && (small > smallSegments || s.left*sparseShare < s.meta.Messages) && len(k.again) == 0:
			k.giveUp(s)
		case s.changed && time.Since(k.storedGone) > goneEvery:
			gone[s.number] = encodeSet(s.gone)
			s.changed = false
		}
	}
	if len(drop) == 0 {
		k.freePlaces()
	}
	if len(gone) > 0 {
		k.storedGone = time.Now()
	}
	return drop, gone
}

// forgetOldest drops the segment whose newest message is the oldest of all, and returns its size; 0 if there
// is none.
func (c *crawler) forgetOldest() (int64, error) {
	var of *vhostIndex
	var oldest *segment
	for _, k := range c.all() {
		k.Lock()
		for _, s := range k.segments {
			if oldest == nil || s.meta.MaxAt < oldest.meta.MaxAt {
				of, oldest = k, s
			}
		}
		k.Unlock()
	}
	if oldest == nil {
		return 0, nil
	}
	of.Lock()
	of.segments = slices.DeleteFunc(of.segments, func(x *segment) bool { return x == oldest })
	of.record.Forgotten = true
	of.Unlock()
	// The marks are not stored here: they are those of what is sealed, not of the tail.
	return oldest.meta.Bytes, c.store.apply(&change{vhost: of.number, drop: []uint64{oldest.number}, forgotten: true})
}
