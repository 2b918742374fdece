package amqpserver

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// run reads until the connection ends and returns why. What came before the end is posted.
func (c *conn) run() error {
	c.setPulse()
	defer func() {
		if c.patience != nil {
			c.patience.Stop()
		}
	}()
	for {
		err := c.frames()
		if err == nil {
			err = c.keepPartial()
		}
		if l := c.input.take(); l != nil {
			c.idle.madeUp(len(l.Commands))
			c.post(l)
		}
		if errors.Is(err, errClosedByClient) {
			return c.awaitTaken()
		}
		if err != nil {
			return err
		}
		c.restFromIdleFrames()
		if err := c.read(); err != nil {
			return err
		}
	}
}

// awaitTaken waits, before connection.close is answered, until the engine has taken all that came before it: under an
// alarm, what the client has published waits, and is not dropped because the client leaves. What comes meanwhile is
// ignored. Source: RabbitMQ connection-blocked.
func (c *conn) awaitTaken() error {
	c.leaving.Store(true)
	c.dropPartial()
	for c.input.start = c.input.end; !c.isTaken(); c.input.start = c.input.end {
		if err := c.read(); err != nil {
			return err
		}
	}
	return errClosedByClient
}

// isTaken reports whether awaitTaken is over.
func (c *conn) isTaken() bool { return c.leaving.Load() && c.underWay.Load() == 0 }

// frames turns all that has arrived into commands, up to a frame for which there is no space yet, or as many as a batch
// has.
func (c *conn) frames() error {
	for {
		f, ok, err := c.input.frame()
		if err != nil || !ok {
			return err
		}
		c.idle.n++
		switch err := c.frame(f); {
		case err == errNoMemory:
			c.input.uncut(f)
			c.stalled = true
			return nil
		case err != nil:
			return err
		case c.stalled:
			c.stalled, c.stalledSince = false, time.Time{}
		}
		if c.input.isFull() {
			c.more = true
			return nil
		}
	}
}

// frame acts on one frame. Errors end the connection.
func (c *conn) frame(f wire.Frame) error {
	switch {
	case f.Channel != 0:
		return c.channelFrame(f)
	case f.Type == wire.FrameHeartbeat:
		return nil
	case f.Type == wire.FrameMethod:
		return c.connectionMethod(f.Payload)
	}
	return wire.UnexpectedFrame(f)
}

// connectionMethod acts on a method on channel 0.
func (c *conn) connectionMethod(payload []byte) error {
	m, err := wire.ParseMethod(payload)
	if err != nil {
		return err
	}
	switch m.(type) {
	case *wire.ConnectionClose:
		return errClosedByClient
	case *wire.ConnectionUpdateSecret:
		return c.updateSecret()
	}
	return outOfState(m, "running")
}

// updateSecret acts on connection.update-secret. The secret is of no use to us, for a password, once checked, does not
// expire; but the user must still have access.
// Source: RabbitMQ access-control, connection.update-secret.
func (c *conn) updateSecret() error {
	c.mu.Lock()
	user, vhost := c.mu.about.User, c.mu.about.VHost
	c.mu.Unlock()
	if !c.server.engine.Accounts().HasAccess(user, vhost) {
		return accounts.RefuseVHost(vhost, user).WithMethod(ids(wire.IDConnectionUpdateSecret))
	}
	c.idle.n += framesOfReply
	c.outbox.put(wire.AppendMethod(nil, 0, &wire.ConnectionUpdateSecretOk{}), 0)
	return nil
}

// channelFrame acts on a frame of a channel.
func (c *conn) channelFrame(f wire.Frame) error {
	ch := c.channel(f.Channel)
	if f.Type == wire.FrameMethod {
		id, arguments, err := wire.CutMethod(f.Payload)
		switch {
		case err != nil:
			return err
		case ch == nil:
			return c.firstMethod(f.Channel, id)
		case id == wire.IDChannelClose:
			return c.closedByClient(ch, f.Payload)
		case id == wire.IDChannelCloseOk:
			c.closeOk(ch)
			return nil
		case ch.isDeaf():
			return nil
		case ch.content.stage != noContent:
			return ch.content.interrupted()
		}
		return c.channelMethod(ch, id, arguments, f.Payload)
	}
	switch {
	case ch == nil:
		return amqp.UnexpectedFrame("expected method frame, got non method frame instead")
	case ch.isDeaf():
		c.dropContent(ch)
		return nil
	case f.Type == wire.FrameHeader:
		return c.contentHeader(ch, f.Payload)
	}
	return c.contentBody(ch, f.Payload)
}

// channel finds the channel of that number, nil if it is not open.
func (c *conn) channel(number uint16) *channel {
	if c.recent == nil || c.recent.number != number {
		c.recent = c.numbers[number]
	}
	return c.recent
}

// firstMethod acts on a method on a number that is not in use.
func (c *conn) firstMethod(number uint16, id wire.MethodID) error {
	switch {
	case id == wire.IDChannelCloseOk: // late: both sides closed, and ours was answered second
		return nil
	case id != wire.IDChannelOpen:
		return amqp.ChannelError("expected 'channel.open'").WithMethod(ids(id))
	case number > c.channelMax:
		return amqp.NotAllowed("number of channels opened (%d) has reached the negotiated channel_max (%d)",
			len(c.numbers), c.channelMax).WithMethod(ids(id))
	}
	if most := int64(c.server.options.ChannelMaxNode); c.server.opened.Add(1) > most && most > 0 {
		c.server.opened.Add(-1)
		return amqp.NotAllowed("number of channels opened on node '%s' has reached the maximum allowed limit of (%d)",
			c.server.options.Node, most).WithMethod(ids(id))
	}
	ch := &channel{number: number, id: c.session.NewChannel()}
	c.numbers[number] = ch
	c.recent = ch
	c.channels.add(ch)
	cmd := c.input.add(vhost.OpenChannel, ch.id)
	cmd.Conn, cmd.Number = c.session.Conn(), number
	return nil
}

// closedByClient acts on channel.close. The number is free from now on: answers keep their order by the engine's ids.
func (c *conn) closedByClient(ch *channel, payload []byte) error {
	if _, err := wire.ParseMethod(payload); err != nil {
		return err
	}
	c.forget(ch)
	switch {
	case !ch.state.CompareAndSwap(open, closedByClient): // ours crossed it
		c.outbox.put(wire.AppendMethod(nil, ch.number, &wire.ChannelCloseOk{}), 0)
	case !ch.refused:
		c.input.add(vhost.CloseChannel, ch.id)
	}
	return nil
}

// closeOk acts on channel.close-ok. One that we do not wait for is late, as in firstMethod.
func (c *conn) closeOk(ch *channel) {
	if ch.state.Load() == closedByBroker {
		c.forget(ch)
	}
}

// forget frees the number of ch.
func (c *conn) forget(ch *channel) {
	c.dropContent(ch)
	delete(c.numbers, ch.number)
	c.server.opened.Add(-1)
	c.recent = nil
}

// refuse closes a channel for what the reader found wrong on it, after the answers to all that came before.
func (c *conn) refuse(ch *channel, err *amqp.Error) {
	c.dropContent(ch)
	ch.refused, ch.refusal = true, err
	c.input.add(vhost.CloseChannel, ch.id)
}

// post gives a batch to the engine.
func (c *conn) post(l *load) {
	l.conn = c
	l.cost = int64(len(l.buf)) + int64(cap(l.Commands))*int64(unsafe.Sizeof(vhost.Command{})) + l.made
	c.countUnderWay(l.cost)
	c.underWay.Add(1)
	c.session.Submit(&l.Batch)
}

// countUnderWay counts octets of batches that the engine has.
func (c *conn) countUnderWay(octets int64) {
	c.server.underWay.Add(octets)
	c.ofUser.underWay.Add(octets)
}

// freed says that the engine is done with a batch. The engine calls it.
func (c *conn) freed() {
	if n := c.underWay.Add(-1); n == batchesUnderWayMax-1 || n == 0 {
		signal(c.outbox.eased)
	}
	if c.isTaken() {
		c.socket.SetReadDeadline(past) // wakes the reader
	}
}

// read waits for the next octets, unless there are some that are not cut yet, once there is space
// for what they lead to. It keeps the heartbeats going meanwhile.
func (c *conn) read() error {
	paused := false
	for ; c.mustPause(); paused = true {
		c.pause(0)
	}
	switch {
	case c.more:
		c.more = false
		if c.outbox.isSealed() {
			return errEnding
		}
		return nil
	case c.stalled && paused: // the pause may have taken the signal that there is space
		return nil
	case c.stalled:
		return c.awaitMemory()
	}
	if c.checkAt.IsZero() && c.isUnfinished() {
		c.watchProgress(time.Now())
		c.setDeadline()
	}
	for {
		err := c.input.fill()
		switch {
		case err == nil:
			c.silence = 0
			if c.outbox.isSealed() {
				return errEnding
			}
			return nil
		case !isTimeout(err):
			return c.lost(err)
		case c.outbox.isSealed():
			return errEnding
		case c.isTaken():
			return nil
		case c.crowded:
			return c.endUnfinished("memory limit reached for incomplete frames of user '%s'", c.user)
		}
		now := time.Now()
		if isDue(c.checkAt, now) {
			if err := c.checkProgress(now); err != nil {
				return err
			}
		}
		if !isDue(c.pulseAt, now) {
			c.setDeadline()
			continue
		}
		if c.blocked.Load() {
			c.silence = 0 // a client that waits may wait in silence. Source: RabbitMQ connection-blocked
		} else if c.silence++; c.silence >= silencePeriodsMax {
			return fmt.Errorf("%w, timeout: %ds", errMissedHeartbeats, int(c.heartbeat.Seconds()))
		}
		c.pulse()
	}
}

// mustPause reports whether the engine, or the client as a reader, is too far behind for more.
func (c *conn) mustPause() bool {
	n := c.underWay.Load()
	tooMany := n >= batchesUnderWayMax || n > 0 && c.isTight()
	return (tooMany || c.outbox.isFull()) && !c.outbox.isOver() && !c.leaving.Load()
}

// pause waits until what the reader waits for may have changed, but not longer than that, unless it is zero. The client
// is not to blame for a silence that we do not listen to.
func (c *conn) pause(most time.Duration) {
	c.excused = true
	c.paused.Store(true)
	defer c.paused.Store(false)
	wait := most
	if c.heartbeat > 0 && (wait == 0 || wait > c.heartbeat/2) {
		wait = c.heartbeat / 2
	}
	switch {
	case wait == 0:
		<-c.outbox.eased
		return
	case c.patience == nil:
		c.patience = time.NewTimer(wait)
	default:
		c.patience.Reset(wait)
	}
	select {
	case <-c.outbox.eased:
		c.patience.Stop()
	case <-c.patience.C:
		c.silence = 0
		if c.heartbeat > 0 {
			c.pulse()
		}
	}
}

// pulse sends a heartbeat if nothing but a heartbeat was sent for half an interval: an idle connection sends one every
// half interval. The first is always sent. Source: AMQP heartbeats; RabbitMQ heartbeats.
func (c *conn) pulse() {
	c.setPulse()
	sent := c.outbox.sent.Load()
	if (sent == c.sentBefore || c.sentBefore == 0) && c.outbox.isIdle() {
		sent += wire.FrameOverhead // the heartbeat itself
		c.outbox.put(wire.AppendHeartbeat(nil), 0)
	}
	c.sentBefore = sent
}

// setPulse lets reads time out after half a heartbeat interval. The deadline stands however much is read: it costs
// nothing per read.
func (c *conn) setPulse() {
	if c.heartbeat > 0 {
		c.pulseAt = time.Now().Add(c.heartbeat / 2)
	}
	c.setDeadline()
}

// setDeadline lets reads time out when something is due.
func (c *conn) setDeadline() {
	at := c.pulseAt
	if at.IsZero() || !c.checkAt.IsZero() && c.checkAt.Before(at) {
		at = c.checkAt
	}
	c.waitUntil(at)
}

// isDue reports whether it is time for what is to be done then; zero means never.
func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
