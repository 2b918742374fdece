package vhost

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// command turns a line into the command that it stands for; ok is false for the verbs that are none.
func (l *line) command(conn fact.ConnID, channel ChannelID) (c Command, err error) {
	c = Command{Conn: conn, Channel: channel, NoWait: l.has("nowait")}
	d := &Definition{
		Name: l.operand(0), Durable: !l.has("transient"), Exclusive: l.has("exclusive"), AutoDelete: l.has("auto-delete"),
		Passive: l.has("passive"), Internal: l.has("internal"), IfUnused: l.has("if-unused"), IfEmpty: l.has("if-empty"),
		NoAck: l.has("noack"), IfFits: l.has("fits"), Global: l.has("global"),
	}
	c.Definition = d
	kinds := map[string]CommandKind{
		"declare": DeclareQueue, "delete": DeleteQueue, "purge": PurgeQueue, "exchange": DeclareExchange,
		"delete-exchange": DeleteExchange, "bind": BindQueue, "unbind": UnbindQueue, "link": BindExchange, "unlink": UnbindExchange,
		"publish": Publish, "announce": Announce, "consume": Consume, "cancel": Cancel, "get": Get, "qos": Qos, "ack": Ack, "nack": Nack,
		"reject": Reject, "recover": Recover, "confirm": SelectConfirms, "tx": SelectTx, "commit": CommitTx,
		"rollback": RollbackTx, "close": CloseChannel, "policy": SetPolicy, "clear-policy": ClearPolicy,
		"disconnect": Disconnect, "written": Grant, "stop-deliveries": StopDeliveries, "options": SetOptions, "republish": Republish, "discard": Discard,
		"unschedule": Unschedule, "reschedule": Reschedule, "fire": FireNow, "purge-schedule": PurgeSchedule,
		"redrive": BeginRedrive, "job": ChangeRedrive, "resend": Resend,
	}
	if c.Kind = kinds[l.verb]; c.Kind == 0 {
		return c, fmt.Errorf("unknown verb %q", l.verb)
	}
	switch c.Kind {
	case DeclareQueue:
		d.Arguments = l.arguments()
	case DeclareExchange:
		d.Type = l.operand(1)
		d.Arguments = l.arguments("alternate-exchange", "hash-header", "hash-property", "x-recent-history-length")
	case BindQueue, UnbindQueue, BindExchange, UnbindExchange:
		d.Source, d.Name, d.RoutingKey = l.operand(0), l.operand(1), l.text("key")
		for i := range l.options {
			if o := &l.options[i]; !o.used {
				o.used = true
				d.Arguments = append(d.Arguments, amqp.Field{Name: strings.TrimPrefix(o.name, "h."), Value: o.argument()})
			}
		}
	case Publish, Announce:
		if err = l.publish(&c); err != nil {
			return c, err
		}
	case Consume:
		d.ConsumerTag = l.operand(1)
		d.Arguments = l.arguments()
	case Cancel:
		d.ConsumerTag = l.operand(0)
	case Qos:
		n, _ := strconv.ParseUint(l.operand(0), 10, 16)
		d.Prefetch, d.PrefetchSize = uint16(n), uint32(l.number("size"))
	case Ack, Nack, Reject, Recover:
		if len(l.operands) > 0 {
			if c.Tag, err = strconv.ParseUint(l.operand(0), 10, 64); err != nil {
				return c, err
			}
		}
		c.Multiple, c.Requeue = l.has("multiple"), l.has("requeue")
	case Grant:
		c.WindowMax = l.number("window")
		c.Window, err = strconv.ParseInt(l.operand(1), 10, 64)
	case SetPolicy, ClearPolicy:
		l.policy(&c)
	case SetOptions:
		c.Channel = 0
		for i := range l.options {
			o := &l.options[i]
			o.used = true
			f := amqp.Field{Name: o.name, Value: o.argument()}
			if o.value == "none" {
				f.Value = amqp.Void()
			}
			d.Arguments = append(d.Arguments, f)
		}
	case Republish, Discard:
		c.Selection, err = l.selection()
	case Unschedule, Reschedule, FireNow:
		c.Selection, err = l.scheduled()
	case BeginRedrive:
		c.JobSpec, err = l.order()
	case ChangeRedrive:
		c.JobChange, err = l.jobChange()
	case Resend:
		err = l.edit(&c)
	}
	if err == nil {
		err = l.unused()
	}
	return c, err
}

func (l *line) selection() (*Selection, error) {
	to, elsewhere := l.option("to")
	x := &Selection{Elsewhere: elsewhere, RoutingKey: to}
	if exchange, key, has := strings.Cut(to, ":"); has {
		x.Exchange, x.RoutingKey = exchange, key
	}
	for _, s := range l.operands {
		id, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, err
		}
		x.IDs = append(x.IDs, id)
	}
	return x, nil
}

// scheduled names messages that wait.
func (l *line) scheduled() (*Selection, error) {
	x := &Selection{}
	if at, has := l.option("at"); has {
		d, err := time.ParseDuration(at)
		if err != nil {
			return nil, err
		}
		x.At = epoch + deadline.Instant(d.Milliseconds())
	}
	for _, s := range l.operands {
		id, ok := ParseScheduledID(s)
		if !ok {
			return nil, fmt.Errorf("%q is no ID of a message that waits", s)
		}
		x.Scheduled = append(x.Scheduled, id)
	}
	return x, nil
}

func (l *line) policy(c *Command) {
	c.Policy = &Policy{
		Name: l.operand(0), Pattern: l.operand(1), ApplyTo: l.text("apply"), Operator: l.has("operator"), Priority: l.number("priority"),
	}
	c.Channel = 0
	for i := range l.options {
		if o := &l.options[i]; !o.used {
			o.used = true
			c.Policy.Definition = append(c.Policy.Definition, amqp.Field{Name: o.name, Value: o.argument()})
		}
	}
}

// publish reads the operands of a publish: [exchange:]key and body, and its properties.
func (l *line) publish(c *Command) error {
	exchange, key, has := strings.Cut(l.operand(0), ":")
	if !has {
		exchange, key = "", exchange
	}
	c.Exchange, c.Key, c.Body = []byte(exchange), []byte(key), []byte(l.operand(1))
	c.Mandatory, c.Immediate = l.has("mandatory"), l.has("immediate")
	p := amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent}
	if l.has("transient") {
		p.DeliveryMode = 1
	}
	if l.has("all") {
		p = amqp.Properties{
			Has: amqp.FlagContentType | amqp.FlagContentEncoding | amqp.FlagDeliveryMode | amqp.FlagPriority | amqp.FlagCorrelationID |
				amqp.FlagReplyTo | amqp.FlagMessageID | amqp.FlagTimestamp | amqp.FlagType | amqp.FlagAppID | amqp.FlagClusterID,
			ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent, Priority: 3, CorrelationID: "c-1",
			ReplyTo: "r", MessageID: "m-1", Timestamp: 1234, Type: "order", AppID: "shop", ClusterID: "k",
		}
	}
	if s, ok := l.option("expiration"); ok {
		p.Has, p.Expiration = p.Has|amqp.FlagExpiration, s
	}
	if s, ok := l.option("reply-to"); ok {
		p.Has, p.ReplyTo = p.Has|amqp.FlagReplyTo, s
	}
	if s, ok := l.option("user"); ok {
		p.Has, p.UserID = p.Has|amqp.FlagUserID, s
	}
	if l.has("priority") {
		p.Has, p.Priority = p.Has|amqp.FlagPriority, uint8(l.number("priority"))
	}
	for i := range l.options {
		o := &l.options[i]
		name, isHeader := strings.CutPrefix(o.name, "h.")
		switch {
		case o.name == "cc" || o.name == "bcc":
			o.used = true
			var keys []amqp.Value
			for k := range strings.SplitSeq(o.value, ",") {
				keys = append(keys, amqp.String(k))
			}
			p.Headers = append(p.Headers, amqp.Field{Name: strings.ToUpper(o.name), Value: amqp.Array(keys...)})
		case isHeader:
			o.used = true
			p.Headers = append(p.Headers, amqp.Field{Name: name, Value: o.argument()})
		default:
			continue
		}
		p.Has |= amqp.FlagHeaders
	}
	c.Properties = amqp.AppendProperties(nil, &p)
	return nil
}
