package vhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// seconds shows an instant as the time since the scenario began.
func seconds(i deadline.Instant) string { return fmt.Sprintf("%.3fs", float64(i-epoch)/1000) }

// copyName is a copy as scenarios name it: queue/number from 1, with the priority before it if that is not 0.
func (sc *scenario) copyName(q fact.QueueID, s queue.Seq) string {
	lane, n := uint64(s)>>56, uint64(s)&(1<<56-1)+1
	name := sc.queues[q]
	if q == lostID {
		name = "lost"
	}
	if strings.HasPrefix(name, "schedule of ") {
		return "scheduled " + ScheduledID{q, uint64(s)}.String()
	}
	if lane > 0 {
		return fmt.Sprintf("%s/p%d.%d", name, lane, n)
	}
	return fmt.Sprintf("%s/%d", name, n)
}

// fact renders one fact; those that no log holds begin with ~.
func (sc *scenario) fact(f *fact.Fact) string {
	var s string
	switch f.Kind {
	case fact.ExchangeDeclared:
		s = fmt.Sprintf("exchange %s %s", f.Object.Name, f.Object.Type)
	case fact.ExchangeDeleted:
		s = "exchange deleted " + f.Object.Name
	case fact.QueueDeclared:
		sc.queues[f.Queue] = f.Object.Name
		s = fmt.Sprintf("queue %s %s", f.Object.Name, f.Object.Type)
		if f.Object.Type == scheduleType {
			sc.queues[f.Queue] = "schedule of " + f.Object.Name
			s = fmt.Sprintf("schedule %d of %s", f.Queue, f.Object.Name)
		}
	case fact.QueueDeleted:
		s = "queue deleted " + sc.queues[f.Queue]
	case fact.Bound, fact.Unbound:
		s = fmt.Sprintf("%s %s -> %s", map[fact.Kind]string{fact.Bound: "bound", fact.Unbound: "unbound"}[f.Kind], f.Object.Source, f.Object.Name)
		if f.Object.RoutingKey != "" {
			s += " key=" + f.Object.RoutingKey
		}
	case fact.PolicySet:
		s = "policy set " + f.Policy.Name
	case fact.PolicyCleared:
		s = "policy cleared " + f.Policy.Name
	case fact.Stored:
		c, err := fact.ParseRecord(f.Bytes)
		s = fmt.Sprintf("stored %q", c.Body)
		if err != nil {
			s += " " + err.Error()
		}
	case fact.Remembered:
		h, err := fact.ParseHistory(f.Bytes)
		s = "remembered"
		for _, d := range h.Deaths {
			s += fmt.Sprintf(" [%s %s x%d]", d.Queue, d.Reason, d.Count)
		}
		if err != nil {
			s += " " + err.Error()
		}
	case fact.Enqueued:
		s = "enqueued " + sc.copyName(f.Queue, f.Seq)
		if f.Queue == lostID {
			s += " " + fact.Cause(f.Entry.Priority).String()
		}
		if f.Entry.ExpireAt != 0 {
			s += " expire=" + seconds(f.Entry.ExpireAt)
		}
		if f.At != 0 {
			s += " until=" + seconds(f.At)
		}
		if f.Entry.Flags&queue.Moved != 0 {
			s += fmt.Sprintf(" record=%d", f.Entry.Index)
		}
		if f.Entry.Flags&queue.AtWork != 0 {
			s += " at work"
		}
	case fact.Handed:
		s = "handed " + sc.copyName(f.Queue, f.Seq)
	case fact.Returned:
		s = "returned " + sc.copyName(f.Queue, f.Seq)
		if f.Failed {
			s += " failed"
		}
		if f.At != 0 {
			s += " until=" + seconds(f.At)
		}
	case fact.Resumed:
		s = "resumed " + sc.copyName(f.Queue, f.Seq)
	case fact.Keyed:
		s = "keyed " + sc.copyName(f.Queue, f.Seq)
	case fact.Arrived:
		s = "arrived " + sc.copyName(f.Queue, f.Seq) + " at=" + seconds(f.At)
	case fact.Deferred:
		s = "deferred " + sc.copyName(f.Queue, f.Seq) + " until=" + seconds(f.At)
	case fact.Held:
		s = fmt.Sprintf("held %s %s", sc.copyName(f.Queue, f.Seq), f.Cause)
		for _, id := range f.Took {
			s += " took=" + sc.queues[id]
		}
	case fact.Noted:
		s = "noted by " + f.Object.Name
	case fact.Kept:
		s = "kept " + sc.copyName(f.Queue, f.Seq)
	case fact.Configured:
		s = "options"
		for _, o := range f.Object.Arguments {
			s += fmt.Sprintf(" %s=%s", o.Name, settings.Show(o.Value))
		}
	case fact.Ended:
		s = "ended " + sc.copyName(f.Queue, f.Seq)
		if f.N > 1 {
			s += fmt.Sprintf(" and what follows up to %d", uint64(f.Seq)+f.N)
		}
		s += " " + f.Cause.String()
	case fact.JobBegun, fact.JobProgressed, fact.JobForgotten:
		s = jobFact(f)
	default:
		s = fmt.Sprintf("unknown fact %d", f.Kind)
	}
	if !f.Durable {
		return "~" + s
	}
	return s
}

var commandNames = map[CommandKind]string{
	OpenChannel: "open", CloseChannel: "close", DeclareExchange: "exchange", DeleteExchange: "delete-exchange",
	BindExchange: "link", UnbindExchange: "unlink", DeclareQueue: "declare", DeleteQueue: "delete", BindQueue: "bind",
	UnbindQueue: "unbind", PurgeQueue: "purge", Qos: "qos", Consume: "consume", Cancel: "cancel", Publish: "publish", Announce: "announce", Get: "get",
	Ack: "ack", Nack: "nack", Reject: "reject", Recover: "recover", SelectConfirms: "confirm", SelectTx: "tx", CommitTx: "commit",
	RollbackTx: "rollback", SetPolicy: "policy", ClearPolicy: "clear-policy", SetOptions: "options", Republish: "republish",
	Discard: "discard", Unschedule: "unschedule", Reschedule: "reschedule", FireNow: "fire", PurgeSchedule: "purge-schedule",
	BeginRedrive: "redrive", ChangeRedrive: "job", Resend: "resend",
}

// effect renders one effect. @n is the batch that must be safe before it leaves.
func (sc *scenario) effect(e *Effect) string {
	s := sc.channelName(e.Channel)
	switch e.Kind {
	case Deliver:
		s = fmt.Sprintf("deliver %s %s tag=%d", s, e.ConsumerTag, e.Tag)
	case DeliverGot:
		s = fmt.Sprintf("got %s tag=%d left=%d", s, e.Tag, e.Count)
	case DeliverNone:
		s = "got " + s + " none"
	case Confirm:
		s = fmt.Sprintf("confirm %s %d", s, e.Tag)
	case Refuse:
		s = fmt.Sprintf("refuse %s %d", s, e.Tag)
	case SendBack:
		s = "return " + s
	case Done:
		s = fmt.Sprintf("done %s %s", s, commandNames[e.Command])
		switch e.Command {
		case DeclareQueue:
			s += fmt.Sprintf(" %s ready=%d consumers=%d", e.Name, e.Count, e.Consumers)
		case PurgeQueue, DeleteQueue:
			s += fmt.Sprintf(" count=%d", e.Count)
		case Consume, Cancel:
			s += " " + e.Name
		case Republish, Discard, Unschedule, Reschedule, FireNow, PurgeSchedule, BeginRedrive, ChangeRedrive:
			s += fmt.Sprintf(" count=%d", e.Count)
		}
	case Answered:
		s = fmt.Sprintf("answered %s %d %s", s, e.Tag, e.Name)
	case Went:
		s = fmt.Sprintf("went %s %d to %s", s, e.Tag, e.Name)
	case Cancelled:
		s = fmt.Sprintf("cancelled %s %s", s, e.ConsumerTag)
	case Closed:
		s = fmt.Sprintf("closed %s %d %s", s, e.Err.Code, e.Err.Text)
		if e.Err.ClosesConnection() {
			s += " (connection)"
		}
	default:
		s = fmt.Sprintf("unknown effect %d", e.Kind)
	}
	message := ""
	if e.Kind == Deliver || e.Kind == DeliverGot || e.Kind == SendBack {
		s += sc.message(e, &message)
	}
	if e.After != 0 {
		s += fmt.Sprintf(" @%d", e.After)
	}
	return s + message
}

// message renders what a client sees: exchange:key and body, in more the headers, one a line.
func (sc *scenario) message(e *Effect, more *string) string {
	d := &e.Message
	if d.Record == nil {
		d.Record = sc.world.log.Record(d.Ref)
	}
	if d.History == nil && !d.HistoryRef.IsZero() {
		d.History = sc.world.log.Record(d.HistoryRef)
	}
	v, err := d.View()
	if err != nil {
		return " " + err.Error()
	}
	p, err := amqp.ParseProperties(v.Properties)
	if err != nil {
		return " " + err.Error()
	}
	s := fmt.Sprintf(" %s:%s %q", v.Exchange, v.RoutingKey, v.Body)
	if e.Redelivered {
		s += " redelivered"
	}
	if sc.typed {
		for _, f := range p.Headers {
			*more += fmt.Sprintf("\n  %s = %s", f.Name, typed(f.Value))
		}
		p.Headers = nil
		*more += fmt.Sprintf("\n  %+v", p)
		return s
	}
	if p.Has&amqp.FlagExpiration != 0 {
		s += fmt.Sprintf(" expiration=%q", p.Expiration)
	}
	*more = deathLines(p.Headers)
	return s
}

// deathLines renders headers, the broker's own in short.
func deathLines(headers amqp.Table) string {
	var lines, others []string
	origin := map[string]string{}
	for _, f := range headers {
		last := f.Name[strings.LastIndexByte(f.Name, '-')+1:]
		switch {
		case f.Name == "x-death" && f.Value.Kind == amqp.KindArray:
			for _, d := range f.Value.Array {
				lines = append(lines, "x-death "+deathLine(d.Table))
			}
		case strings.HasPrefix(f.Name, "x-first-death-"), strings.HasPrefix(f.Name, "x-last-death-"):
			origin[strings.TrimSuffix(strings.TrimPrefix(f.Name, "x-"), "-death-"+last)+last] = f.Value.Str
		default:
			others = append(others, f.Name+"="+typed(f.Value))
		}
	}
	for _, which := range []string{"first", "last"} {
		if reason, ok := origin[which+"reason"]; ok {
			lines = append(lines, fmt.Sprintf("%s %s %s from %q", which, origin[which+"queue"], reason, origin[which+"exchange"]))
		}
	}
	if others != nil {
		slices.Sort(others)
		lines = append(lines, "headers "+strings.Join(others, " "))
	}
	if lines == nil {
		return ""
	}
	return "\n  " + strings.Join(lines, "\n  ")
}

func deathLine(t amqp.Table) string {
	text := func(name string) string {
		v, _ := t.Get(name)
		return v.Str
	}
	count, _ := t.Get("count")
	at, _ := t.Get("time")
	keys, _ := t.Get("routing-keys")
	s := fmt.Sprintf("%s %s x%d", text("queue"), text("reason"), count.Int)
	s += fmt.Sprintf(" at %ds from %q keys=", at.Int-int64(epoch)/1000, text("exchange"))
	for i, k := range keys.Array {
		if i > 0 {
			s += ","
		}
		s += k.Str
	}
	if v, ok := t.Get("original-expiration"); ok {
		s += fmt.Sprintf(" expiration=%q", v.Str)
	}
	return s
}

// typed renders a value with the tags of its wire types.
func typed(v amqp.Value) string {
	switch v.Kind {
	case amqp.KindString:
		return fmt.Sprintf("%c%q", v.Kind, v.Str)
	case amqp.KindArray:
		list := make([]string, len(v.Array))
		for i, x := range v.Array {
			list[i] = typed(x)
		}
		return "A[" + strings.Join(list, ", ") + "]"
	case amqp.KindTable:
		list := make([]string, len(v.Table))
		for i, f := range v.Table {
			list[i] = f.Name + "=" + typed(f.Value)
		}
		return "F{" + strings.Join(list, ", ") + "}"
	}
	return fmt.Sprintf("%c%d", v.Kind, v.Int)
}
