package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// Step decides one command: it emits facts, folds each at once, and lists the effects. A refusal, always an
// *amqp.Error, leaves no trace: nothing has changed, and out is as it was. The caller then passes it on with
// Refuse, or answers itself.
func (v *VHost) Step(s Stamp, c Command, out *Outcome) error {
	v.index, v.batch, v.moves, v.work, v.compared, v.hops = s.Index, out.Batch, 0, 0, 0, 0
	if err := v.decide(&s, &c, out); err != nil {
		return err
	}
	v.calm(&s, out)
	return nil
}

// Work is what the last step counts for, in bytes of facts: see stepBytesMax. The same steps count the same.
func (v *VHost) Work() int { return v.work + v.compared }

// routeOf asks the topology where a message goes from x, and counts the work.
func (v *VHost) routeOf(x *topology.Exchange, m *topology.Message, to []QueueID) (ids []QueueID, byKeys bool) {
	ids, byKeys = v.topo.Route(x, m, to)
	v.compared += v.topo.Work()*workOfPoint + (len(ids)-len(to))*workOfRoute
	return ids, byKeys
}

// Refuse closes the channel of a refused command: the client is told, its consumers go, what it held returns.
func (v *VHost) Refuse(s Stamp, c Command, err *amqp.Error, out *Outcome) {
	v.index, v.batch, v.moves, v.work, v.compared, v.hops = s.Index, out.Batch, 0, 0, 0, 0
	ch := v.channelOf(&c)
	if ch == nil {
		return
	}
	out.effect(Effect{Kind: Closed, Command: c.Kind, Channel: ch.id, Err: err, After: v.newest(out)}, v.index)
	v.closeChannel(&s, ch, out)
	v.calm(&s, out)
}

// decide is the switch over commands, and nothing else.
func (v *VHost) decide(s *Stamp, c *Command, out *Outcome) error {
	if c.Definition != nil || c.Policy != nil {
		if err := v.checkTable(c); err != nil {
			return err
		}
	}
	switch c.Kind {
	case Connect:
		v.connect(c)
		return nil
	case Disconnect:
		v.disconnect(s, c, out)
		return nil
	case Grant:
		v.grant(c)
		return nil
	case OpenChannel:
		v.openChannel(c, out)
		return nil
	case SetRoom:
		v.setRoom(s, c.Room)
		return nil
	case Tick:
		v.tick(s, out)
		return nil
	case Recovered:
		v.recovered(s, out)
		return nil
	case SetPolicy:
		return refusal(v.setPolicy(s, c, out))
	case ClearPolicy:
		return refusal(v.clearPolicy(s, c, out))
	case SetOptions:
		return refusal(v.setOptions(s, c, out))
	}
	ch := v.channelOf(c)
	if ch == nil {
		return nil
	}
	if ch.conn.ongoing > 0 {
		v.finishOngoing(s, ch.conn, out)
		if ch = v.channelOf(c); ch == nil {
			return nil
		}
	}
	return refusal(v.decideOn(s, ch, c, out))
}

// decideOn is the switch over what needs an open channel.
func (v *VHost) decideOn(s *Stamp, ch *channel, c *Command, out *Outcome) *amqp.Error {
	if v.cramped {
		if err := v.noRoomFor(ch, c); err != nil {
			return err
		}
	}
	switch c.Kind {
	case Publish, Ack, Nack, Reject:
		switch {
		case ch.tx != nil:
			return v.hold(s, ch, c)
		case c.Kind == Publish:
			return v.publish(s, ch, c, out)
		}
		return v.settleAll(s, ch, c, out)
	case Announce:
		return v.announce(c)
	case Recover:
		return v.recover(s, ch, c, out)
	case Get:
		return v.get(s, ch, c, out)
	case Consume:
		return v.consume(s, ch, c, out)
	case Cancel:
		return v.cancel(s, ch, c, out)
	case Qos:
		return v.qos(ch, c, out)
	case SelectConfirms:
		return v.selectConfirms(ch, c, out)
	case SelectTx:
		return v.selectTx(ch, c, out)
	case CommitTx:
		return v.commitTx(s, ch, c, out)
	case RollbackTx:
		return v.rollbackTx(ch, c, out)
	case CloseChannel:
		answer := Command{Kind: CloseChannel, NoWait: c.NoWait}
		v.endChannel(s, ch, out, func(out *Outcome) { v.done(ch, &answer, out, Effect{}) })
	case DeclareExchange:
		return v.declareExchange(s, ch, c, out)
	case DeleteExchange:
		return v.removeExchange(s, ch, c, out)
	case BindExchange, BindQueue:
		return v.bind(s, ch, c, out)
	case UnbindExchange, UnbindQueue:
		return v.unbind(s, ch, c, out)
	case DeclareQueue:
		return v.declareQueue(s, ch, c, out)
	case DeleteQueue:
		return v.removeQueue(s, ch, c, out)
	case PurgeQueue:
		return v.purge(s, ch, c, out)
	case Republish:
		return v.republish(s, ch, c, out)
	case Discard:
		return v.discard(s, ch, c, out)
	case Unschedule:
		return v.unschedule(s, ch, c, out)
	case Reschedule:
		return v.reschedule(s, ch, c, out)
	case FireNow:
		return v.fireNow(s, ch, c, out)
	case PurgeSchedule:
		return v.purgeSchedule(s, ch, c, out)
	case BeginRedrive:
		return v.beginRedrive(s, ch, c, out)
	case ChangeRedrive:
		return v.changeRedrive(s, ch, c, out)
	case Resend:
		return v.resend(s, ch, c, out)
	default:
		return amqp.NotImplemented("command %d", c.Kind)
	}
	return nil
}

// refusal keeps a nil *amqp.Error from becoming an error that is not nil.
func refusal(err *amqp.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// calm looks at every queue that the command has touched until none has anything left to do: messages go to
// consumers, what is over a limit leaves, and where dead letters arrive it begins again.
func (v *VHost) calm(s *Stamp, out *Outcome) {
	v.calming, v.calmMax = true, v.work+v.stepMax
	for i := 0; i < len(v.dirty); i++ {
		d := v.dirty[i]
		d.queue.dirty = false
		if d.queue.deleted {
			continue
		}
		v.dispatch(s, d.queue, d.depth, out)
		v.enforce(s, d.queue, d.depth, out)
		if !v.cramped && len(v.holding.letters) > 0 && len(v.holding.blocked[d.queue.id]) > 0 {
			v.admit(s, d.queue, d.depth, out)
		}
		v.arm(d.queue)
	}
	v.calming = false
	v.rerouted(s)
	clear(v.dirty)
	v.dirty = v.dirty[:0]
	v.batch = nil
	v.volatile.sweep()
	v.trim()
}
