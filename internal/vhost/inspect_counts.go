package vhost

// QueueCounts is what changes of a queue from moment to moment.
type QueueCounts struct {
	ID                        QueueID
	Ready, Unacked, Consumers int
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
		visit(QueueCounts{q.id, q.messages.Ready(), q.messages.Unacked(), q.consumers.Len(), q.stats})
	}
}
