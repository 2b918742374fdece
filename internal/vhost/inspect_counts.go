package vhost

import "github.com/bartleby-mq/bartleby/internal/queue"

// QueueCounts is what changes of a queue from moment to moment.
type QueueCounts struct {
	ID                        QueueID
	Type                      string
	Ready, Unacked, Consumers int
	Waiting, Held             int
	HeldBy                    [causes]int // by why they are held
	Stats                     QueueStats
}

// QueueNames lists the names of the queues, in no order.
func (v *VHost) QueueNames() []string {
	names := make([]string, 0, len(v.queues))
	for _, q := range v.queues {
		names = append(names, q.object.Name)
	}
	return names
}

// Counts visits every queue, in no order: cheap enough to be asked again and again where Queues is not.
func (v *VHost) Counts(visit func(QueueCounts)) {
	for _, q := range v.queues {
		visit(QueueCounts{
			ID: q.id, Type: q.object.Type, Ready: q.messages.Ready(), Unacked: q.messages.Unacked(), Consumers: q.consumers.Len(),
			Waiting: q.messages.Count(queue.Waiting), Held: q.messages.Count(queue.Held), HeldBy: q.heldBy, Stats: q.stats,
		})
	}
}
