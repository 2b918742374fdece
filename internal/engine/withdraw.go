package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// withdraw applies changed permissions to what goes on: it cancels consumers of queues that their user may no longer
// read, and ends connections of users that are gone. Everything else is checked with every command. It runs at the
// beginning of a batch.
// Source: RabbitMQ consumer-cancel, connection tracking (user_deleted).
func (r *runner) withdraw() {
	view := r.engine.Accounts()
	if view.Version() == r.permitted {
		return
	}
	r.permitted = view.Version()
	for _, s := range r.sortedSessions() {
		if s.info.Local {
			continue
		}
		if _, ok := view.User(s.info.User); !ok {
			r.expel(s)
			continue
		}
		rights := r.rightsOf(s)
		var lost []vhost.Effect
		r.vhost.Reader().ConsumersOf(s.conn, func(ch vhost.ChannelID, tag, queue string) {
			if !rights.Read(r.name, queue) {
				lost = append(lost, vhost.Effect{Kind: vhost.Cancelled, Channel: ch, ConsumerTag: tag})
			}
		})
		for _, e := range lost {
			r.decide(nil, &vhost.Command{
				Kind: vhost.Cancel, Channel: e.Channel, NoWait: true, Definition: &vhost.Definition{ConsumerTag: e.ConsumerTag},
			})
			if s.info.CancelNotify {
				r.out.Effects = append(r.out.Effects, e)
			}
		}
	}
}

// sortedSessions lists the sessions in the order in which they came: map order must not reach a fact.
func (r *runner) sortedSessions() []*Session {
	return slices.SortedFunc(maps.Values(r.sessions), func(a, b *Session) int { return cmp.Compare(a.conn, b.conn) })
}

// expel ends the attachment of a user that is gone.
func (r *runner) expel(s *Session) {
	r.decide(nil, &vhost.Command{Kind: vhost.Disconnect, Conn: s.conn})
	s.dropWaiting()
	r.dropParked(s)
	r.detach(s)
	s.frontend.Stopped(accounts.RefuseDeletedUser(s.info.User))
}
