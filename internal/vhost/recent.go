package vhost

import (
	"sort"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// recent is what an exchange of the kind x-recent-history keeps for bindings to come: its newest messages. Durable and
// volatile ones are kept apart, as many of each as the exchange wants, so that what a log keeps does not depend on
// what it does not. No copy in a queue is meant by any of this, and the books know nothing of it.
// Source: RabbitMQ recent history exchange.
type recent struct {
	durable, volatile recentList
	last              uint64
}

// recentList is messages, oldest first, and how many bytes their records take.
type recentList struct {
	messages []recentMessage
	bytes    int64
}

type recentMessage struct {
	n               uint64 // order of arrival
	record, history storage.Ref
	durable         bool
}

// keepRecent notes m with exchanges on its way that keep what they see.
func (s *step) keepRecent(m *message, exchanges []*topology.Exchange) {
	for _, x := range exchanges {
		if m.isNotToKeep() {
			return
		}
		durable := x.Durable && m.persistent
		f := fact.Fact{Kind: fact.Noted, Durable: durable, Object: &fact.Object{Name: x.Name}}
		f.Entry = fact.EntryAt(s.recordOf(m, durable))
		if m.history != nil {
			f.History = s.historyOf(m, durable)
		}
		s.emit(&f)
	}
}

// isNotToKeep reports whether the publisher does not want the message to be kept.
func (m *message) isNotToKeep() bool {
	scan := m.scan()
	if scan.Headers == nil {
		return false
	}
	a, ok, err := amqp.LookupField(scan.Headers, "x-recent-history-no-store")
	return err == nil && ok && a.Kind == amqp.KindBool && a.Int != 0
}

// noted applies Noted.
func (v *VHost) noted(f *fact.Fact) {
	x := v.topo.Exchange(f.Object.Name)
	if x == nil || x.Kind != topology.RecentHistory {
		return
	}
	r := v.recents[x.Name]
	if r == nil {
		r = &recent{}
		v.recents[x.Name] = r
	}
	r.last++
	record := f.Entry.Ref(v.log)
	v.retain(record, f.Durable)
	v.retain(f.History, f.Durable)
	list := &r.volatile
	if f.Durable {
		list = &r.durable
	}
	list.messages = append(list.messages, recentMessage{r.last, record, f.History, f.Durable})
	list.bytes += int64(record.Size)
	for length := x.RecentLength(); int64(len(list.messages)) > length || list.bytes > recentBytesMax; {
		oldest := list.messages[0]
		list.messages, list.bytes = list.messages[1:], list.bytes-int64(oldest.record.Size)
		v.forget(oldest, f.Durable)
	}
}

func (r *recent) empty() bool { return len(r.durable.messages)+len(r.volatile.messages) == 0 }

func (v *VHost) forget(m recentMessage, durable bool) {
	v.release(m.record, durable)
	v.release(m.history, durable)
}

// forgetRecent lets go of what a deleted exchange kept.
func (v *VHost) forgetRecent(name string) {
	if r := v.recents[name]; r != nil {
		for _, m := range r.durable.messages {
			v.forget(m, true)
		}
		for _, m := range r.volatile.messages {
			v.forget(m, false)
		}
		delete(v.recents, name)
	}
}

// messages lists what is kept, the newest most of both kinds, oldest first.
func (r *recent) messages(most int64) []recentMessage {
	all := make([]recentMessage, 0, len(r.durable.messages)+len(r.volatile.messages))
	d, o := r.durable.messages, r.volatile.messages
	for len(d)+len(o) > 0 {
		if len(o) == 0 || len(d) > 0 && d[0].n < o[0].n {
			all, d = append(all, d[0]), d[1:]
		} else {
			all, o = append(all, o[0]), o[1:]
		}
	}
	return all[max(0, int64(len(all))-most):]
}

// A gift is what a new binding is given of what its source has kept: to the queue, or through the exchange that it
// leads to. What the source does not keep any more when its turn comes is not given.
type gift struct {
	binding *fact.Object
	list    []recentMessage
	targets []fact.QueueID // of the first of list, from next on
	next    int
}

// giftsFor is what b, a new binding, is given; nil if nothing is.
func (v *VHost) giftsFor(b *fact.Object) *gift {
	x := v.topo.Exchange(b.Source)
	r := v.recents[b.Source]
	if r == nil || x.Kind != topology.RecentHistory {
		return nil
	}
	return &gift{binding: b, list: r.messages(x.RecentLength())}
}

// give gives a portion of g, and reports whether there is more.
func (s *step) give(g *gift) (more bool) {
	for ; len(g.list) > 0; g.list, g.targets = g.list[1:], nil {
		if s.full() {
			return true
		}
		k := g.list[0]
		if r := s.recents[g.binding.Source]; r == nil || !r.has(k.n) || !s.topo.Bound(bindingOf(g.binding)) {
			continue
		}
		m := s.readBack(k.record, k.history, k.durable)
		if g.targets == nil {
			g.targets, g.next = s.targetsOfGift(g.binding, &m), 0
		}
		for ; g.next < len(g.targets); g.next++ {
			if s.full() {
				return true
			}
			if q := s.queues[g.targets[g.next]]; q != nil {
				s.deliverTo([]*queueState{q}, &m, 0)
			}
		}
	}
	return false
}

// targetsOfGift is where a message that was kept goes by a new binding.
func (s *step) targetsOfGift(b *fact.Object, m *message) []fact.QueueID {
	if !b.ToExchange {
		id, _ := s.topo.Queue(b.Name)
		return []fact.QueueID{id}
	}
	return s.routeKept(s.topo.Exchange(b.Name), m)
}

// has reports whether a message is still kept.
func (r *recent) has(n uint64) bool { return r.durable.has(n) || r.volatile.has(n) }

func (l *recentList) has(n uint64) bool {
	i := sort.Search(len(l.messages), func(i int) bool { return l.messages[i].n >= n })
	return i < len(l.messages) && l.messages[i].n == n
}

// routeKept asks the topology where a message that was kept goes from x.
func (s *step) routeKept(x *topology.Exchange, m *message) []fact.QueueID {
	if m.history != nil {
		return s.routeByHistory(x, m).Queues
	}
	scan := m.scan()
	return s.routeOf(x, &topology.Message{
		Key: m.content.Key, More: append(m.content.CC[:len(m.content.CC):len(m.content.CC)], m.content.BCC...),
		Properties: m.content.Properties, Headers: scan.Headers, Entropy: s.draw(),
	}, nil).Queues
}
