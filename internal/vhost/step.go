package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A step is one command that is being decided: the machine, the stamp to decide by, and the outcome
// so far. Functions that decide are methods of step. Functions that apply facts are methods of
// VHost, and cannot read the stamp.
type step struct {
	*VHost
	Stamp
	out *Outcome
}

// newStep begins a step. Its memory is in out: nothing is allocated, and functions that apply facts do not find it.
func (v *VHost) newStep(st Stamp, out *Outcome) *step {
	v.index, v.batch, v.moves, v.work, v.hops, v.orphans.made = st.Index, out.Batch, 0, 0, 0, 0
	if s := &out.step; s.VHost != v || s.out != out { // usually they are: a profile showed 3 % here
		s.VHost, s.out = v, out
	}
	out.step.Stamp = st
	return &out.step
}

// try returns a step for questions: what would be decided. It has no outcome, and emits nothing.
func (v *VHost) try(st Stamp) *step { return &step{VHost: v, Stamp: st} }

// Step decides one command: it emits facts, applies each at once, and lists the effects. A refusal, always an
// *amqp.Error, leaves no trace: nothing has changed, and out is as it was. The caller then passes it on with
// Refuse, or answers itself.
func (v *VHost) Step(st Stamp, c Command, out *Outcome) error {
	s := v.newStep(st, out)
	if err := s.decide(&c); err != nil {
		return err
	}
	s.drainDirty()
	return nil
}

// Work is what the last step counts for, in bytes of facts: see stepBytesMax. The same steps count the same.
func (v *VHost) Work() int { return v.work }

// routeOf asks the topology where a message goes from x, and counts the work.
func (v *VHost) routeOf(x *topology.Exchange, m *topology.Message, to []fact.QueueID) topology.Route {
	r := v.topo.Route(x, m, to)
	v.work += r.Work*workOfPoint + (len(r.Queues)-len(to))*workOfRoute
	return r
}

// Refuse closes the channel of a refused command: the client is told, its consumers go, what it held returns.
func (v *VHost) Refuse(st Stamp, c Command, err *amqp.Error, out *Outcome) {
	s := v.newStep(st, out)
	ch := v.channelOf(&c)
	if ch == nil {
		return
	}
	s.effect(Effect{Kind: Closed, Command: c.Kind, Channel: ch.id, Err: err, After: s.newest()})
	s.closeChannel(ch)
	s.drainDirty()
}

// decide is the switch over commands, and nothing else.
func (s *step) decide(c *Command) error {
	if c.Definition != nil || c.Policy != nil {
		if err := s.checkTable(c); err != nil {
			return err
		}
	}
	switch c.Kind {
	case Connect:
		s.connect(c)
		return nil
	case Disconnect:
		s.disconnect(c)
		return nil
	case Grant:
		s.grant(c)
		return nil
	case StopDeliveries:
		s.stopDeliveries(c)
		return nil
	case OpenChannel:
		s.openChannel(c)
		return nil
	case SetSpace:
		s.setSpace(c.Space, c.Memory)
		return nil
	case Tick:
		s.tick()
		return nil
	case Recovered:
		s.recovered()
		return nil
	case SetPolicy:
		return refusal(s.setPolicy(c))
	case ClearPolicy:
		return refusal(s.clearPolicy(c))
	case SetOptions:
		return refusal(s.setOptions(c))
	}
	ch := s.channelOf(c)
	if ch == nil {
		return nil
	}
	if ch.conn.ongoing > 0 {
		s.finishOngoing(ch.conn)
		if ch = s.channelOf(c); ch == nil {
			return nil
		}
	}
	return refusal(s.decideOn(ch, c))
}

// decideOn is the switch over what needs an open channel.
func (s *step) decideOn(ch *channel, c *Command) *amqp.Error {
	if s.cramped {
		if err := s.refuseGrowth(ch, c); err != nil {
			return err
		}
	}
	switch c.Kind {
	case Publish, Ack, Nack, Reject:
		switch {
		case ch.tx != nil:
			return s.bufferInTx(ch, c)
		case c.Kind == Publish:
			return s.publish(ch, c)
		}
		return s.settleAll(ch, c)
	case Announce:
		return s.announce(c)
	case Recover:
		return s.recover(ch, c)
	case Get:
		return s.get(ch, c)
	case Consume:
		return s.consume(ch, c)
	case Cancel:
		return s.cancel(ch, c)
	case Qos:
		return s.qos(ch, c)
	case SelectConfirms:
		return s.selectConfirms(ch, c)
	case SelectTx:
		return s.selectTx(ch, c)
	case CommitTx:
		return s.commitTx(ch, c)
	case RollbackTx:
		return s.rollbackTx(ch, c)
	case CloseChannel:
		answer := Command{Kind: CloseChannel, NoWait: c.NoWait}
		s.endChannel(ch, func(s *step) { s.done(ch, &answer, Effect{}) })
	case DeclareExchange:
		return s.declareExchange(ch, c)
	case DeleteExchange:
		return s.removeExchange(ch, c)
	case BindExchange, BindQueue:
		return s.bind(ch, c)
	case UnbindExchange, UnbindQueue:
		return s.unbind(ch, c)
	case DeclareQueue:
		return s.declareQueue(ch, c)
	case DeleteQueue:
		return s.removeQueue(ch, c)
	case PurgeQueue:
		return s.purge(ch, c)
	case Republish:
		return s.republish(ch, c)
	case Discard:
		return s.discard(ch, c)
	case Unschedule:
		return s.unschedule(ch, c)
	case Reschedule:
		return s.reschedule(ch, c)
	case FireNow:
		return s.fireNow(ch, c)
	case PurgeSchedule:
		return s.purgeSchedule(ch, c)
	case BeginRedrive:
		return s.beginRedrive(ch, c)
	case ChangeRedrive:
		return s.changeRedrive(ch, c)
	case Resend:
		return s.resend(ch, c)
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

// drainDirty looks at every queue that the command has touched until none has anything left to do: messages go to
// consumers, what is over a limit leaves, and where dead letters arrive it begins again.
func (s *step) drainDirty() {
	s.draining, s.drainMax = true, s.work+s.stepMax
	for i := 0; i < len(s.dirty); i++ {
		d := s.dirty[i]
		d.queue.dirty = false
		if d.queue.deleted {
			continue
		}
		s.dispatch(d.queue, d.depth)
		s.work += d.queue.consumers.Vain() * workOfLook
		s.enforce(d.queue, d.depth)
		if !s.cramped && len(s.holding.deadLetters) > 0 && len(s.holding.blocked[d.queue.id]) > 0 {
			s.retryBlocked(d.queue, d.depth)
		}
		s.arm(d.queue)
	}
	s.draining = false
	s.goOnUnpaused()
	s.rerouted()
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	s.batch = nil
	s.volatile.sweep()
	s.trim()
}
