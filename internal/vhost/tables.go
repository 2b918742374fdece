package vhost

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// table is the table that a command leaves in the virtual host for as long as what it makes is there; nil if it leaves
// none.
func (c *Command) table() amqp.Table {
	switch c.Kind {
	case DeclareExchange, DeclareQueue, BindExchange, BindQueue, Consume, SetOptions:
		return c.Definition.Arguments
	case SetPolicy:
		return c.Policy.Definition
	}
	return nil
}

// checkTable refuses a table that is larger than a frame of the usual size could carry, or that has so many values that
// it would take far more memory than it had in its frame, and one for which large tables leave no space. The rule is
// here because AMQP, HTTP and imports share it.
func (v *VHost) checkTable(c *Command) *amqp.Error {
	t := c.table()
	octets, values := t.Size()
	switch {
	case octets > tableBytesMax:
		return amqp.PreconditionFailed("the arguments have %d bytes in AMQP's encoding: the maximum is %d", octets, tableBytesMax)
	case values > tableValuesMax:
		return amqp.PreconditionFailed("the arguments have %d values: the maximum is %d", values, tableValuesMax)
	}
	if extra := extraOf(t); extra > 0 && v.extra+extra > tablesExtraMax && v.adds(c) {
		return amqp.PreconditionFailed("large arguments use %d bytes of memory in vhost '%s', the maximum is %d: use smaller ones, "+
			"or delete objects with large ones", v.extra, v.name, tablesExtraMax)
	}
	return nil
}

// adds reports whether a command adds its table to those that are there. What is there already may be declared.
func (v *VHost) adds(c *Command) bool {
	d := c.Definition
	switch c.Kind {
	case DeclareExchange:
		return !d.Passive && v.topo.Exchange(d.Name) == nil
	case DeclareQueue:
		return !d.Passive && !IsDirectReply(d.Name) && v.queueNamed(d.Name) == nil
	case BindExchange, BindQueue:
		ch := v.channelOf(c)
		if ch == nil {
			return false
		}
		o, err := ch.binding(c)
		return err == nil && !v.topo.Bound(bindingOf(o))
	case SetPolicy:
		return extraOf(c.Policy.Definition) > extraOfPolicy(v.policies.Of(c.Policy.Operator)[c.Policy.Name])
	}
	return c.Kind == Consume
}

// AddsObject reports whether a command declares a queue or an exchange, or binds one, that is not there already.
func (v *VHost) AddsObject(c *Command) bool {
	switch c.Kind {
	case DeclareExchange, DeclareQueue, BindExchange, BindQueue:
		return v.adds(c)
	}
	return false
}

// What a queue takes in bytes of memory, about: with what the index of dead letters and the history of its length keep
// of it, without its priorities, messages and consumers; and what its fates take if it has counted any.
const (
	queueBytes = 1900
	fatesBytes = 480
)

func (q *queueState) bytes() int64 {
	n := queueBytes + queue.PriorityBytes*int(q.messages.PriorityMax())
	if q.fates != nil {
		n += fatesBytes
	}
	return int64(n + len(q.object.Name) + q.object.Arguments.Memory())
}

// ObjectBytes is about how many bytes of memory the queues, exchanges and bindings take, without messages.
func (v *VHost) ObjectBytes() int64 { return v.queueBytes + int64(v.topo.Bytes()) }

// extraOf is how many bytes of memory a table takes beyond those that each may take, about.
func extraOf(t amqp.Table) int64 {
	return max(0, int64(t.Memory()-tableFreeBytes))
}

// extraOfPolicy is what the definition of a policy takes; p may be nil.
func extraOfPolicy(p *settings.PolicyEntry) int64 { return extraOf(p.Table()) }

// checkTables compares what tables take with what is known of that.
func (v *VHost) checkTables() error {
	extra := int64(0)
	for _, q := range v.queues {
		extra += extraOf(q.object.Arguments)
	}
	for x := range v.topo.Exchanges() {
		extra += extraOf(x.Arguments)
	}
	for b := range v.topo.Bindings() {
		extra += extraOf(b.Arguments)
	}
	for _, operator := range [2]bool{false, true} {
		for _, p := range v.policies.Of(operator) {
			extra += extraOfPolicy(p)
		}
	}
	for _, ch := range v.channels {
		for _, x := range ch.consumers {
			extra += extraOf(x.Arguments)
		}
	}
	bytes, keyed := int64(0), 0
	for _, q := range v.queues {
		if bytes += q.bytes(); q.schedule != nil {
			keyed += len(q.schedule.keys.hashes)
		}
	}
	if keyed != v.keyCount {
		return fmt.Errorf("vhost: %d messages wait under keys, %d are counted", keyed, v.keyCount)
	}
	if bytes != v.queueBytes {
		return fmt.Errorf("vhost: queues take %d bytes, %d are counted", bytes, v.queueBytes)
	}
	if extra != v.extra {
		return fmt.Errorf("vhost: large tables take %d bytes, %d are counted", extra, v.extra)
	}
	return nil
}
