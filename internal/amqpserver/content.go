package amqpserver

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/memory"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// stage says which frame of a content is due.
type stage uint8

const (
	noContent stage = iota // a method
	headerDue
	bodyDue
)

// content is a message on its way in. Its slices point into the read buffer until keepPartial, except for an assembled
// body. At noContent only stage, kept, body and held mean anything.
//
//	basic.publish → header → body* ; body frames of one channel only, others may come between
type content struct {
	stage                stage
	kept                 bool // the slices are our own
	mandatory, immediate bool
	exchange, key        []byte
	properties           []byte
	size                 uint64 // announced
	body                 []byte // what has arrived of a body in several frames
	owned                []byte // its memory, with space for the head of a record before it
	held                 int64  // octets that the server counts for it
	announced            bool   // the engine was asked whether it may be published
	progress             progress
}

// publish acts on basic.publish; its content is to follow.
func (c *conn) publish(ch *channel, arguments []byte) error {
	m, err := wire.ParsePublish(arguments)
	if err != nil {
		return err
	}
	t := &ch.content
	t.stage, t.mandatory, t.immediate = headerDue, m.Mandatory, m.Immediate
	t.exchange, t.key, t.properties = m.Exchange, m.RoutingKey, nil
	t.announced, t.progress = false, progress{}
	c.partial = append(c.partial, ch)
	return nil
}

// contentHeader acts on a header frame.
func (c *conn) contentHeader(ch *channel, payload []byte) error {
	t := &ch.content
	switch t.stage {
	case noContent:
		return amqp.UnexpectedFrame("expected method frame, got non method frame instead")
	case bodyDue:
		return t.interrupted()
	}
	h, err := wire.ParseContentHeader(payload)
	if err != nil {
		return err
	}
	if h.BodySize > uint64(c.server.options.MessageMax) {
		c.refuse(ch, tooLarge(h.BodySize, c.server.options.MessageMax))
		return nil
	}
	t.stage, t.size, t.properties = bodyDue, h.BodySize, h.Properties
	if t.kept {
		t.properties = slices.Clone(h.Properties)
		if n := len(t.properties); n > keptFree {
			if err := c.contentHeld(ch, n); err != nil {
				return err
			}
		}
	}
	if t.size == 0 {
		c.published(ch, nil)
	}
	return nil
}

// tooLarge refuses a message. Source: RabbitMQ max_message_size.
func tooLarge(size uint64, most int64) *amqp.Error {
	what := "configured max size"
	if most == messageBytesCeiling {
		what = "max size"
	}
	return amqp.PreconditionFailed("message size %d is larger than %s %d", size, what, most).WithMethod(ids(wire.IDBasicPublish))
}

// contentBody acts on a body frame. A body in one frame stays where it is; the parts of another are put together.
func (c *conn) contentBody(ch *channel, payload []byte) error {
	t := &ch.content
	if t.stage == headerDue {
		return t.interrupted()
	}
	if t.stage == noContent {
		return amqp.UnexpectedFrame("expected method frame, got non method frame instead")
	}
	missing := t.size - uint64(len(t.body))
	switch n := uint64(len(payload)); {
	case n > missing:
		return amqp.FrameError("body of %d octets announced, %d more in the last frame than missing", t.size, n-missing)
	case n == t.size && n < largeBody:
		c.published(ch, payload)
		return nil
	case t.isPlaced(payload):
		t.body = t.body[:len(t.body)+len(payload)]
	case t.announced && c.blocked.Load() && 0 < n && n < t.size:
		return errNoMemory // it would only grow. Source: RabbitMQ connection-blocked
	default:
		if err := c.growBody(ch, len(payload), true); err != nil {
			return err
		}
		t.body = append(t.body, payload...)
	}
	if uint64(len(t.body)) == t.size {
		c.published(ch, t.body)
	}
	return nil
}

// isPlaced reports whether a payload lies where it belongs in the body.
func (t *content) isPlaced(payload []byte) bool {
	n := len(t.body)
	return n+len(payload) <= cap(t.body) && len(payload) > 0 && &t.body[:n+1][n] == &payload[0]
}

// growBody makes space for n octets more of a body; errNoMemory if it has to wait. The announcement alone is worth
// nothing; what has arrived, as much again; that another body was as large before, as much as that, unless others need
// the space.
func (c *conn) growBody(ch *channel, n int, wait bool) error {
	t := &ch.content
	had := cap(t.body)
	if had-len(t.body) >= n {
		return nil
	}
	size := int(min(2*uint64(len(t.body)+n), t.size))
	if as := int(min(uint64(c.bodyBefore), t.size)); as > size && c.reserveContent(ch, as-had, false) == nil {
		size = as
	} else if err := c.reserveContent(ch, size-had, wait); err != nil {
		return err
	}
	head := recordHead + len(t.exchange) + len(t.key) + len(t.properties)
	t.owned = memory.Uncleared(head + size)
	t.body = append(t.owned[head:head], t.body...)
	return nil
}

// recordHead is what the head of a record takes beside its texts and properties.
const recordHead = 16

// place is that of input.
func (c *conn) place(number uint16, size int) []byte {
	ch := c.channel(number)
	if ch == nil || ch.isDeaf() {
		return nil
	}
	t := &ch.content
	n := len(t.body)
	switch {
	case t.stage != bodyDue || t.size < largeBody || uint64(size) > t.size-uint64(n):
		return nil // refused when it is there, or not worth it
	case t.announced && c.blocked.Load():
		return nil
	case c.growBody(ch, size, false) != nil:
		return nil
	}
	return t.body[n : n+size : n+size]
}

// published turns a whole content into a command. The body is lent to it.
func (c *conn) published(ch *channel, body []byte) {
	t := &ch.content
	cmd := c.input.add(vhost.Publish, ch.id)
	cmd.Exchange, cmd.Key = t.exchange, t.key
	cmd.Properties, cmd.Body = t.properties, body
	cmd.Mandatory, cmd.Immediate = t.mandatory, t.immediate
	if len(body) >= largeBody {
		cmd.Owned = t.owned
		c.bodyBefore = min(len(body), largeBodyBefore)
	}
	c.input.load.held += t.held // until the engine has taken the body
	c.unfinished -= t.held
	t.held = 0
	c.dropContent(ch)
}

// dropContent forgets a content, whole or not.
func (c *conn) dropContent(ch *channel) {
	t := &ch.content
	if t.stage == noContent {
		return
	}
	if t.held > 0 {
		c.server.unfinished.free(c, t.held)
		c.unfinished -= t.held
	}
	t.stage, t.kept, t.body, t.owned, t.held = noContent, false, nil, nil, 0
	for i := len(c.partial) - 1; i >= 0; i-- { // mostly the last
		if c.partial[i] == ch {
			c.partial = slices.Delete(c.partial, i, i+1)
			return
		}
	}
}

// keepPartial copies what contents that have not arrived whole need of the read buffer, which goes
// away. Of large ones, and of those that wait for space, the engine is asked whether they may be
// published at all. Errors end the connection.
func (c *conn) keepPartial() error {
	for _, ch := range c.partial {
		t := &ch.content
		if !t.kept {
			if err := c.keep(ch); err != nil {
				return err
			}
		}
		if t.stage == bodyDue && !t.announced && (t.size > announceFrom || c.stalled) && c.input.load != nil {
			t.announced = true
			cmd := c.input.add(vhost.Announce, ch.id)
			cmd.Exchange, cmd.Key, cmd.Properties, cmd.Immediate = t.exchange, t.key, t.properties, t.immediate
		}
	}
	return nil
}

// keep copies what a content needs of the read buffer.
func (c *conn) keep(ch *channel) error {
	t := &ch.content
	own := make([]byte, 0, len(t.exchange)+len(t.key)+len(t.properties))
	own = append(own, t.exchange...)
	own = append(own, t.key...)
	own = append(own, t.properties...)
	x, k := len(t.exchange), len(t.exchange)+len(t.key)
	t.exchange, t.key, t.properties = own[:x:x], own[x:k:k], own[k:]
	t.kept = true
	if len(own) > keptFree {
		return c.contentHeld(ch, len(own))
	}
	return nil
}

// dropPartial forgets all contents that are not whole: the connection ends.
func (c *conn) dropPartial() {
	for len(c.partial) > 0 {
		c.dropContent(c.partial[len(c.partial)-1])
	}
}

// interrupted is the refusal of a frame that is not the one due.
// Source: RabbitMQ, frames.
func (t *content) interrupted() error {
	err := amqp.UnexpectedFrame("expected content body, got non content body frame instead")
	if t.stage == headerDue {
		err = amqp.UnexpectedFrame("expected content header for class %d, got non content header frame instead", wire.ClassBasic)
	}
	return err.WithMethod(ids(wire.IDBasicPublish))
}
