package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// QueueView is a queue as lists show it. Its tables are shared: do not change them.
type QueueView struct {
	fact.Object
	ID                       fact.QueueID
	Owner                    string // the connection of an exclusive queue
	Ready, Unacked           int
	Waiting, Held            int
	DeadLetters              int // of all of these
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
func (r Reader) Queues() []QueueView {
	all := make([]QueueView, 0, len(r.v.queues))
	for q := range r.v.named() {
		all = append(all, r.view(q))
	}
	slices.SortFunc(all, func(a, b QueueView) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Queue shows one queue.
func (r Reader) Queue(name string) (QueueView, bool) {
	q := r.v.queueNamed(name)
	if q == nil {
		return QueueView{}, false
	}
	return r.view(q), true
}

// GetsAhead tells of the messages that up to most gets would take from a queue how many fit into so many bytes, at
// least one, and how many bytes those take from the window of a connection that gets what fits. ok is false if there is
// no such queue. It looks at few parts of the queue; what it has not seen counts as what it has.
func (r Reader) GetsAhead(name string, most int, within int64) (messages int, bytes int64, ok bool) {
	q := r.v.queueNamed(name)
	if q == nil {
		return 0, 0, false
	}
	full := false
	q.messages.EachReady(getsAheadChunks, func(seq queue.Seq, e *queue.Entry) bool {
		cost := q.getCost(seq, e)
		if full = messages == most || messages > 0 && bytes+cost > within; !full {
			messages, bytes = messages+1, bytes+cost
		}
		return !full
	})
	if rest := min(most, q.messages.Ready()) - messages; !full && messages > 0 && rest > 0 {
		more := min(int64(rest), (within-bytes)/(bytes/int64(messages)))
		messages, bytes = messages+int(more), bytes+more*(bytes/int64(messages))
	}
	return messages, bytes, true
}

func (r Reader) view(q *queueState) QueueView {
	view := QueueView{
		Object: q.object, ID: q.id,
		Ready: q.messages.Ready(), Unacked: q.messages.Unacked(),
		Waiting: q.messages.Count(queue.Waiting), Held: q.messages.Count(queue.Held), DeadLetters: q.deadLetters(),
		ReadyBytes: q.messages.Bytes(queue.Ready), UnackedBytes: q.messages.Bytes(queue.Unacked),
		WaitingBytes: q.messages.Bytes(queue.Waiting), HeldBytes: q.messages.Bytes(queue.Held),
		Consumers: q.consumers.Len(), Policy: q.policy, OperatorPolicy: q.operator, Settings: *q.settings, Stats: q.counts(),
		EffectivePolicy: r.effectivePolicy(q),
	}
	view.IgnoredKeys = r.v.options.Inert(view.EffectivePolicy)
	if n := r.v.conns[q.owner]; n != nil {
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

func (r Reader) effectivePolicy(q *queueState) amqp.Table {
	var user, operator amqp.Table
	if p := r.v.policies.Of(false)[q.policy]; p != nil && q.policy != "" {
		user = p.Definition
	}
	if p := r.v.policies.Of(true)[q.operator]; p != nil && q.operator != "" {
		operator = p.Definition
	}
	return settings.MergePolicies(user, operator)
}

// Consumers lists the consumers, by queue, in the order in which they are served.
func (r Reader) Consumers() []ConsumerView {
	var all []ConsumerView
	for _, q := range r.v.sortedQueues() {
		for _, x := range q.consumers.All() {
			all = append(all, r.consumerView(q, x))
		}
	}
	return all
}

func (r Reader) consumerView(q *queueState, x *queue.Consumer) ConsumerView {
	view := ConsumerView{
		Tag: x.Tag, Queue: q.object.Name, AckRequired: !x.NoAck, Exclusive: x.Exclusive, Active: q.consumers.Active(x),
		Prefetch: x.Own.Max, Timeout: timeoutOf(q, x), Arguments: x.Arguments,
	}
	if ch := r.v.channels[ChannelID(x.Channel)]; ch != nil {
		view.Channel, view.Connection = ch.number, ch.conn.name
	}
	return view
}

// Channels lists the open channels, by connection and number.
func (r Reader) Channels() []ChannelView { return r.ChannelsOf(func(string) bool { return true }) }

// A Binding leads from an exchange to a queue or to another exchange.
type Binding = topology.Binding
