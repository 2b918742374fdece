// Package oracle is the rules of one virtual host, told a second time: slowly and obviously, with plain slices and
// maps, from what the documents say and not from how internal/vhost does it. A property test plays the same commands
// to both and compares what they hold and what they say after each.
//
// It owns queues, exchanges, bindings, policies, the settings that follow from them, publishing, handing over,
// settling, dead letters, expiry, limits, delayed retries, held dead letters and the lost store.
// It leaves to others what is not a rule of messages: permissions, texts of refusals, transactions, the log,
// recovery, how much a command does at once. It does not bound its work and may not be used where that
// matters.
//
// What the documents leave open (which of two things that are due at one instant comes first, whose turn it is among
// consumers that are equal, which of several held dead letters gets space) it asks its Choices for. There is
// one convention beside that: a message reaches the queues of its route exchange by exchange, key by key, in
// the order of binding; the patterns of a topic exchange word by word, * before a word before #.
//
// A VHost has one owner. Begin reading at Do.
package oracle

import (
	"maps"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// CopyID names a copy: the Arrival-th message, from 1, that came to the queue since that was declared. Arrival 0 is
// the queue itself.
type CopyID struct {
	Queue     string
	Arrival   int
	Returning bool // what happens to it is that it is taken back from a client
}

// ConsumerID names a consumer.
type ConsumerID struct {
	Channel int
	Tag     string
}

// Choices answers what the rules leave open. Among is never empty; the answer is an index of it.
type Choices interface {
	// Next is the copy that something happens to before it happens to the others.
	Next(among []CopyID) int
	// Taker is the consumer that gets the next message of a queue.
	Taker(among []ConsumerID) int
	// Taken is the held dead letter, its body and history in words, that comes to a queue as that copy.
	Taken(as CopyID, among []string) int
}

// VHost is one virtual host.
type VHost struct {
	Now     int64 // ms since the Unix epoch, set by whoever moves the clock; never back
	Choices Choices
	Answers []Answer // what the newest command led to, in the order in which a channel sees it

	exchanges map[string]*exchange
	bindings  []binding // in the order of binding
	queues    []*queue  // in the order of declaring
	policies  []Policy
	options   map[string]amqp.Value
	channels  map[int]*channel
	lostStore *queue

	made  uint64
	ended map[string]uint64 // by cause
	lost  map[string]uint64 // dead letters that found no place, by queue and cause
}

// AnswerKind tells apart what is in order among its own kind alone.
type AnswerKind string

// The kinds of answers.
const (
	Answered  AnswerKind = "answer"   // to the command
	Delivered AnswerKind = "delivery" // to a consumer
	Confirmed AnswerKind = "confirm"  // confirms, refusals and returns
	Cancelled AnswerKind = "cancel"   // consumers that the broker ended, in no order
)

// Answer is one thing that a client is told.
type Answer struct {
	Channel int
	Kind    AnswerKind
	Text    string
}

// New is an empty virtual host with the default exchange.
func New(choices Choices) *VHost {
	v := &VHost{
		Choices: choices, options: map[string]amqp.Value{}, channels: map[int]*channel{},
		ended: map[string]uint64{}, lost: map[string]uint64{},
		exchanges: map[string]*exchange{"": {kind: "direct"}},
	}
	v.lostStore = &queue{settings: settings{ttl: -1, expires: -1, length: -1, bytes: -1, limit: -1}}
	return v
}

// Do does one command, and all that follows from it. The answers are in Answers.
func (v *VHost) Do(c *Command) {
	v.Answers = nil
	if c.Kind == OpenChannel {
		v.channels[c.Channel] = &channel{id: c.Channel}
		return
	}
	if code := v.decide(c); code != 0 {
		v.refuse(c, code)
	}
	v.settleDown()
}

// decide is the switch over commands. It returns the code of a refusal, 0 for none.
func (v *VHost) decide(c *Command) (code uint16) {
	switch c.Kind {
	case Tick:
		v.tick()
		return 0
	case SetPolicy:
		return v.setPolicy(c)
	case ClearPolicy:
		return v.clearPolicy(c)
	case SetOptions:
		return v.setOptions(c)
	}
	ch := v.channels[c.Channel]
	if ch == nil {
		return 0
	}
	if tooLarge(c) {
		return amqp.CodePreconditionFailed
	}
	return v.decideOn(ch, c)
}

// decideOn is decide for the commands of a channel about messages; define is it for those about queues and exchanges.
func (v *VHost) decideOn(ch *channel, c *Command) (code uint16) {
	switch c.Kind {
	case Publish:
		return v.publish(ch, c)
	case Get:
		return v.get(ch, c)
	case Consume:
		return v.consume(ch, c)
	case Cancel:
		v.cancel(ch, c)
	case Qos:
		if c.Global {
			ch.prefetch = c.Prefetch
		} else {
			ch.prefetch, ch.each = 0, c.Prefetch
		}
	case Ack, Nack, Reject:
		return v.settle(ch, c)
	case Recover:
		for _, d := range slices.Clone(ch.unacked) {
			v.giveBack(ch, d, false)
		}
	case Confirms:
		ch.confirms = true
	case CloseChannel:
		v.closeChannel(ch)
	case Republish:
		v.eachLostLetter(c, func(x *Copy) string { return v.republish(c, x) })
	case Discard:
		v.eachLostLetter(c, v.discard)
	default:
		return v.define(ch, c)
	}
	return 0
}

func (v *VHost) define(ch *channel, c *Command) (code uint16) {
	switch c.Kind {
	case DeclareQueue:
		return v.declareQueue(ch, c)
	case DeleteQueue:
		return v.removeQueue(ch, c)
	case PurgeQueue:
		return v.purge(ch, c)
	case DeclareExchange:
		return v.declareExchange(c)
	case DeleteExchange:
		v.deleteExchange(c.Name)
	case Bind:
		return v.bind(c)
	case Unbind:
		return v.unbind(c)
	}
	return 0
}

// refuse closes the channel of a refused command.
func (v *VHost) refuse(c *Command, code uint16) {
	v.answer(c.Channel, Answered, "refused %d", code)
	if ch := v.channels[c.Channel]; ch != nil {
		v.closeChannel(ch)
	}
}

// settleDown lets happen what is left to happen: messages go to consumers, what is over a limit leaves, held
// dead letters go where there is space now. What happens in one queue has an order; between queues there is
// none.
func (v *VHost) settleDown() {
	for {
		var ids []CopyID
		var acts []func()
		add := func(q *queue, c *Copy, act func()) {
			ids, acts = append(ids, CopyID{Queue: q.name, Arrival: c.Arrival}), append(acts, act)
		}
		for _, q := range append(slices.Clone(v.queues), v.lostStore) {
			if c, act := v.next(q); act != nil {
				add(q, c, act)
			}
			for _, c := range q.copies {
				if c.Place == Held && v.canMove(q, c) {
					add(q, c, func() { v.retry(q, c) })
				}
			}
		}
		if len(ids) == 0 {
			return
		}
		acts[v.Choices.Next(ids)]()
	}
}

// next is what has to happen in q, and to which copy; nil if nothing has.
func (v *VHost) next(q *queue) (*Copy, func()) {
	if q == v.lostStore {
		if c := v.loser(); c != nil && q.over() {
			return c, func() { v.evict(c) }
		}
		return nil, nil
	}
	takers := v.takers(q)
	if c := q.head(); c != nil && len(takers) > 0 {
		if c.due(v.Now) && !c.fresh {
			return c, func() { v.die(q, c, expired) }
		}
		return c, func() { v.handTo(q, c, takers) }
	}
	for _, c := range q.copies {
		// TTL 0: handed over at once, or never
		if c.fresh && c.Place == Ready && (!q.settings.headOnly || c == q.head()) {
			return c, func() { v.die(q, c, expired) }
		}
		c.fresh = false
	}
	if c := q.victim(); c != nil && q.over() && q.settings.drops() {
		if c.due(v.Now) {
			return c, func() { v.die(q, c, expired) }
		}
		return c, func() { v.die(q, c, maxlen) }
	}
	return nil, nil
}

// queue finds a queue by name.
func (v *VHost) queue(name string) *queue {
	for _, q := range v.queues {
		if q.name == name {
			return q
		}
	}
	return nil
}

// end ends a copy.
func (v *VHost) end(q *queue, c *Copy, cause string) {
	v.ended[cause]++
	q.copies = slices.DeleteFunc(q.copies, func(o *Copy) bool { return o == c })
}

// sortedKeys are the keys of a map in order.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
