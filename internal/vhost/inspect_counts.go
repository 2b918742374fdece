package vhost

import "github.com/bartleby-mq/bartleby/internal/queue"

// QueueCounts is what changes of a queue from moment to moment.
type QueueCounts struct {
	ID                        QueueID
	Ready, Unacked, Consumers int
	Waiting, Held             int
	HeldBy                    [causes]int // by why they are held
	Stats                     QueueStats
}

// Add adds what o has counted.
func (s *QueueStats) Add(o *QueueStats) {
	s.Published += o.Published
	s.Delivered += o.Delivered
	s.Got += o.Got
	s.Acked += o.Acked
	s.Confirmed += o.Confirmed
	s.Held += o.Held
	s.Kept += o.Kept
	s.TimedOut += o.TimedOut
	s.DeliveredNoAck += o.DeliveredNoAck
	s.GotNoAck += o.GotNoAck
	s.Redelivered += o.Redelivered
	s.GotNone += o.GotNone
	s.Letters += o.Letters
	s.Written += o.Written
	s.Purged += o.Purged
	addAll(s.Retried[:], o.Retried[:])
	s.Waits += o.Waits
	s.Exhausted += o.Exhausted
	s.Redriven += o.Redriven
	s.Discarded += o.Discarded
	s.RedrivesRefused += o.RedrivesRefused
	s.CameBack += o.CameBack
	for i := range o.Died {
		for j, n := range o.Died[i] {
			s.Died[i][j] += n
		}
	}
	for i, n := range o.Lost {
		s.Lost[i] += n
	}
}

// keepCounts keeps what a queue has counted that is being deleted.
func (v *VHost) keepCounts(q *queueState) {
	if v.gone == nil {
		v.gone = map[string]*QueueStats{}
	}
	if v.gone[q.object.Type] == nil {
		v.gone[q.object.Type] = &QueueStats{}
	}
	if q.stats != nil {
		v.gone[q.object.Type].Add(q.stats)
	}
	v.missedBy(q)
}

// CountsByType sums up what the queues of each type have counted since the vhost was opened, those that are no more
// among them. The map is the caller's.
func (v *VHost) CountsByType() map[string]QueueStats {
	all := map[string]QueueStats{}
	sum := func(kind string, s *QueueStats) {
		t := all[kind]
		t.Add(s)
		all[kind] = t
	}
	for kind, s := range v.gone {
		sum(kind, s)
	}
	for q := range v.named() {
		if q.stats != nil {
			sum(q.object.Type, q.stats)
		}
	}
	return all
}

// QueueNames lists the names of the queues, in no order.
func (v *VHost) QueueNames() []string {
	names := make([]string, 0, len(v.queues))
	for q := range v.named() {
		names = append(names, q.object.Name)
	}
	return names
}

// Counts visits every queue, in no order: cheap enough to be asked again and again where Queues is not.
func (v *VHost) Counts(visit func(QueueCounts)) {
	for q := range v.named() {
		visit(QueueCounts{
			ID: q.id, Ready: q.messages.Ready(), Unacked: q.messages.Unacked(), Consumers: q.consumers.Len(),
			Waiting: q.messages.Count(queue.Waiting), Held: q.messages.Count(queue.Held), HeldBy: q.heldBy, Stats: q.counts(),
		})
	}
}
