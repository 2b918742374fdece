package vhost

// QueueCounts is what changes of a queue from moment to moment.
type QueueCounts struct {
	ID                        QueueID
	Ready, Unacked, Consumers int
	Stats                     QueueStats
}

// Counts visits every queue, in no order: cheap enough to be asked again and again where Queues is not.
func (v *VHost) Counts(visit func(QueueCounts)) {
	for _, q := range v.queues {
		visit(QueueCounts{q.id, q.messages.Ready(), q.messages.Unacked(), q.consumers.Len(), q.stats})
	}
}
