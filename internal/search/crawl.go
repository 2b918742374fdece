package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	// roundEvery is the interval between searches for new messages. With traffic the crawler rests busyRest times as
	// long as it worked, without traffic idleRest.
	roundEvery      = 400 * time.Millisecond
	busyRest        = 19
	busyRestAtLeast = 40 * time.Millisecond
	// workLeast is how long it works before it rests.
	workLeast = 2 * time.Millisecond
	// roundMost is how long it rests at the most when a round without news took long, and complainEvery how often the
	// log is told of the same trouble.
	roundMost     = 3 * time.Second
	complainEvery = time.Minute
	// boundEvery is how often the limits are looked at while nothing happens.
	boundEvery = 10 * time.Second
	// busyCopies is how many copies of messages made or ended in a second are traffic.
	busyCopies = 500
	// busyPortion is how long a look takes while there is traffic.
	busyPortion = time.Millisecond
	// sliceMost is how long one virtual host is read before the others are looked at.
	sliceMost = time.Second
	// portionBytes is how much of messages is copied in one look.
	portionBytes = 4 << 20
	// samplesOnce is how many queues are looked at at once.
	samplesOnce = 256
)

// A crawler reads what is new. It is one goroutine's.
type crawler struct {
	*Index
	ctx        context.Context
	cancel     context.CancelFunc
	busy       bool
	books      uint64 // copies made and ended, in all virtual hosts, in this round
	booksOld   uint64
	booksAt    time.Time
	since      time.Time         // since when the crawler works without a rest
	more       bool              // there is more to be read at once
	news       bool              // something has happened in this round
	hosts      []*accounts.VHost // of version; nil: they have to be asked for
	version    uint64
	boundAt    time.Time // when the limits were looked at last
	complained time.Time
}

var errStopped = errors.New("search: the index is being closed")

// crawl is the goroutine of an index.
func (x *Index) crawl() {
	defer close(x.stopped)
	c := newCrawler(x)
	defer c.cancel()
	go func() {
		<-x.stop
		c.cancel()
	}()
	for c.ctx.Err() == nil {
		began := time.Now()
		c.since, c.more = began, false
		err := c.round()
		c.complain(err)
		c.repair()
		work := time.Since(c.since)
		c.worked.Add(int64(work))
		rest := c.restAfter(work)
		if !c.more || err != nil {
			rest = max(rest, roundEvery, min(busyRest*time.Since(began), roundMost))
		}
		select {
		case <-c.ctx.Done():
		case <-x.wake:
		case <-time.After(rest):
		}
	}
}

// complain tells the log what went wrong, now and then.
func (c *crawler) complain(err error) {
	switch {
	case err == nil || c.ctx.Err() != nil:
	case errors.Is(err, errDamaged):
		c.damaged(err)
	case errors.Is(err, errNoSpace):
		// The alarm is in the log.
	case time.Since(c.complained) > complainEvery:
		c.complained = time.Now()
		c.options.Log.Warn("cannot index dead letters; trying again", "error", err)
	}
}

func newCrawler(x *Index) *crawler {
	c := &crawler{Index: x, booksAt: time.Now(), since: time.Now()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// restAfter is how long the crawler rests after work.
func (c *crawler) restAfter(work time.Duration) time.Duration {
	if !c.busy {
		return 0
	}
	return min(max(busyRest*work, busyRestAtLeast), roundMost)
}

// look is Index.look. That the machine lets it wait is no work.
func (c *crawler) look(ctx context.Context, name string, fn func(vhost.Reader)) error {
	began, inside := time.Now(), time.Duration(0)
	err := c.Index.look(ctx, name, func(v vhost.Reader) {
		entered := time.Now()
		fn(v)
		inside = time.Since(entered)
	})
	c.since = c.since.Add(time.Since(began) - inside)
	return err
}

// pause rests as traffic asks for, if there was work worth a rest. errStopped says that it is over.
func (c *crawler) pause() error {
	work := time.Since(c.since)
	if c.busy && work >= workLeast {
		select {
		case <-c.ctx.Done():
		case <-time.After(c.restAfter(work)):
		}
	}
	if !c.busy || work >= workLeast {
		c.worked.Add(int64(work))
		c.since = time.Now()
	}
	if c.ctx.Err() != nil {
		return errStopped
	}
	return nil
}

// workedInAll is how long the crawler has worked since it began: its rests are not counted.
func (c *crawler) workedInAll() time.Duration {
	return time.Duration(c.worked.Load()) + time.Since(c.since)
}

// repair makes a store anew that was found damaged.
func (c *crawler) repair() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.broken == nil {
		return
	}
	c.options.Log.Warn("the dead-letter index is damaged: rebuilding it", "error", c.mu.broken)
	if err := c.store.renew(); err != nil {
		c.options.Log.Error("cannot rebuild the dead-letter index", "error", err)
		return
	}
	clear(c.mu.vhosts)
	c.mu.broken = nil
	c.stored.Store(0)
}

// round looks at all virtual hosts.
func (c *crawler) round() error {
	view := c.options.Broker.Accounts()
	c.books, c.news = 0, false
	var errs []error
	others := c.hosts == nil || view.Version() != c.version
	if others {
		c.hosts, c.version = view.VHosts(), view.Version()
	}
	for _, h := range c.hosts {
		if err := c.visit(h.Name, h.LogID); err != nil {
			errs = append(errs, err)
		}
		if c.ctx.Err() != nil {
			return errStopped
		}
	}
	c.noteTraffic()
	if others {
		for name, k := range c.all() {
			if h, ok := view.VHost(name); !ok || h.LogID != k.number {
				errs = append(errs, c.forget(k))
			}
		}
	}
	if c.news || time.Since(c.boundAt) > boundEvery {
		errs = append(errs, c.bound())
		c.boundAt = time.Now()
	}
	err := errors.Join(errs...)
	if err != nil {
		c.hosts = nil // what could not be forgotten is tried again
	}
	return err
}

// noteTraffic judges whether messages flow.
func (c *crawler) noteTraffic() {
	now := time.Now()
	seconds := now.Sub(c.booksAt).Seconds()
	c.busy = c.books > c.booksOld && float64(c.books-c.booksOld) > busyCopies*max(seconds, 0.1)
	c.booksOld, c.booksAt = c.books, now
}

func (x *Index) all() map[string]*vhostIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := map[string]*vhostIndex{}
	for name, k := range x.mu.vhosts {
		all[name] = k
	}
	return all
}

// forget drops what is known of a virtual host.
func (c *crawler) forget(k *vhostIndex) error {
	c.mu.Lock()
	if c.mu.vhosts[k.name] == k {
		delete(c.mu.vhosts, k.name)
	}
	c.mu.Unlock()
	return c.store.apply(&change{vhost: k.number, dropAll: true})
}

// visit reads what is new in a virtual host.
func (c *crawler) visit(name string, number uint32) error {
	c.mu.Lock()
	k := c.mu.vhosts[name]
	c.mu.Unlock()
	if k != nil && k.number == number && k.rebuilding() {
		if err := c.forget(k); err != nil {
			return err
		}
		k = nil
	}
	if k == nil || k.number != number {
		if k != nil {
			if err := c.forget(k); err != nil {
				return err
			}
		}
		k = newKnown(name, number, c.newTail())
		c.mu.Lock()
		c.mu.vhosts[name] = k
		c.mu.Unlock()
	}
	began := c.options.Broker.Now()
	changed, err := c.meet(k)
	if err != nil || !changed {
		if err == nil {
			k.Lock()
			k.complete, k.behind = began, 0
			k.ready = true
			k.Unlock()
		}
		return c.ifUp(err)
	}
	c.news = true
	if err := c.ifUp(c.places(k)); err != nil {
		return err
	}
	k.Lock()
	k.behind = 0
	for i := range k.record.Places {
		k.behind += k.record.Places[i].behind
	}
	k.Unlock()
	done, settled, err := c.read(k)
	if err != nil {
		return c.ifUp(err)
	}
	k.Lock()
	defer k.Unlock()
	c.more = c.more || !done
	if done {
		k.ready, k.settled, k.behind = true, settled, 0
		if k.complete.IsZero() || !slices.ContainsFunc(k.record.Places, func(p placeRecord) bool { return p.holds && !p.Gone }) {
			k.complete = began
		}
	}
	return nil
}

// ifUp leaves out errors of a virtual host that is down: there is nothing to read.
func (c *crawler) ifUp(err error) error {
	if err == nil || errors.Is(err, errDamaged) || errors.Is(err, errStore) || errors.Is(err, errNoSpace) {
		return err
	}
	return nil
}

func (k *vhostIndex) rebuilding() bool {
	k.Lock()
	defer k.Unlock()
	return k.rebuild
}

// meet looks whether anything happened since the last round. A machine that is another one than then was opened anew:
// what was not safe has not been, and what was transient is gone.
func (c *crawler) meet(k *vhostIndex) (changed bool, err error) {
	now := c.options.Broker.Changed(k.name)
	k.Lock()
	same := now != 0 && now == k.met && k.settled
	k.Unlock()
	if same {
		c.books += k.books
		return false, nil
	}
	var machine vhost.Identity
	var books, rules uint64
	err = c.look(c.ctx, k.name, func(v vhost.Reader) {
		b := v.Books()
		machine, books, rules = v.Identity(), b.Made+b.Total()+heldEver(v.Traffic()), v.ConfigVersion()[1]
	})
	if err != nil {
		return false, err
	}
	c.books += books
	k.Lock()
	defer k.Unlock()
	k.met = now
	if machine != k.machine {
		if err := k.reopened(c.store, c.newTail()); err != nil {
			return false, err
		}
		k.machine, k.settled = machine, false
	}
	if books == k.books && rules == k.rules && k.settled {
		return false, nil
	}
	k.books, k.rules, k.settled = books, rules, false
	return true, nil
}

// heldEver is how many dead letters queues have held: the books do not change when one is held.
func heldEver(t vhost.Traffic) (n uint64) {
	for _, fates := range t.Fates {
		n += fates[vhost.FateHeld]
	}
	return n
}

// places lists where messages may be, and notes which places have changed.
func (c *crawler) places(k *vhostIndex) error {
	seen := map[uint16]bool{}
	var to vhost.Sampling
	first := true
	for more := true; more; {
		var some []placeSample
		err := c.look(c.ctx, k.name, func(v vhost.Reader) {
			if first {
				first = false
				s := v.LostStore()
				some = append(some, placeSample{placeName{Where: vhost.Where{Lost: true}}, s.Messages, v.NewestLostLetter(), 0})
			}
			more = v.Sample(&to, samplesOnce, func(q *vhost.QueueSample) {
				total := q.Ready + q.Unacked + q.Waiting + q.Held
				some = append(some, placeSample{queuePlace(q), total, q.Stats.Published, q.Stats.Held})
			})
		})
		if err != nil {
			return err
		}
		k.Lock()
		for _, s := range some {
			if n, ok := k.note(s); ok {
				seen[n] = true
			}
		}
		k.Unlock()
		if err := c.pause(); err != nil {
			return err
		}
	}
	k.Lock()
	defer k.Unlock()
	for i := range k.record.Places {
		if p := &k.record.Places[i]; !seen[uint16(i)] && !p.Gone {
			if err := k.lose(uint16(i), c.store); err != nil {
				return err
			}
		}
	}
	return nil
}

// queuePlace names a queue.
func queuePlace(q *vhost.QueueSample) placeName {
	return placeName{vhost.Where{Queue: q.Name}, uint32(q.ID), q.DeadLetterWay.Mark == vhost.Marked}
}

// placeSample is what tells whether anything happened at a place.
type placeSample struct {
	placeName
	total     int
	published uint64
	held      uint64
}

// note notes what has changed at a place. A queue without messages, of which nothing is known, is none.
func (k *vhostIndex) note(s placeSample) (n uint16, ok bool) {
	if _, met := k.byPlace[s.placeName]; !met && s.total == 0 {
		return 0, false
	}
	if n, ok = k.place(s.placeName); !ok {
		return 0, false
	}
	other := s.placeName
	other.marked = !other.marked
	if _, known := k.byPlace[other]; known && s.marked { // its older messages are messages, too, and not here yet
		k.ready = false
	}
	p := &k.record.Places[n]
	came := s.published - p.published
	if s.published < p.published {
		came = s.published
	}
	switch {
	case !p.met:
		p.behind = int64(s.total)
	case came > 0:
		p.behind = max(int64(min(came, uint64(s.total))), 1)
	}
	if s.total < p.total+int(came) || s.held != p.held {
		p.sweep = true
	}
	p.holds = p.holds || p.met && s.held != p.held
	p.met, p.total, p.published, p.held = true, s.total, s.published, s.held
	return n, true
}

// read reads what is new at all places, and compares what is known with what is there. done says that all that is new
// was read, settled that nothing is left to do at all.
func (c *crawler) read(k *vhostIndex) (done, settled bool, err error) {
	ends := time.Now().Add(sliceMost)
	settled = true
	for _, step := range []struct {
		due func(*placeRecord) bool
		do  func(*vhostIndex, uint16, time.Time) (bool, error)
	}{
		{func(p *placeRecord) bool { return p.behind > 0 }, c.readPlace},
		{func(p *placeRecord) bool { return p.sweep || p.sweptTo > 0 }, c.sweepPlace},
	} {
		for i := 0; ; i++ {
			k.Lock()
			n, due := len(k.record.Places), false
			if i < n {
				p := &k.record.Places[i]
				due = !p.Gone && step.due(p)
			}
			k.Unlock()
			if i >= n {
				break
			}
			if !due {
				continue
			}
			ended, err := step.do(k, uint16(i), ends)
			if err != nil {
				return false, false, err
			}
			settled = settled && ended
			if time.Now().After(ends) {
				return done, false, nil
			}
		}
		done = true
	}
	return true, settled, nil
}
