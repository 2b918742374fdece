package vhost

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// DirectReply is the name that a client consumes from, and gives as reply-to, to get answers without a queue.
// A channel that consumes from it is reached under a name of its own, which begins with it and a dot.
// Source: RabbitMQ direct-reply-to.
const DirectReply = "amq.rabbitmq.reply-to"

// IsDirectReply reports whether name is one of direct replies: no queue has it.
func IsDirectReply(name string) bool { return strings.HasPrefix(name, DirectReply) }

// replies is the consumer of direct replies on a channel.
type replies struct {
	tag  string // of the consumer
	name string // under which the channel is reached
}

// declareReplies decides queue.declare, passive or not, of a name of direct replies: the well-known name always exists,
// the name of a channel while that channel consumes. Flags and arguments do not count.
// Source: RabbitMQ direct-reply-to; docs/compat/amqp-surface.md#15.
func (s *step) declareReplies(ch *channel, c *Command) *amqp.Error {
	name := c.Definition.Name
	if name != DirectReply && s.repliers[name] == nil {
		return s.noQueue(name)
	}
	ch.lastQueue = name
	s.done(ch, c, Effect{Name: name, Consumers: 1})
	return nil
}

// consumeReplies decides basic.consume of DirectReply. Source: docs/compat/amqp-surface.md#15.
func (s *step) consumeReplies(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	switch {
	case !d.NoAck:
		return amqp.PreconditionFailed("reply consumer cannot acknowledge")
	case ch.replies != nil:
		return amqp.PreconditionFailed("reply consumer already set")
	}
	tag, err := consumerTag(&s.Stamp, ch, d.ConsumerTag)
	if err != nil {
		return err
	}
	ch.replies = &replies{tag: tag, name: fmt.Sprintf("%s.%s.%d", DirectReply, generated(s.Entropy, s.Index), ch.id)}
	s.repliers[ch.replies.name] = ch
	s.done(ch, c, Effect{Name: tag})
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

// withReplyTo puts the channel's own name in the place of DirectReply; other properties stay as they are.
func (ch *channel) withReplyTo(scan *amqp.PropertyScan, properties []byte) ([]byte, *amqp.Error) {
	if string(scan.ReplyTo) != DirectReply {
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
// one that takes it. It leaves no fact; what it tells may depend on some, which are safe with batch after.
// A reply has no queue to wait in. A client that reads too slowly loses those for which there is no space: a replier
// that waited for it would keep others waiting. Source: RabbitMQ direct-reply-to, at most once; the bound is ours.
func (s *step) deliverReply(c *Command, m *message, after storage.Index) bool {
	if len(c.Exchange) > 0 || !bytes.HasPrefix(c.Key, []byte(DirectReply+".")) {
		return false
	}
	to := s.repliers[string(c.Key)]
	if to == nil {
		return false
	}
	if n := to.conn; !s.fitsReply(n) {
		s.traffic.RepliesDropped++
		s.note(Loss{SlowConnection: n.name})
		return false
	}
	record := fact.AppendRecord(nil, &m.content, m.body.octets)
	size := uint32(len(record))
	to.conn.window.Used += WindowCost(size)
	s.setReplied(to.conn, to.conn.replied+WindowCost(size))
	s.effect(Effect{
		Kind: Deliver, Channel: to.id, ConsumerTag: to.replies.tag, Tag: to.unacked.tag(), After: after,
		Message: Delivered{Record: record, Ref: storage.Ref{Size: size}},
	})
	return true
}

// fitsReply reports whether a connection takes one more direct reply. Replies come in crowds: a connection may
// have more of them on their way than its window. When all connections together have too many, those that have most
// lose theirs first.
func (v *VHost) fitsReply(n *conn) bool {
	if n.window.Open() {
		return true
	}
	return n.window.Used < replyBytesMax && (v.replied < repliesBytesMax || n.replied < repliesBytesMax/int64(1+v.replying))
}

// setReplied sets how many bytes of direct replies are on their way to a connection.
func (v *VHost) setReplied(n *conn, bytes int64) {
	if n.replied >= replyManyBytes {
		v.replying--
	}
	v.replied += bytes - n.replied
	if n.replied = bytes; bytes >= replyManyBytes {
		v.replying++
	}
}

// granted reduces what a connection has on its way to used bytes, direct replies by their share: nobody says what of it
// has been read.
func (v *VHost) granted(n *conn, used int64) {
	if n.replied > 0 {
		v.setReplied(n, n.replied*used/n.window.Used)
	}
	n.window.Used = used
}

// cancelReplies ends the consumer of direct replies if tag is its.
func (v *VHost) cancelReplies(ch *channel, tag string) {
	if ch.replies != nil && ch.replies.tag == tag {
		v.endReplies(ch)
	}
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
	var replied int64
	replying := 0
	for _, n := range v.conns {
		if n.replied >= replyManyBytes {
			replying++
		}
		if replied += n.replied; n.replied < 0 || n.replied > n.window.Used {
			return fmt.Errorf("vhost: connection %d has %d bytes of replies on their way, of %d", n.id, n.replied, n.window.Used)
		}
	}
	if replied != v.replied || replying != v.replying {
		return fmt.Errorf("vhost: %d bytes of replies are on their way, many to %d connections; %d and %d are counted", replied, replying, v.replied, v.replying)
	}
	return nil
}
