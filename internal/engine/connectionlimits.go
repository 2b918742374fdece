package engine

import (
	"cmp"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// connectionLimits counts what limits restrict: connections and their channels. Whether there is
// space for one more is decided and noted at once, so that of two that come for the last place one is refused. What is
// counted is counted without a limit too: one may be set later.
// Source: RabbitMQ vhosts#limits, access-control#user-limits.
type connectionLimits struct {
	mu struct {
		sync.Mutex
		byVHost  map[string]int64 // connections
		byUser   map[string]int64 // connections
		channels map[string]int64 // by user
		churn    Churn
	}
}

// Churn counts the connections and channels of clients that were opened and closed since the engine was opened.
type Churn struct {
	ConnectionsOpened, ConnectionsClosed uint64
	ChannelsOpened, ChannelsClosed       uint64
}

// Churn tells how many connections and channels came and went. Source: RabbitMQ prometheus, connection churn.
func (e *Engine) Churn() Churn {
	c := &e.connectionLimits
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.churn
}

// enter counts a connection, or refuses it.
func (l *connectionLimits) enter(view *accounts.View, user, vhost string) *amqp.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := view.VHost(vhost); ok {
		if most, ok := h.Limit(accounts.LimitConnections); ok && l.mu.byVHost[vhost] >= most {
			return accounts.RefuseVHostConnection(vhost, user, most)
		}
	}
	if u, ok := view.User(user); ok {
		if most, ok := u.Limit(accounts.LimitConnections); ok && l.mu.byUser[user] >= most {
			return accounts.RefuseUserConnection(user, most)
		}
	}
	count(&l.mu.byVHost, vhost, 1)
	count(&l.mu.byUser, user, 1)
	l.mu.churn.ConnectionsOpened++
	return nil
}

// leave takes a connection that has entered off the count.
func (l *connectionLimits) leave(user, vhost string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count(&l.mu.byVHost, vhost, -1)
	count(&l.mu.byUser, user, -1)
	l.mu.churn.ConnectionsClosed++
}

// openChannel counts a channel, or refuses it.
func (l *connectionLimits) openChannel(view *accounts.View, user string) *amqp.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u, ok := view.User(user); ok {
		if most, ok := u.Limit(accounts.LimitChannels); ok && l.mu.channels[user] >= most {
			return accounts.RefuseUserChannel(user, most)
		}
	}
	count(&l.mu.channels, user, 1)
	l.mu.churn.ChannelsOpened++
	return nil
}

// closeChannels takes n channels off the count.
func (l *connectionLimits) closeChannels(user string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count(&l.mu.channels, user, -int64(n))
	l.mu.churn.ChannelsClosed += uint64(n)
}

// beforeDeclare refuses a queue beyond the vhost's limit, and tells the machine the vhost's default queue type.
// Source: RabbitMQ vhosts#limits, vhosts#default-queue-type.
func (r *runner) beforeDeclare(c *vhost.Command) *amqp.Error {
	h, ok := r.engine.Accounts().VHost(r.name)
	if !ok {
		return nil // it is being deleted
	}
	d := *c.Definition
	most, limited := h.Limit(accounts.LimitQueues)
	if limited && !d.Passive && !vhost.IsDirectReply(d.Name) && int64(r.vhost.Reader().QueueCount()) >= most {
		if _, exists := r.vhost.Topology().Queue(d.Name); !exists {
			return accounts.RefuseNewQueue(d.Name, r.name, most)
		}
	}
	d.QueueType = cmp.Or(h.DefaultQueueType, r.engine.queueType)
	c.Definition = &d
	return nil
}

// QueueType is the type of queues that are declared without one in a vhost that has no default of its own.
func (e *Engine) QueueType() string { return cmp.Or(e.queueType, "classic") }

// count adds n under name; nothing is kept of what is not there.
func count(m *map[string]int64, name string, n int64) {
	if *m == nil {
		*m = map[string]int64{}
	}
	if (*m)[name] += n; (*m)[name] == 0 {
		delete(*m, name)
	}
}
