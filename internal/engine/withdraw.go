package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// withdraw makes changed permissions count for what was permitted once and goes on: consumers of queues that their
// user may no longer read are cancelled, and connections of users that are gone end. All else is asked for anew with
// every command. It runs at the beginning of a batch.
// Source: RabbitMQ consumer-cancel, connection tracking (user_deleted).
func (r *runner) withdraw() {
	view := r.engine.Access()
	if view.Version() == r.permitted {
		return
	}
	r.permitted = view.Version()
	for _, l := range r.sortedLinks() {
		if l.info.Local {
			continue
		}
		if _, ok := view.User(l.info.User); !ok {
			r.expel(l)
			continue
		}
		rights := r.rightsOf(l)
		var lost []vhost.Effect
		r.vhost.ConsumersOf(l.conn, func(ch vhost.ChannelID, tag, queue string) {
			if !rights.Read(r.name, queue) {
				lost = append(lost, vhost.Effect{Kind: vhost.Cancelled, Channel: ch, ConsumerTag: tag})
			}
		})
		for _, e := range lost {
			r.decide(nil, &vhost.Command{
				Kind: vhost.Cancel, Channel: e.Channel, NoWait: true, Definition: &vhost.Definition{ConsumerTag: e.ConsumerTag},
			})
			if l.info.CancelNotify {
				r.out.Effects = append(r.out.Effects, e)
			}
		}
	}
}

// sortedLinks lists the links in the order in which they came: map order must not reach a fact.
func (r *runner) sortedLinks() []*Link {
	return slices.SortedFunc(maps.Values(r.links), func(a, b *Link) int { return cmp.Compare(a.conn, b.conn) })
}

// expel ends the attachment of a user that is gone.
func (r *runner) expel(l *Link) {
	r.decide(nil, &vhost.Command{Kind: vhost.Disconnect, Conn: l.conn})
	l.dropWaiting()
	r.dropParked(l)
	r.detach(l)
	l.door.Stopped(access.RefuseDeletedUser(l.info.User))
}
