package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// QueueStats counts what happened in a queue since the vhost was opened.
type QueueStats struct {
	Published, Delivered, Got, Acked uint64                      // Published: copies that came in, dead letters among them
	DeliveredNoAck, GotNoAck         uint64                      // of Delivered and Got, without acknowledgement
	Redelivered                      uint64                      // of Delivered and Got
	GotNone                          uint64                      // gets that found nothing
	Letters                          uint64                      // of Published: dead letters
	Written                          uint64                      // of Published: copies in the log
	Purged                           uint64                      // messages that a purge took
	Died                             [strategies][reasons]uint64 // by Strategy and Reason
	Confirmed                        uint64                      // dead letters of AtLeastOnce that all their targets have
	Lost                             [causes]uint64              // dead letters of this queue that found no place, by Cause
	Held                             uint64                      // dead letters that it had to hold
	Kept                             uint64                      // messages that stayed because they would have come round in a cycle
	TimedOut                         uint64                      // consumers that took too long
	Retried                          [len(RetriedFor)]uint64     // held letters that were tried again in vain, by why
	Waits                            uint64                      // returned messages that wait for their retry
	Exhausted                        uint64                      // of Died: messages that had been retried as often as may be
	Redriven, Discarded              uint64                      // letters that were sent back or discarded by hand
	RedrivesRefused                  uint64                      // letters that were to be sent back, and stayed
	CameBack                         uint64                      // of Redriven: have died again, wherever that was
}

// counters is what q counts in, from now on if not before.
func (q *queueState) counters() *QueueStats {
	if q.stats == nil {
		q.stats = &QueueStats{}
	}
	return q.stats
}

// counts is what q has counted.
func (q *queueState) counts() QueueStats {
	if q.stats == nil {
		return QueueStats{}
	}
	return *q.stats
}

// Strategy is how dead letters leave a queue. Source: RabbitMQ prometheus, dead_letter_strategy.
type Strategy uint8

// The strategies. Disabled is that of a queue whose dead-letter exchange is not set or, if letters are not held, is
// not there.
const (
	Disabled Strategy = iota
	AtMostOnce
	AtLeastOnce
	strategies
)

// String names the strategy as metrics do.
func (s Strategy) String() string {
	return [strategies]string{"disabled", "at_most_once", "at_least_once"}[s]
}

// strategyOf is how a letter of q that dies now leaves it.
func (v *VHost) strategyOf(q *queueState) Strategy {
	switch {
	case !q.settings.hasDLX:
		return Disabled
	case q.settings.AtLeastOnce:
		return AtLeastOnce
	case v.topo.Exchange(q.settings.DeadLetterExchange) == nil:
		return Disabled
	}
	return AtMostOnce
}

// QueueView is a queue as lists show it. Its tables are shared: do not change them.
type QueueView struct {
	Object
	ID                       QueueID
	Owner                    string // the connection of an exclusive queue
	Ready, Unacked           int
	Waiting, Held            int
	ReadyBytes, UnackedBytes int64
	WaitingBytes, HeldBytes  int64
	Consumers                int
	Policy, OperatorPolicy   string
	EffectivePolicy          amqp.Table
	IgnoredKeys              []string // of EffectivePolicy: those that do nothing to the queue
	Settings                 Settings
	Stats                    QueueStats
	SingleActiveTag          string
}

// ConsumerView is a consumer as lists show it.
type ConsumerView struct {
	Tag, Queue, Connection string
	Channel                uint16
	AckRequired, Exclusive bool
	Active                 bool
	Prefetch               int64
	Timeout                int64 // ms until a delivery is taken back, 0: never
	Arguments              amqp.Table
}

// ChannelView is a channel as lists show it.
type ChannelView struct {
	ID             ChannelID
	Connection     string
	User           string
	Number         uint16
	Consumers      int
	Unacked        int
	Uncommitted    int // messages in a transaction
	Unsettled      int // deliveries that a transaction settles
	Prefetch       int64
	GlobalPrefetch int64
	Confirms       bool
}

// Queues lists the queues by name.
func (v *VHost) Queues() []QueueView {
	all := make([]QueueView, 0, len(v.queues))
	for q := range v.named() {
		all = append(all, v.view(q))
	}
	slices.SortFunc(all, func(a, b QueueView) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Queue shows one queue.
func (v *VHost) Queue(name string) (QueueView, bool) {
	q := v.queueNamed(name)
	if q == nil {
		return QueueView{}, false
	}
	return v.view(q), true
}

func (v *VHost) view(q *queueState) QueueView {
	view := QueueView{
		Object: q.object, ID: q.id,
		Ready: q.messages.Ready(), Unacked: q.messages.Unacked(),
		Waiting: q.messages.Count(queue.Waiting), Held: q.messages.Count(queue.Held),
		ReadyBytes: q.messages.Bytes(queue.Ready), UnackedBytes: q.messages.Bytes(queue.Unacked),
		WaitingBytes: q.messages.Bytes(queue.Waiting), HeldBytes: q.messages.Bytes(queue.Held),
		Consumers: q.consumers.Len(), Policy: q.policy, OperatorPolicy: q.operator, Settings: *q.settings, Stats: q.counts(),
		EffectivePolicy: v.effectivePolicy(q),
	}
	view.IgnoredKeys = v.options.inert(view.EffectivePolicy)
	if n := v.conns[q.owner]; n != nil {
		view.Owner = n.name
	}
	if q.settings.SingleActive {
		for _, x := range q.consumers.All() {
			if q.consumers.Active(x) {
				view.SingleActiveTag = x.Tag
			}
		}
	}
	return view
}

func (v *VHost) effectivePolicy(q *queueState) amqp.Table {
	var user, operator amqp.Table
	if p := v.policies.user[q.policy]; p != nil && q.policy != "" {
		user = p.Definition
	}
	if p := v.policies.operator[q.operator]; p != nil && q.operator != "" {
		operator = p.Definition
	}
	return mergeDefinitions(user, operator)
}

// Consumers lists the consumers, by queue, in the order in which they are served.
func (v *VHost) Consumers() []ConsumerView {
	var all []ConsumerView
	for _, q := range v.sortedQueues() {
		for _, x := range q.consumers.All() {
			all = append(all, v.consumerView(q, x))
		}
	}
	return all
}

func (v *VHost) consumerView(q *queueState, x *queue.Consumer) ConsumerView {
	view := ConsumerView{
		Tag: x.Tag, Queue: q.object.Name, AckRequired: !x.NoAck, Exclusive: x.Exclusive, Active: q.consumers.Active(x),
		Prefetch: x.Own.Max, Timeout: timeoutOf(q, x), Arguments: x.Arguments,
	}
	if ch := v.channels[ChannelID(x.Channel)]; ch != nil {
		view.Channel, view.Connection = ch.number, ch.conn.name
	}
	return view
}

// Channels lists the open channels, by connection and number.
func (v *VHost) Channels() []ChannelView { return v.ChannelsOf(func(string) bool { return true }) }

// A Binding leads from an exchange to a queue or to another exchange.
type Binding = topology.Binding

// Topology lends the exchanges and bindings for reading.
func (v *VHost) Topology() *topology.Topology { return v.topo }

// Policies lists the policies of one kind, by name.
func (v *VHost) Policies(operator bool) []Policy {
	var all []Policy
	for _, p := range v.policies.of(operator) {
		all = append(all, p.Policy)
	}
	slices.SortFunc(all, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// PolicyOf names the policy that applies to an exchange, "" if none.
func (v *VHost) PolicyOf(exchange string) string {
	if p := v.policies.match(false, exchange, "all", "exchanges"); p != nil {
		return p.Name
	}
	return ""
}
