package engine

import (
	"sync"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Budget bounds the memory, in bytes, of something that clients make the node hold: of the node, of all connections of
// a user, and of one connection. Zero means the default, see Or.
type Budget struct{ Node, User, Connection int64 }

// The default of a budget is a part of the memory watermark; for a user three quarters of that, so that nobody can take
// it all; for a connection half of it.
const (
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

// Or fills in what is zero: one part in so many of the watermark for the node, with these resources.
func (b Budget) Or(r resource.Status, parts int64) Budget {
	if b.Node == 0 {
		b.Node = memoryPart(r, parts, budgetLeast, budgetUnknown)
	}
	if b.User == 0 {
		b.User = b.Node / 4 * 3
	}
	if b.Connection == 0 {
		b.Connection = b.Node / 2
	}
	return b
}

// budgeted counts what connections make all vhosts hold, of one kind, and refuses what is beyond a budget. Any
// goroutine may call its methods.
type budgeted struct {
	most  Budget
	small int64  // bytes that a connection may hold although others have used up the budget
	text  string // of the refusal: whose and how many bytes
	mu    struct {
		sync.Mutex
		total   int64
		users   map[string]int64 // without zeros
		refused uint64
	}
}

const (
	// uncommittedText is of what transactions hold that are not committed: it is in memory until the client commits,
	// and the client may never do that.
	uncommittedText = "transactions of %s hold more than %d bytes that are not committed"
	// subscribedText is of channels and consumers: they are in memory for as long as the connection is there.
	subscribedText = "channels and consumers of %s use more than %d bytes of memory"
	// subscribedSmall is enough for 10 channels with 10 consumers, which is what most clients have.
	subscribedSmall = 48 << 10
	// A quarter of the watermark for what is not committed, an eighth for channels and consumers.
	uncommittedShare, subscribedShare = 4, 8
)

// Held are figures of what connections make all vhosts hold, of one kind.
type Held struct {
	Bytes   int64  // now
	Refused uint64 // commands that were beyond the budget; their connections have ended
}

// Uncommitted tells what transactions hold that are not committed.
func (e *Engine) Uncommitted() Held { return e.uncommitted.figures() }

// Subscribed tells what channels and consumers take.
func (e *Engine) Subscribed() Held { return e.subscribed.figures() }

func (u *budgeted) figures() Held {
	u.mu.Lock()
	defer u.mu.Unlock()
	return Held{u.mu.total, u.mu.refused}
}

// change counts that a connection of user holds now bytes, where it held before, and reports if that is too much. It is
// counted all the same: whoever is refused gives it back.
func (u *budgeted) change(user string, before, now int64) *amqp.Error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.total += now - before
	count(&u.mu.users, user, now-before)
	if now <= before || now <= u.small {
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
	return amqp.ResourceError(u.text, whose, most)
}

// holder is a connection that makes the vhost hold something.
type holder struct {
	user  string
	bytes int64
}

// holders are the connections of a runner, of one kind of what they make it hold.
type holders struct {
	of    *budgeted
	bytes *vhost.ConnBytes
	all   map[fact.ConnID]holder
}

func holdersOf(of *budgeted, bytes *vhost.ConnBytes) holders {
	return holders{of, bytes, map[fact.ConnID]holder{}}
}

// count follows a change by a command of s, which is nil for a tick. An error refuses the command. Only a command of
// its own makes a connection hold more.
func (h *holders) count(s *Session) (refused *amqp.Error) {
	for _, id := range h.bytes.TakeChanged() {
		before, now := h.all[id], h.bytes.Of(id)
		user := before.user
		if s != nil && s.conn == id {
			user = s.info.User
		}
		if now == 0 {
			delete(h.all, id)
		} else {
			h.all[id] = holder{user, now}
		}
		if err := h.of.change(user, before.bytes, now); err != nil {
			refused = err
		}
	}
	return refused
}

// drop takes everything of a runner that ends off the count.
func (h *holders) drop() {
	for _, x := range h.all {
		_ = h.of.change(x.user, x.bytes, 0) // it is less than before
	}
	clear(h.all)
}
