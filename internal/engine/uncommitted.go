package engine

import (
	"sync"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Budget bounds the memory, in bytes, of something that clients make the node hold: of the node, of all connections of
// a user, and of one connection. Zero means the default, see Or.
type Budget struct{ Node, User, Connection int64 }

// The default of a budget: a quarter of the memory watermark; for a user three quarters of that, so that nobody can
// take it all; for a connection half of it.
const (
	budgetShare   = 4        // one part in so many of the watermark
	budgetLeast   = 16 << 20 // bytes, of a watermark of zero, too
	budgetUnknown = 1 << 30  // where the memory of the machine is not known
)

// memoryPart is one part in so many of the memory watermark, in bytes: at least least, and unknown where the memory of
// the machine is not known.
func memoryPart(r resource.Status, parts, least, unknown int64) int64 {
	if r.MemoryLimit > 0 || r.MemoryMax > 0 {
		return max(r.MemoryLimit/parts, least)
	}
	return unknown
}

// Or fills in what is zero, for a node with these resources.
func (b Budget) Or(r resource.Status) Budget {
	if b.Node == 0 {
		b.Node = memoryPart(r, budgetShare, budgetLeast, budgetUnknown)
	}
	if b.User == 0 {
		b.User = b.Node / 4 * 3
	}
	if b.Connection == 0 {
		b.Connection = b.Node / 2
	}
	return b
}

// uncommitted counts what transactions hold that are not committed, in all vhosts, and refuses what is beyond a budget:
// it is in memory until the client commits, and the client may never do that. Any goroutine may call its methods.
type uncommitted struct {
	most Budget
	mu   struct {
		sync.Mutex
		total   int64
		users   map[string]int64 // without zeros
		refused uint64
	}
}

// Uncommitted are figures of transactions that are not committed.
type Uncommitted struct {
	Bytes   int64  // that they hold now
	Refused uint64 // commands that would have held too much; their connections have ended
}

// Uncommitted tells what transactions hold.
func (e *Engine) Uncommitted() Uncommitted {
	u := &e.uncommitted
	u.mu.Lock()
	defer u.mu.Unlock()
	return Uncommitted{u.mu.total, u.mu.refused}
}

// change counts that a connection of user holds now bytes, where it held before, and reports if that is too much. It is
// counted all the same: whoever is refused gives it back.
func (u *uncommitted) change(user string, before, now int64) *amqp.Error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.total += now - before
	count(&u.mu.users, user, now-before)
	if now <= before {
		return nil
	}
	var most int64
	var whose string
	switch {
	case now > u.most.Connection:
		most, whose = u.most.Connection, "this connection"
	case u.mu.users[user] > u.most.User:
		most, whose = u.most.User, "user '"+user+"'"
	case u.mu.total > u.most.Node:
		most, whose = u.most.Node, "all clients"
	default:
		return nil
	}
	u.mu.refused++
	return amqp.ResourceError("transactions of %s hold more than %d bytes that are not committed", whose, most)
}

// holder is a connection with transactions that hold something.
type holder struct {
	user  string
	bytes int64
}

// countUncommitted follows a change of what transactions hold: by a command of l, or by a tick, which only commits.
// Errors refuse the command.
func (r *runner) countUncommitted(s *Session) *amqp.Error {
	r.uncommitted = r.vhost.Uncommitted()
	if s != nil {
		return r.countHolder(s.conn, s.info.User)
	}
	for id, h := range r.holders {
		_ = r.countHolder(id, h.user) // it cannot have more than before
	}
	return nil
}

func (r *runner) countHolder(id fact.ConnID, user string) *amqp.Error {
	before, now := r.holders[id].bytes, r.vhost.UncommittedOf(id)
	if now == 0 {
		delete(r.holders, id)
	} else {
		r.holders[id] = holder{user, now}
	}
	return r.engine.uncommitted.change(user, before, now)
}

// dropUncommitted takes everything of a runner that ends off the count.
func (r *runner) dropUncommitted() {
	for _, h := range r.holders {
		_ = r.engine.uncommitted.change(h.user, h.bytes, 0) // it is less than before
	}
	clear(r.holders)
}
