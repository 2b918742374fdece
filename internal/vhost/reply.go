package vhost

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/place"
)

// directReply is the name that a client consumes from, and gives as reply-to, to get answers without a queue.
// A channel that consumes from it is reached under a name of its own, which begins with it and a dot.
// Source: RabbitMQ direct-reply-to.
const directReply = "amq.rabbitmq.reply-to"

// IsDirectReply reports whether name is that of direct replies, or of a channel that takes them, and no queue's.
func IsDirectReply(name string) bool {
	return name == directReply || strings.HasPrefix(name, directReply+".")
}

// replies is the consumer of direct replies on a channel.
type replies struct {
	tag  string // of the consumer
	name string // under which the channel is reached
}

// consumeReplies decides basic.consume of directReply. Source: reference amqp-surface 15.
func (v *VHost) consumeReplies(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	d := c.Definition
	switch {
	case !d.NoAck:
		return amqp.PreconditionFailed("reply consumer cannot acknowledge")
	case ch.replies != nil:
		return amqp.PreconditionFailed("reply consumer already set")
	}
	tag, err := consumerTag(s, ch, d.ConsumerTag)
	if err != nil {
		return err
	}
	ch.replies = &replies{tag: tag, name: fmt.Sprintf("%s.%s.%d", directReply, generated(s.Entropy, s.Index), ch.id)}
	v.repliers[ch.replies.name] = ch
	v.done(ch, c, out, Effect{Name: tag})
	return nil
}

// endReplies forgets the consumer of direct replies, if ch has one.
func (v *VHost) endReplies(ch *channel) {
	if ch.replies != nil {
		delete(v.repliers, ch.replies.name)
		ch.replies = nil
	}
}

// consumerTag is the tag of a new consumer, given or made, unless the channel has one of that name.
func consumerTag(s *Stamp, ch *channel, tag string) (string, *amqp.Error) {
	if tag == "" {
		return "amq.ctag-" + generated(s.Entropy, s.Index), nil
	}
	if ch.replies != nil && ch.replies.tag == tag {
		return "", amqp.NotAllowed("attempt to reuse consumer tag '%s'", tag)
	}
	if ch.byTag[tag] != nil {
		return "", amqp.NotAllowed("attempt to reuse consumer tag '%s'", tag)
	}
	return tag, nil
}

// withReplyTo puts the channel's own name in the place of directReply; other properties stay as they are.
func (ch *channel) withReplyTo(scan *amqp.PropertyScan, properties []byte) ([]byte, *amqp.Error) {
	if string(scan.ReplyTo) != directReply {
		return properties, nil
	}
	if ch.replies == nil {
		return nil, amqp.PreconditionFailed("fast reply consumer does not exist")
	}
	p, err := amqp.ParseProperties(properties)
	if err != nil {
		return nil, malformed(err)
	}
	p.ReplyTo = ch.replies.name
	return amqp.AppendProperties(nil, &p), nil
}

// deliverReply hands a message to the channel that its key names, past all queues, and reports whether there is
// one. It leaves no fact; what it tells may depend on some, which are safe with batch after.
func (v *VHost) deliverReply(s *Stamp, c *Command, m *message, after place.Index, out *Outcome) bool {
	if len(c.Exchange) > 0 || !bytes.HasPrefix(c.Key, []byte(directReply+".")) {
		return false
	}
	to := v.repliers[string(c.Key)]
	if to == nil {
		return false
	}
	to.conn.window.Used += WindowCost(0)
	out.effect(Effect{
		Kind: Deliver, Channel: to.id, ConsumerTag: to.replies.tag, Tag: to.unacked.tag(), After: after,
		Message: Delivered{Record: appendRecord(nil, &m.content)},
	}, s.Index)
	return true
}

// cancelReplies ends the consumer of direct replies if tag is its.
func (v *VHost) cancelReplies(ch *channel, tag string) {
	if ch.replies != nil && ch.replies.tag == tag {
		v.endReplies(ch)
	}
}

// isReplier reports whether name is that of a channel that takes direct replies.
func (v *VHost) isReplier(name string) bool {
	return strings.HasPrefix(name, directReply+".") && v.repliers[name] != nil
}

// checkReplies reports a channel that is reached under a name and does not know it, or the other way round.
func (v *VHost) checkReplies() error {
	names := make([]string, 0, len(v.repliers))
	for name := range v.repliers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if ch := v.repliers[name]; v.channels[ch.id] != ch || ch.replies == nil || ch.replies.name != name {
			return fmt.Errorf("vhost: %q leads to a channel that is not reached so", name)
		}
	}
	return nil
}
