package vhost

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// CountsByType sums up what the queues of each type have counted since the vhost was opened, those that are no more
// among them. The map is the caller's.
func (r Reader) CountsByType() map[string]QueueStats {
	all := map[string]QueueStats{}
	sum := func(kind string, s *QueueStats) {
		t := all[kind]
		t.Add(s)
		all[kind] = t
	}
	for kind, s := range r.v.gone {
		sum(kind, s)
	}
	for q := range r.v.named() {
		counted := q.counts()
		sum(q.object.Type, &counted)
	}
	return all
}

// QueueNames lists the names of the queues, in no order.
func (r Reader) QueueNames() []string {
	names := make([]string, 0, len(r.v.queues))
	for q := range r.v.named() {
		names = append(names, q.object.Name)
	}
	return names
}

// Traffic tells what the vhost has counted.
func (r Reader) Traffic() Traffic {
	t := r.v.traffic
	t.Repliers = len(r.v.repliers)
	return t
}

// ExchangeStats visits the exchanges to which anything was published since the vhost was opened, in no order.
func (r Reader) ExchangeStats(visit func(exchange string, s ExchangeStats)) {
	for name, f := range r.v.flows {
		visit(name, f.ExchangeStats)
	}
}

// Inflows visits where the messages in a queue came from: for each exchange that clients published to, how many reached
// the queue since the vhost was opened, in no order.
func (r Reader) Inflows(name string, visit func(exchange string, n uint64)) {
	q := r.v.queueNamed(name)
	if q == nil {
		return
	}
	for _, x := range q.inflows {
		if !x.from.gone {
			visit(x.from.name, x.n)
		}
	}
}

// Lateness tells how punctual the vhost has been.
func (r Reader) Lateness() Lateness { return r.v.lateness }

// LargeTables is about how many bytes of memory large arguments and definitions take, and how many they may.
func (r Reader) LargeTables() (bytes, most int64) { return r.v.extra, tablesExtraMax }

// Books counts all copies: those of persistent messages in durable queues since the log began, the others since
// the vhost was opened.
func (r Reader) Books() fact.Books { return r.v.books }

// DurableBooks counts the copies that the log knows.
func (r Reader) DurableBooks() fact.Books { return r.v.durable }
