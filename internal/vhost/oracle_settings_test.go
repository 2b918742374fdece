package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// arguments is what a queue of that name is declared with.
func (r *rules) arguments(name string) (t amqp.Table) {
	add := func(name string, v amqp.Value) { t = append(t, field(name, v)) }
	if r.likes("quorum", 2) {
		add("x-queue-type", amqp.String("quorum"))
	}
	if r.likes("ttl", 2) {
		add("x-message-ttl", amqp.Int32(int32(r.number(5, 20, 60, 200))))
	} else if r.likes("zero queue", 4) {
		add("x-message-ttl", amqp.Int32(0))
	}
	if r.likes("expires", 2) {
		add("x-expires", amqp.Int32(int32(r.number(100, 400))))
	}
	if r.likes("length", 2) {
		add("x-max-length", amqp.Int64(r.number(0, 1, 2, 4)))
	}
	if r.likes("bytes", 2) {
		add("x-max-length-bytes", amqp.Int64(r.number(4, 9)))
	}
	if r.likes("refuse", 2) {
		add("x-overflow", amqp.String(r.one("reject-publish", "reject-publish-dlx", "drop-head")))
	} else if r.likes("lowest", 2) {
		add("x-overflow", amqp.String("drop-lowest"))
	}
	if r.likes("priority", 2) {
		add("x-max-priority", amqp.Int32(int32(r.number(1, 3, 9))))
	}
	if r.likes("limit", 2) {
		add("x-delivery-limit", amqp.Int32(int32(r.number(-1, 0, 1, 2))))
	}
	if r.likes("failed", 2) {
		add("x-delivery-count-mode", amqp.String(r.one("failed", "failed", "all")))
	}
	if r.likes("retry", 2) {
		least := r.number(5, 30)
		add("x-delayed-retry-type", amqp.String(r.one("all", "all", "failed", "returned", "disabled")))
		add("x-delayed-retry-min", amqp.Int64(least))
		if r.once(2) {
			add("x-delayed-retry-max", amqp.Int64(least*r.number(1, 2, 5)))
		}
	}
	if r.likes("cycle", 4) {
		add("x-dead-letter-exchange", amqp.String(""))
		add("x-dead-letter-routing-key", amqp.String(name))
	} else if r.taste["dlx"] && !r.once(4) {
		switch r.dice.IntN(3) {
		case 0:
			add("x-dead-letter-exchange", amqp.String(""))
			add("x-dead-letter-routing-key", amqp.String(r.queue()))
		case 1:
			add("x-dead-letter-exchange", amqp.String(r.exchange()))
		default:
			add("x-dead-letter-exchange", amqp.String(r.exchange()))
			add("x-dead-letter-routing-key", amqp.String(r.key()))
		}
	}
	if r.likes("timeout", 3) {
		add("x-consumer-timeout", amqp.Int32(int32(r.number(0, 30, 200))))
	}
	if r.likes("at-least-once", 2) {
		add("x-dead-letter-strategy", amqp.String("at-least-once"))
	}
	return t
}

// lostLetters sends some of the lost letters on, or throws them away.
func (r *rules) lostLetters() []op {
	c := oracle.Command{Kind: oracle.Republish}
	for _, id := range r.duel.oracle.LostLetters() {
		if r.once(2) {
			c.LostLetters = append(c.LostLetters, id)
		}
	}
	if c.LostLetters == nil {
		return r.publish()
	}
	switch r.dice.IntN(4) {
	case 0:
		c.Kind = oracle.Discard
		c.LostLetters = append(c.LostLetters, c.LostLetters[0])
	case 1:
		c.Exchange, c.Key = r.exchange(), r.key()
	}
	return r.on(c)
}

// policy sets or clears one. Each has one or two keys.
func (r *rules) policy() []op {
	p := oracle.Policy{Name: r.one("p1", "p2", "p3"), Operator: r.likes("operator", 3)}
	if r.once(3) {
		return []op{{command: oracle.Command{Kind: oracle.ClearPolicy, Policy: p}}}
	}
	p.Pattern = r.one("", "q", "^q[12]$", "[135]", "^x", "q2|x1")
	p.ApplyTo = r.one("all", "queues", "queues", "classic_queues", "quorum_queues", "exchanges")
	p.Priority = r.number(-1, 0, 0, 1)
	for range 1 + r.dice.IntN(2) {
		for _, f := range r.setting(p.Operator) {
			if _, ok := p.Definition.Get(f.Name); !ok {
				p.Definition = append(p.Definition, f)
			}
		}
	}
	return []op{{command: oracle.Command{Kind: oracle.SetPolicy, Policy: p}}}
}

// setting is a key of a policy, of those that the seed has a taste for.
func (r *rules) setting(operator bool) amqp.Table {
	for {
		taste := r.one(sortedTastes...)
		if !r.taste[taste] {
			continue
		}
		t := amqp.Table(nil)
		switch taste {
		case "ttl":
			t = amqp.Table{field("message-ttl", amqp.Int64(r.number(10, 30, 50)))}
		case "zero queue":
			t = amqp.Table{field("message-ttl", amqp.Int64(0))}
		case "expires":
			t = amqp.Table{field("expires", amqp.Int64(r.number(50, 300)))}
		case "length":
			t = amqp.Table{field("max-length", amqp.Int64(r.number(0, 1, 2, 3)))}
		case "bytes":
			t = amqp.Table{field("max-length-bytes", amqp.Int64(r.number(3, 8)))}
		case "refuse":
			t = amqp.Table{field("overflow", amqp.String(r.one("reject-publish", "reject-publish-dlx", "drop-head")))}
		case "lowest":
			t = amqp.Table{field("overflow", amqp.String("drop-lowest"))}
		case "limit":
			t = amqp.Table{field("delivery-limit", amqp.Int64(r.number(-2, -1, 0, 1, 3)))}
		case "retry":
			t = amqp.Table{
				field("delayed-retry-type", amqp.String(r.one("all", "failed", "returned", "disabled"))),
				field("delayed-retry-min", amqp.Int64(r.number(5, 40))), field("delayed-retry-max", amqp.Int64(r.number(40, 90))),
			}
		case "dlx":
			t = amqp.Table{field("dead-letter-exchange", amqp.String(r.one("", r.exchange())))}
			if r.once(2) {
				t = append(t, field("dead-letter-routing-key", amqp.String(r.key())))
			}
		case "at-least-once":
			t = amqp.Table{field("dead-letter-strategy", amqp.String(r.one("at-least-once", "at-most-once")))}
		case "failed":
			t = amqp.Table{field("delivery-count-mode", amqp.String(r.one("failed", "all")))}
		case "timeout":
			t = amqp.Table{field("consumer-timeout", amqp.Int64(r.number(50, 150)))}
		case "cycle":
			t = amqp.Table{field("cycle", amqp.String(r.one("keep", "keep", "shelf")))}
		case "head":
			t = amqp.Table{field("expiry", amqp.String(r.one("head", "head", "exact")))}
		case "alternate":
			t = amqp.Table{field("alternate-exchange", amqp.String(r.exchange()))}
		default:
			t = amqp.Table{field("max-length", amqp.Int64(100))}
		}
		switch taste {
		case "dlx", "at-least-once", "failed", "timeout", "cycle", "head", "alternate":
			if operator {
				continue
			}
		}
		return t
	}
}

// options changes one of the vhost's.
func (r *rules) options() []op {
	var f amqp.Field
	switch r.dice.IntN(9) {
	case 0:
		f = field("lost-letters-max-bytes", amqp.Int64(r.number(0, 64<<20, 64<<20)))
	case 1:
		f = field("lost-letters-max-age", amqp.Int64(r.number(50, 500, 604_800_000)))
	case 2:
		f = field("delivery-limit", amqp.Int64(r.number(0, 2, 5)))
	case 3:
		f = field("hops-max", amqp.Int64(r.number(1, 2, 3)))
	case 4:
		f = field(r.one("ttl-in-loops", "ttl-in-dlq"), amqp.Bool(r.once(2)))
	case 5:
		f = field("dlx-by-argument-only", amqp.Bool(r.once(2)))
	case 6:
		f = field("death-total", amqp.Bool(r.once(2)))
	case 7:
		f = field("reject-reasons", amqp.Bool(r.once(2)))
	default:
		if r.taste["dialect"] {
			f = field("dialect", amqp.String(r.one("rabbitmq-4", "rabbitmq-3", "apsaramq")))
		} else {
			f = field("hops-max", amqp.Void())
		}
	}
	if r.once(3) {
		f.Value = amqp.Void()
	}
	return []op{{command: oracle.Command{Kind: oracle.SetOptions, Arguments: amqp.Table{f}}}}
}
