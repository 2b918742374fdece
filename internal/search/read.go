package search

import (
	"errors"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/filter"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A haul is messages that were copied in one look.
type haul struct {
	documents []document
	octets    []byte
	marks     marks // the greatest ID that was looked at, by priority,
	lasting   marks // and of a message that outlives a start
}

func laneOf(id uint64) uint8 { return uint8((id - 1) >> 56) }

// take copies a message.
func (h *haul) take(x *vhost.Seen, place uint16) {
	m := x.ForFilter(filter.Deaths | filter.Properties)
	l := document{id: x.ID, place: place, transient: !x.Persistent, held: x.State == queue.Held, message: m}
	body := x.Body(0, bodyMax)
	l.cut = int64(len(body)) < x.BodyBytes()
	at := len(h.octets)
	h.octets = append(append(h.octets, m.Properties...), body...)
	l.message.Properties = h.octets[at : at+len(m.Properties) : at+len(m.Properties)]
	l.message.Body = h.octets[at+len(m.Properties) : len(h.octets) : len(h.octets)]
	h.documents = append(h.documents, l)
}

func (c *crawler) portion() time.Duration {
	if c.busy {
		return busyPortion
	}
	return portion
}

// readPlace reads on at a place until its end.
func (c *crawler) readPlace(k *vhostIndex, place uint16, ends time.Time) (done bool, err error) {
	if c.options.Broker.LowOnDisk() {
		return false, nil
	}
	k.Lock()
	p := &k.record.Places[place]
	at := position{where: p.Where, marks: slices.Clone(p.marks)}
	k.Unlock()
	at.after = at.marks.of(0)
	for {
		var h haul
		more := false
		err := c.look(c.ctx, k.name, func(v vhost.Reader) { more = c.browse(v, &at, place, &h) })
		if err != nil {
			return false, err
		}
		taken := len(h.documents)
		if err := c.keep(k, place, &h); err != nil {
			return false, err
		}
		k.Lock()
		p := &k.record.Places[place]
		was := p.behind
		p.behind = max(was-int64(taken), 1)
		if !more {
			p.behind = 0
		}
		k.behind = max(k.behind-was+p.behind, 0)
		k.Unlock()
		if err := c.pause(); err != nil {
			return false, err
		}
		if !more {
			return true, nil
		}
		if time.Now().After(ends) {
			return false, nil
		}
	}
}

// A position is how far a place was read.
type position struct {
	where vhost.Where
	lane  uint8
	after uint64 // the last message
	marks marks  // those that were read before, of each lane
}

// browse takes a portion of a place into a haul, and reports whether there is more.
func (c *crawler) browse(v vhost.Reader, at *position, place uint16, h *haul) (more bool) {
	if last, none := v.WithoutDeadLetters(at.where); none {
		for _, id := range last {
			h.marks.raise(laneOf(id), id)
		}
		return false
	}
	began := time.Now()
	looks := 0
	for first := true; first || time.Since(began) < c.portion() && len(h.octets) < portionBytes; first = false {
		jump := false
		next, there := v.Browse(vhost.Glance{Where: at.where, After: at.after, Looks: looksOnce}, func(x *vhost.Seen) bool {
			if now := laneOf(x.ID); now != at.lane {
				if at.lane = now; at.marks.of(now) >= x.ID { // the first of it were read before
					at.after, jump = at.marks.of(now), true
					return false
				}
			}
			at.after = x.ID
			h.marks.raise(at.lane, x.ID)
			if x.Persistent {
				h.lasting.raise(at.lane, x.ID)
			}
			if x.DeadLetter {
				h.take(x, place)
			}
			looks++
			return (looks%16 != 0 || time.Since(began) < c.portion()) && len(h.octets) < portionBytes
		})
		if more = jump || there && next != 0; !more {
			break
		}
	}
	return more
}

// keep cuts the messages of a haul into words.
func (c *crawler) keep(k *vhostIndex, place uint16, h *haul) error {
	for more := true; more; more = len(h.documents) > 0 {
		k.Lock()
		for len(h.documents) > 0 && !k.tail.full() {
			k.tail.add(&h.documents[0])
			h.documents = h.documents[1:]
			c.indexed.Add(1)
		}
		full := k.tail.full()
		if len(h.documents) == 0 {
			p := &k.record.Places[place]
			p.marks.raiseAll(h.marks)
			p.Read.raiseAll(h.lasting)
		}
		k.Unlock()
		if full {
			if err := c.seal(k); err != nil {
				k.Lock()
				k.record.Places[place].sweep = true // some of these are here, and will be read again
				k.Unlock()
				return err
			}
		}
	}
	return nil
}

// errStore says that something could not be stored.
var errStore = errors.New("search: cannot write the index")

// errNoSpace says that nothing is written while publishers are held back for want of disk.
var errNoSpace = errors.New("search: not enough disk space for the index")

// seal stores the tail as a segment. While there is no space on the disk it fails, and the tail waits.
func (c *crawler) seal(k *vhostIndex) error {
	if c.options.Broker.LowOnDisk() {
		return errNoSpace
	}
	k.Lock()
	s := k.tailCopy()
	if s == nil {
		k.Unlock()
		return nil
	}
	gone := encodeSet(s.gone)
	state := k.record.clone()
	var drop []uint64
	if len(k.again) == 0 {
		drop = slices.Clone(k.dropping)
	}
	k.Unlock()
	if err := c.store.apply(&change{vhost: k.number, state: &state, add: s, addGone: gone, drop: drop}); err != nil {
		return errors.Join(errStore, err)
	}
	k.Lock()
	defer k.Unlock()
	s.parts, s.changed = nil, false
	for i := range k.gone {
		s.remove(i)
	}
	k.segments = append(k.segments, s)
	k.dropping = slices.Delete(k.dropping, 0, len(drop))
	k.tail, k.gone, k.copied, k.copiedOf = c.newTail(), map[int]bool{}, nil, 0
	return nil
}
