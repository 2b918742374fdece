package vhost

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	mathbits "math/bits"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// generated makes the random part of a name that the broker gives: 22 URL-safe characters.
func generated(entropy uint64, index storage.Index) string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], entropy)
	binary.LittleEndian.PutUint64(b[8:], entropy*0x9E3779B97F4A7C15^mathbits.Reverse64(uint64(index)))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// lookUp finds the queue that a command names, the channel's last declared if it names none, and makes sure
// that the connection may use it. Source: docs/compat/amqp-surface.md#6, #9.
func (v *VHost) lookUp(ch *channel, name string) (*queueState, *amqp.Error) {
	name, err := ch.queueName(name)
	if err != nil {
		return nil, err
	}
	q := v.queueNamed(name)
	if q == nil {
		return nil, v.noQueue(name)
	}
	if q.object.Exclusive && q.owner != ch.conn.id {
		return nil, v.locked(name)
	}
	return q, nil
}

// queueName is the queue that a command means: an empty name is the one that the channel declared last.
func (ch *channel) queueName(name string) (string, *amqp.Error) {
	if name == "" {
		name = ch.lastQueue
	}
	if name == "" {
		return "", amqp.NotFound("no previously declared queue")
	}
	return name, nil
}

func (v *VHost) noQueue(name string) *amqp.Error {
	return amqp.NotFound("no queue '%s' in vhost '%s'", name, v.name)
}

func (v *VHost) locked(name string) *amqp.Error {
	return amqp.ResourceLocked("cannot obtain exclusive access to locked queue '%s' in vhost '%s'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.", name, v.name)
}

// declareQueue decides queue.declare. Source: AMQP queue.declare; docs/compat/amqp-surface.md#9.
func (s *step) declareQueue(ch *channel, c *Command) *amqp.Error {
	if IsDirectReply(c.Definition.Name) {
		return s.declareReplies(ch, c)
	}
	d := c.Definition.typed()
	q := s.queueNamed(d.Name)
	switch {
	case d.Passive:
		if q == nil {
			return s.noQueue(d.Name)
		}
		if q.object.Exclusive && q.owner != ch.conn.id {
			return s.locked(d.Name)
		}
	case strings.HasPrefix(d.Name, "amq."):
		return amqp.AccessRefused("queue name '%s' contains reserved prefix 'amq.*'", d.Name)
	case q != nil:
		if err := s.equivalentQueue(ch, q, &d); err != nil {
			return err
		}
	default:
		if d.Name == "" {
			d.Name = "amq.gen-" + generated(s.Entropy, s.Index)
		}
		if s.options.StrictNames && !strictName(d.Name) {
			return amqp.PreconditionFailed("invalid name of queue '%s' in vhost '%s': only letters, digits and -_.#/@ are allowed", d.Name, s.name)
		}
		if err := s.newQueue(ch, &d, c.Definition.Name == ""); err != nil {
			return err
		}
		q = s.queueNamed(d.Name)
	}
	s.traffic.QueuesDeclared++
	ch.lastQueue = d.Name
	if q.expires != 0 && !c.NoWait || q.expires == 0 && q.settings.Expires > 0 {
		s.armExpiry(q)
	}
	s.done(ch, c, Effect{Name: d.Name, Count: uint64(q.messages.Ready()), Consumers: uint32(q.consumers.Len())})
	return nil
}

// typed returns d with the default queue type in its arguments, if that is another than classic, d names none and
// its flags allow it. Source: RabbitMQ vhosts#default-queue-type.
func (d *Definition) typed() Definition {
	typed := *d
	_, named := d.Arguments.Get("x-queue-type")
	if named || d.QueueType == "" || d.QueueType == "classic" || !d.Durable || d.Exclusive || d.AutoDelete {
		return typed
	}
	typed.Arguments = append(slices.Clip(d.Arguments), amqp.Field{Name: "x-queue-type", Value: amqp.String(d.QueueType)})
	return typed
}

// newQueue makes the queue that d describes.
func (s *step) newQueue(ch *channel, d *Definition, serverNamed bool) *amqp.Error {
	kind := "classic"
	if a, ok := d.Arguments.Get("x-queue-type"); ok && a.Kind == amqp.KindString {
		kind = a.Str
	}
	switch kind {
	case "classic":
	case "quorum":
		switch {
		case serverNamed:
			return amqp.PreconditionFailed("Cannot declare a server-named queue for type rabbit_quorum_queue")
		case !d.Durable:
			return amqp.PreconditionFailed("invalid property 'non-durable' for queue '%s' in vhost '%s'", d.Name, s.name)
		case d.Exclusive:
			return amqp.PreconditionFailed("invalid property 'exclusive-owner' for queue '%s' in vhost '%s'", d.Name, s.name)
		case d.AutoDelete:
			return amqp.PreconditionFailed("invalid property 'auto-delete' for queue '%s' in vhost '%s'", d.Name, s.name)
		}
	case "stream":
		return amqp.NotImplemented("queue type 'stream' of queue '%s' in vhost '%s'", d.Name, s.name)
	default:
		return settings.InvalidArgument("x-queue-type", d.Name, s.name, fmt.Sprintf("\"unsupported queue type '%s'\"", kind))
	}
	if err := settings.CheckArguments(s.name, d.Name, kind, d.Arguments); err != nil {
		return err
	}
	o := &fact.Object{
		Name: d.Name, Type: kind, Durable: d.Durable && !d.Exclusive, AutoDelete: d.AutoDelete, Exclusive: d.Exclusive,
		Arguments: d.Arguments,
	}
	if id, taken := s.topo.Queue(d.Name); taken { // by one that is leaving
		s.deleteQueue(s.queues[id])
	}
	f := fact.Fact{Kind: fact.QueueDeclared, Durable: o.Durable, Queue: s.queueMax + 1, Object: o}
	if d.Exclusive {
		f.Owner = ch.conn.id
	}
	s.emit(&f)
	s.traffic.QueuesCreated++
	if d.Exclusive {
		ch.conn.owned = append(ch.conn.owned, f.Queue)
	}
	return nil
}

// equivalentQueue compares a redeclaration with what is there. Source: docs/compat/amqp-surface.md#6, #9.
func (v *VHost) equivalentQueue(ch *channel, q *queueState, d *Definition) *amqp.Error {
	o := &q.object
	if o.Exclusive != d.Exclusive || o.Exclusive && q.owner != ch.conn.id {
		return v.locked(d.Name)
	}
	what := "queue '" + d.Name + "' in vhost '" + v.name + "'"
	if !o.Exclusive {
		if err := sameFlag("durable", what, d.Durable, o.Durable); err != nil {
			return err
		}
	}
	if err := sameFlag("auto_delete", what, d.AutoDelete, o.AutoDelete); err != nil {
		return err
	}
	for _, name := range settings.ArgumentsOf(o.Type) {
		if err := sameArgument(name, what, d.Arguments, o.Arguments); err != nil {
			return err
		}
	}
	return nil
}

func sameFlag(name, what string, received, current bool) *amqp.Error {
	if received == current {
		return nil
	}
	return amqp.PreconditionFailed("inequivalent arg '%s' for %s: received '%t' but current is '%t'", name, what, received, current)
}

func sameArgument(name, what string, received, current amqp.Table) *amqp.Error {
	r, hasR := received.Get(name)
	c, hasC := current.Get(name)
	if name == "x-queue-type" { // absent is the default type
		if !hasR {
			r, hasR = amqp.String("classic"), true
		}
		if !hasC {
			c, hasC = amqp.String("classic"), true
		}
	}
	switch {
	case !hasR && !hasC:
		return nil
	case !hasR:
		return amqp.PreconditionFailed("inequivalent arg '%s' for %s: received none but current is the value '%s' of type '%s'", name, what, settings.Show(c), c.TypeName())
	case !hasC:
		return amqp.PreconditionFailed("inequivalent arg '%s' for %s: received the value '%s' of type '%s' but current is none", name, what, settings.Show(r), r.TypeName())
	case !r.Equivalent(c):
		return amqp.PreconditionFailed("inequivalent arg '%s' for %s: received '%s' but current is '%s'", name, what, settings.Show(r), settings.Show(c))
	}
	return nil
}

// removeQueue decides queue.delete. Source: AMQP queue.delete.
func (s *step) removeQueue(ch *channel, c *Command) *amqp.Error {
	d := c.Definition
	q, err := s.lookUp(ch, d.Name)
	if err != nil {
		if err.Code == amqp.CodeNotFound && d.Name != "" {
			s.done(ch, c, Effect{})
			return nil
		}
		return err
	}
	if q.quorum && (d.IfUnused || d.IfEmpty) {
		flag := "if-empty"
		if d.IfUnused {
			flag = "if-unused"
		}
		return amqp.NotImplemented("cannot delete queue '%s' in vhost '%s'. queue.delete operations with %s flag set are not supported by quorum queues", q.object.Name, s.name, flag)
	}
	if d.IfUnused && q.consumers.Len() > 0 {
		return amqp.PreconditionFailed("queue '%s' in vhost '%s' in use", q.object.Name, s.name)
	}
	if d.IfEmpty && q.messages.Ready()+q.messages.Count(queue.Waiting)+q.messages.Count(queue.Held) > 0 {
		return amqp.PreconditionFailed("queue '%s' in vhost '%s' not empty", q.object.Name, s.name)
	}
	n := uint64(q.messages.Ready())
	s.deleteQuietly(q)
	answer := Command{Kind: c.Kind, NoWait: c.NoWait}
	s.deleteOrphans(ch.conn, func(s *step) {
		s.done(ch, &answer, Effect{Count: n}) // before basic.cancel: a client that waits for delete-ok may take that for an error
		s.cancelConsumers(q)
	})
	return nil
}

// deleteQueue deletes q and tells its consumers.
func (s *step) deleteQueue(q *queueState) {
	if q.deleted {
		return
	}
	s.deleteQuietly(q)
	s.cancelConsumers(q)
	s.deleteOrphansLater()
}

// deleteQuietly deletes q, with its bindings and messages. Its orphans and consumers stay. Nothing becomes a dead
// letter. Source: docs/compat/dead-lettering.md#1.
func (s *step) deleteQuietly(q *queueState) {
	s.traffic.QueuesDeleted++
	s.emit(&fact.Fact{Kind: fact.QueueDeleted, Durable: q.object.Durable, Queue: q.id})
}

// cancelConsumers ends the consumers of a queue that is deleted.
func (s *step) cancelConsumers(q *queueState) {
	var listeners []*channel
	for _, x := range q.consumers.All() {
		ch := s.channels[ChannelID(x.Channel)]
		if ch == nil || ch.byTag[x.Tag] != x {
			continue
		}
		delete(ch.byTag, x.Tag)
		s.unsubscribes(ch.conn, x)
		if n := len(listeners); n == 0 || listeners[n-1] != ch {
			listeners = append(listeners, ch)
		}
		if ch.conn.cancelNotify {
			s.effect(Effect{Kind: Cancelled, Channel: ch.id, ConsumerTag: x.Tag, After: s.newest()})
		}
	}
	for _, ch := range listeners {
		ch.consumers = slices.DeleteFunc(ch.consumers, func(x *queue.Consumer) bool { return x.Queue == uint32(q.id) })
	}
}

// purge decides queue.purge: what is ready, waits or is held goes, what is unacked stays.
// Source: AMQP queue.purge; docs/compat/dead-lettering.md#12, docs/compat/quorum-and-retry.md#6.
func (s *step) purge(ch *channel, c *Command) *amqp.Error {
	q, err := s.lookUp(ch, c.Definition.Name)
	if err != nil {
		return err
	}
	off := s.purgeOff(q)
	answer := Command{Kind: PurgeQueue, NoWait: c.NoWait}
	s.purgeInPortions(ch, q, func(s *step, n uint64) {
		n += off
		q.flow.Purged += n
		s.markDirty(q, 0)
		s.done(ch, &answer, Effect{Count: n})
	})
	return nil
}

// purgeInPortions ends all that q has but what is unacked, or comes later, and tells then how many that were.
func (s *step) purgeInPortions(ch *channel, q *queueState, then func(s *step, n uint64)) {
	ends := q.messages.Ends()
	lane, from, n := 0, queue.Seq(0), uint64(0)
	s.inPortions(ongoing{conn: ch.conn, portion: func(s *step) bool {
		before := q.counted(queue.Held)
		for more := false; lane < len(ends) && !q.deleted; lane++ {
			from = max(from, queue.First(lane))
			if from, more = s.purgeSome(q, from, ends[lane]); more {
				n += uint64(before - q.counted(queue.Held))
				s.markDirty(q, 0)
				return true
			}
		}
		if !q.deleted {
			n += uint64(before - q.counted(queue.Held))
		}
		then(s, n)
		return false
	}})
}

// purgeSome ends a portion of a lane from one number on and below another, and tells where there is more.
func (s *step) purgeSome(q *queueState, from, end queue.Seq) (next queue.Seq, more bool) {
	return q.messages.ClearSome(from, uint64(end-from), func() bool { return !s.full() }, func(first queue.Seq, span uint64, g queue.PendingFree) {
		s.work += workOfChunk
		s.endWhole(q, first, span, g, fact.GonePurged)
	}, func(at queue.Seq, e *queue.Entry) {
		if e.State != queue.Unacked {
			s.end(q, at, fact.GonePurged)
		}
	})
}

// sortedQueues lists the queues by number: map order must not reach a fact.
func (v *VHost) sortedQueues() []*queueState {
	all := make([]*queueState, 0, len(v.queues)+1)
	for _, q := range v.ordered {
		if !q.deleted {
			all = append(all, q)
		}
	}
	return all
}
