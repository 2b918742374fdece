package amqpserver

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// unfinished counts the octets of messages that have not arrived whole, and of those that have, in parts, and that the
// engine has not taken yet. It bounds them for the node and for each user: a connection that would exceed a bound
// waits, in order, until others are done. Its methods may be called by any goroutine.
//
// Waiting cannot last for ever, though all of the space may be taken by messages whose readers wait: the first that
// waits has the pass, with which it exceeds the bounds until one of its messages is done. Who waits too long, or holds
// the pass and sends nothing, ends: see awaitMemory, checkProgress.
type unfinished struct {
	node, user int64 // octets at most; 0 means no bound

	mu struct {
		sync.Mutex
		total   int64
		users   map[string]int64 // octets; only those who have some
		waiting []*conn          // for space, the first has waited longest
		pass    *conn            // the one that may exceed the bounds; nil if nobody does
	}
}

// UnfinishedMessages are figures of messages that have not arrived whole.
type UnfinishedMessages struct {
	Bytes   int64  // that they take now, with those in parts that were not taken yet
	Waiting int    // connections that wait for space
	Ended   uint64 // connections that ended because a message or a frame did not come on, or found no space
}

// take asks for n octets more, and reports whether c has them. If not, and if it is to wait, c waits: eased tells it to
// ask again.
func (u *unfinished) take(c *conn, n int64, wait bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := slices.Index(u.mu.waiting, c)
	switch {
	case u.mu.pass == c:
	case u.fits(c.user, n) && (at >= 0 || !u.isAwaitedBy(c.user)): // nobody is overtaken whom that would cost space
	case !wait:
		return false
	case u.mu.pass == nil && (at == 0 || len(u.mu.waiting) == 0):
		u.mu.pass = c
	default:
		if at < 0 {
			u.mu.waiting = append(u.mu.waiting, c)
		}
		return false
	}
	if at >= 0 {
		u.mu.waiting = slices.Delete(u.mu.waiting, at, at+1)
	}
	u.add(c.user, n)
	return true
}

// hold counts n octets that are there already, and reports whether that is bearable: the user is within its bound.
func (u *unfinished) hold(c *conn, n int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(c.user, n)
	return (u.user == 0 || u.mu.users[c.user] <= u.user) && (u.node == 0 || u.mu.total <= 2*u.node)
}

// free gives n octets back.
func (u *unfinished) free(c *conn, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(c.user, -n)
	if u.mu.pass == c {
		u.mu.pass = nil
	}
	u.wake()
}

// leave forgets that c waits, or has the pass.
func (u *unfinished) leave(c *conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at := slices.Index(u.mu.waiting, c); at >= 0 {
		u.mu.waiting = slices.Delete(u.mu.waiting, at, at+1)
	}
	if u.mu.pass == c {
		u.mu.pass = nil
	}
	u.wake()
}

// wake lets those ask again who wait. mu is held.
func (u *unfinished) wake() {
	for _, c := range u.mu.waiting {
		signal(c.outbox.eased)
	}
}

// isAwaitedBy reports whether a connection of that user waits, or one that waits for space of the node. mu is held.
func (u *unfinished) isAwaitedBy(user string) bool {
	return slices.ContainsFunc(u.mu.waiting, func(c *conn) bool {
		return c.user == user || u.user == 0 || u.mu.users[c.user] < u.user
	})
}

func (u *unfinished) fits(user string, n int64) bool {
	return (u.node == 0 || u.mu.total+n <= u.node) && (u.user == 0 || u.mu.users[user]+n <= u.user)
}

func (u *unfinished) add(user string, n int64) {
	u.mu.total += n
	if u.mu.users[user] += n; u.mu.users[user] == 0 {
		delete(u.mu.users, user)
	}
}

func (u *unfinished) figures() (octets int64, waiting int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.total, len(u.mu.waiting)
}

// contentHeld counts n octets more of ch's content that are there already. Errors end the connection.
func (c *conn) contentHeld(ch *channel, n int) error {
	if err := c.checkUnfinished(n); err != nil {
		return err
	}
	c.unfinished += int64(n)
	ch.content.held += int64(n)
	if !c.server.unfinished.hold(c, int64(n)) {
		return c.endUnfinished("memory limit reached for incomplete messages of user '%s'", c.user)
	}
	return nil
}

// reserveContent asks for n octets more for ch's content: errNoMemory if it has to wait, or would have to. Other
// errors, if it is to wait, end the connection.
func (c *conn) reserveContent(ch *channel, n int, wait bool) error {
	if !wait && c.exceedsUnfinished(n) {
		return errNoMemory
	}
	if err := c.checkUnfinished(n); err != nil {
		return err
	}
	if !c.server.unfinished.take(c, int64(n), wait) {
		return errNoMemory
	}
	c.unfinished += int64(n)
	ch.content.held += int64(n)
	return nil
}

// checkUnfinished refuses more than a connection may have of messages that have not arrived whole. Waiting would not
// help: what they lack is behind the frame that has no space.
func (c *conn) checkUnfinished(n int) error {
	if c.exceedsUnfinished(n) {
		return c.endUnfinished("more than %d octets in incomplete messages", c.server.options.unfinishedMost())
	}
	return nil
}

func (c *conn) exceedsUnfinished(n int) bool {
	o := &c.server.options
	return o.UnfinishedMaxConnection > 0 && c.unfinished+int64(n) > o.unfinishedMost()
}

// endUnfinished counts and makes a refusal that ends the connection.
func (c *conn) endUnfinished(format string, args ...any) *amqp.Error {
	c.server.unfinishedEnded.Add(1)
	return amqp.ResourceError(format, args...)
}

// errNoMemory says that a frame cannot be taken yet.
var errNoMemory = errors.New("no memory for a frame")

// awaitMemory waits until the frame at which frames has stopped may be tried again.
func (c *conn) awaitMemory() error {
	timeout, now := c.server.options.UnfinishedTimeout, time.Now()
	if c.stalledSince.IsZero() || c.blocked.Load() { // an alarm may last
		c.stalledSince = now
	}
	var left time.Duration
	if timeout > 0 && !c.blocked.Load() {
		if left = timeout - now.Sub(c.stalledSince); left <= 0 {
			return c.endUnfinished("no memory for a message within %v: too many other messages are incomplete", timeout)
		}
	}
	c.pause(left)
	switch {
	case c.outbox.isSealed():
		return errEnding
	case c.outbox.isOver():
		return c.lost(net.ErrClosed)
	}
	return nil
}

// holdFrame counts n octets of a buffer in which a frame has not arrived whole, or no longer if they are below zero.
// Where there is no space the reader wakes and ends the connection.
func (c *conn) holdFrame(n int64) {
	switch {
	case n < 0:
		c.server.unfinished.free(c, -n)
	case !c.server.unfinished.hold(c, n):
		c.crowded = true
		c.socket.SetReadDeadline(past)
	}
}

// progress is what checkProgress saw of a frame or a content when it looked last.
type progress struct {
	seen   bool
	octets int // that had come of it
	idle   int // looks since then at which no more had come than the least
}

// look reports whether it has come to rest, of which so many octets have come.
func (p *progress) look(octets int) (resting bool) {
	if !p.seen || octets-p.octets >= progressMin {
		*p = progress{seen: true, octets: octets}
		return false
	}
	p.idle++
	return p.idle >= progressLooks
}

// isUnfinished reports whether a frame or a content has begun and is not whole.
func (c *conn) isUnfinished() bool { return len(c.partial) > 0 || c.input.start < c.input.end }

// checkProgress ends a connection on which a frame or a content has begun that does not come on.
func (c *conn) checkProgress(now time.Time) error {
	c.checkAt = time.Time{}
	timeout := c.server.options.UnfinishedTimeout
	if c.excused {
		c.excused, c.ofFrame = false, progress{}
		for _, ch := range c.partial {
			ch.content.progress = progress{}
		}
	}
	for _, ch := range slices.Clone(c.partial) {
		t := &ch.content
		if ch.isDeaf() {
			c.dropContent(ch)
		} else if t.progress.look(len(t.body) + c.input.begun()) {
			return c.endUnfinished("message on channel %d is stalled: %d of %d octets received, almost none for %v",
				ch.number, len(t.body), t.size, timeout)
		}
	}
	if at := c.input.position(); at != c.frameAt || c.input.start == c.input.end {
		c.frameAt, c.ofFrame = at, progress{}
	}
	if n := c.input.end - c.input.start; n > 0 && c.ofFrame.look(n) {
		return c.endUnfinished("frame is stalled: %d octets received, almost none for %v", n, timeout)
	}
	c.watchProgress(now)
	return nil
}

// watchProgress lets checkProgress look, if there is something to look at. Looks are so far apart that arming them
// costs nothing per read.
func (c *conn) watchProgress(now time.Time) {
	if timeout := c.server.options.UnfinishedTimeout; timeout > 0 && c.isUnfinished() {
		c.checkAt = now.Add(timeout / progressLooks)
	}
}
