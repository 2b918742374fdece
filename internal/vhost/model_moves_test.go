package vhost

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/model"
)

// rules makes the things that happen in a duel at random: first a topology, then what is done to it. Each seed has its
// own taste, a share of all that there is: rules meet more often where fewer of them are about.
type rules struct {
	dice  *rand.Rand
	duel  *duel
	taste map[string]bool

	queues, exchanges []string
	declared          map[string]model.Command // the newest declaration of a queue
	bound             []model.Command
	channels          []int // those open
	channelMax        int
	consumers         int
	bodies            int
	begun             bool // the topology is made
}

// tastes is what a seed may have a taste for, and how often it has, in ten. What has none breaks a rule today: what
// comes to a full queue while something in it is due makes that die for the queue's length; and a letter that a tick
// brings to a queue with TTL 0 dies in sight of a consumer with room; a letter that is held for one target is made a
// dead letter anew by another with reject-publish-dlx, each time that it is tried; a held letter that is too large for
// its target keeps smaller ones from the room that there is; and a purge lets no held letters in.
var tastes = map[string]int{
	"ttl": 6, "expires": 2, "length": 5, "bytes": 2, "refuse": 4, "lowest": 2, "dlx": 9, "limit": 4, "priority": 3, "quorum": 4,
	"at-least-once": 4, "retry": 3, "failed": 2, "policy": 6, "operator": 3, "consumers": 7, "cycle": 4, "head": 2, "options": 3,
	"dialect": 2, "cc": 3, "lag": 4, "late": 0, "zero queue": 0, "refuse and hold": 0, "hold for bytes": 0, "hold and purge": 0, "delete": 4, "auto-delete": 2, "zero": 3, "alternate": 3,
}

func (r *rules) one(list ...string) string  { return list[r.dice.IntN(len(list))] }
func (r *rules) number(list ...int64) int64 { return list[r.dice.IntN(len(list))] }
func (r *rules) once(in int) bool           { return r.dice.IntN(in) == 0 }

// likes reports whether the seed has a taste for something, and it is time, once in n.
func (r *rules) likes(what string, n int) bool { return r.taste[what] && r.once(n) }

func (r *rules) queue() string { return r.one(r.queues...) }

// exchange is the name of one, now and then of one that is not there.
func (r *rules) exchange() string {
	if r.once(12) {
		return "nowhere"
	}
	return r.one(r.exchanges...)
}

func (r *rules) key() string { return r.one("k.one", "k.two", "z", r.queue()) }

// next is what happens next.
func (r *rules) next() []op {
	if r.taste == nil {
		return r.begin()
	}
	r.begun = true
	n := r.dice.IntN(100)
	for _, step := range moves {
		if step.taste != "" && !r.taste[step.taste] {
			continue
		}
		if n -= step.weight; n < 0 {
			return step.move(r)
		}
	}
	return []op{{advance: r.number(1, 3, 7, 20, 60, 250, 1000)}}
}

var moves = []struct {
	weight int
	taste  string
	move   func(*rules) []op
}{
	{34, "", (*rules).publish},
	{8, "", (*rules).get},
	{6, "consumers", (*rules).consume},
	{2, "consumers", func(r *rules) []op { return r.on(model.Command{Kind: model.Cancel, Consumer: r.consumer()}) }},
	{8, "", func(r *rules) []op { return r.settle(model.Ack) }},
	{8, "", func(r *rules) []op { return r.settle(model.Nack) }},
	{5, "", func(r *rules) []op { return r.settle(model.Reject) }},
	{2, "", func(r *rules) []op { return r.on(model.Command{Kind: model.Recover}) }},
	{2, "", (*rules).closeChannel},
	{2, "consumers", func(r *rules) []op {
		return r.on(model.Command{Kind: model.Qos, Prefetch: int(r.number(0, 1, 2, 3)), Global: r.once(3)})
	}},
	{3, "", (*rules).declare},
	{1, "delete", func(r *rules) []op { return r.on(model.Command{Kind: model.DeleteQueue, Name: r.queue()}) }},
	{1, "", (*rules).purge},
	{1, "delete", func(r *rules) []op {
		return r.on(model.Command{Kind: model.DeleteExchange, Name: r.one(r.exchanges...)})
	}},
	{1, "", (*rules).declareExchange},
	{3, "", (*rules).bind},
	{5, "policy", (*rules).policy},
	{2, "options", (*rules).options},
}

// begin chooses a taste and makes a topology.
func (r *rules) begin() []op {
	r.taste = map[string]bool{}
	for _, what := range sortedTastes {
		r.taste[what] = r.dice.IntN(10) < tastes[what]
	}
	if r.taste["at-least-once"] && r.taste["refuse"] && !r.taste["hold for bytes"] {
		r.taste["bytes"] = false
	}
	r.declared = map[string]model.Command{}
	for i := range 2 + r.dice.IntN(5) {
		r.queues = append(r.queues, fmt.Sprintf("q%d", i+1))
	}
	for i := range 1 + r.dice.IntN(4) {
		r.exchanges = append(r.exchanges, fmt.Sprintf("x%d", i+1))
	}
	var ops []op
	for range 3 {
		ops = append(ops, r.open())
	}
	ops = append(ops, op{command: model.Command{Kind: model.Confirms, Channel: r.channels[0]}})
	for _, x := range r.exchanges {
		ops = append(ops, r.on(r.exchangeNamed(x).command)...)
	}
	for _, q := range r.queues {
		ops = append(ops, r.on(r.queueNamed(q).command)...)
	}
	for range len(r.queues) + r.dice.IntN(5) {
		ops = append(ops, r.bind()...)
	}
	if r.taste["policy"] {
		ops = append(ops, r.policy()...)
	}
	return ops
}

var sortedTastes = func() (list []string) {
	for what := range tastes {
		list = append(list, what)
	}
	slices.Sort(list)
	return list
}()

func (r *rules) open() op {
	r.channelMax++
	r.channels = append(r.channels, r.channelMax)
	return op{command: model.Command{Kind: model.OpenChannel, Channel: r.channelMax}}
}

// on is a command on one of the channels. Those that a refusal has closed are opened again, under other numbers.
func (r *rules) on(c model.Command) (ops []op) {
	if r.begun {
		r.channels = slices.DeleteFunc(r.channels, func(ch int) bool { return ch != c.Channel && !r.duel.model.Open(ch) })
	}
	for len(r.channels) < 3 {
		ops = append(ops, r.open())
	}
	if c.Channel == 0 {
		c.Channel = r.channels[r.dice.IntN(len(r.channels))]
	}
	o := op{command: c}
	if r.likes("lag", 6) {
		switch c.Kind {
		case model.Publish, model.Nack, model.Reject, model.Recover:
			if r.taste["late"] {
				o.lag = r.number(1, 5, 30)
			}
		case model.Get, model.Consume, model.Ack, model.Qos:
			o.lag = r.number(1, 5, 30)
		}
	}
	return append(ops, o)
}

func (r *rules) closeChannel() []op {
	i := r.dice.IntN(len(r.channels))
	c := r.channels[i]
	return r.on(model.Command{Kind: model.CloseChannel, Channel: c})
}

func field(name string, v amqp.Value) amqp.Field { return amqp.Field{Name: name, Value: v} }

func (r *rules) publish() []op {
	r.bodies++
	c := model.Command{Kind: model.Publish, Key: r.queue(), Body: fmt.Sprintf("m%d%s", r.bodies, strings.Repeat(".", r.dice.IntN(3)))}
	if r.once(2) {
		c.Exchange, c.Key = r.one(r.exchanges...), r.key()
	}
	p := &c.Properties
	p.Has, p.DeliveryMode = amqp.FlagDeliveryMode, uint8(1+r.dice.IntN(2))
	if r.likes("ttl", 3) {
		p.Has, p.Expiration = p.Has|amqp.FlagExpiration, r.one("5", "20", "60", "200")
		if r.likes("zero", 3) {
			p.Expiration = "0"
		}
		if r.once(60) {
			p.Expiration = "soon"
		}
	}
	if r.likes("priority", 2) {
		p.Has, p.Priority = p.Has|amqp.FlagPriority, uint8(r.number(0, 1, 2, 4, 5, 9, 40))
	}
	if r.likes("cc", 3) {
		p.Headers = append(p.Headers, field("CC", amqp.Array(amqp.String(r.key()), amqp.String(r.queue()))))
	}
	if r.likes("cc", 3) {
		p.Headers = append(p.Headers, field("BCC", amqp.Array(amqp.String(r.key()))))
	}
	if r.once(8) {
		p.Headers = append(p.Headers, field("h", amqp.Int32(int32(r.dice.IntN(2)))))
	}
	if r.once(12) {
		p.Headers = append(p.Headers, field("x-first-death-queue", amqp.String("spoof")))
	}
	if p.Headers != nil {
		p.Has |= amqp.FlagHeaders
	}
	c.Mandatory = r.once(4)
	return r.on(c)
}

func (r *rules) get() []op {
	return r.on(model.Command{Kind: model.Get, Name: r.queue(), NoAck: r.once(3)})
}

func (r *rules) consumer() string { return fmt.Sprintf("t%d", 1+r.dice.IntN(r.consumers+1)) }

func (r *rules) consume() []op {
	r.consumers++
	c := model.Command{Kind: model.Consume, Name: r.queue(), Consumer: fmt.Sprintf("t%d", r.consumers), NoAck: r.once(4)}
	if r.once(4) {
		c.Arguments = amqp.Table{field("x-priority", amqp.Int32(int32(r.number(-1, 2, 5))))}
	}
	return r.on(c)
}

func (r *rules) purge() []op {
	if r.taste["at-least-once"] && r.taste["refuse"] && !r.taste["hold and purge"] {
		return r.get()
	}
	return r.on(model.Command{Kind: model.PurgeQueue, Name: r.queue()})
}

// settle acks, or gives back, mostly what is outstanding.
func (r *rules) settle(kind model.Kind) []op {
	c := model.Command{Kind: kind, Multiple: kind != model.Reject && r.once(3), Requeue: kind != model.Ack && r.once(2)}
	var with []int
	for _, ch := range r.channels {
		if len(r.duel.model.Outstanding(ch)) > 0 {
			with = append(with, ch)
		}
	}
	if len(with) == 0 {
		return r.get()
	}
	c.Channel = with[r.dice.IntN(len(with))]
	tags := r.duel.model.Outstanding(c.Channel)
	c.Tag = tags[r.dice.IntN(len(tags))]
	switch {
	case r.once(60):
		c.Tag += 3
	case c.Multiple && r.once(4):
		c.Tag = 0
	}
	return r.on(c)
}

func (r *rules) exchangeNamed(name string) op {
	c := model.Command{Kind: model.DeclareExchange, Name: name, Type: r.one("direct", "fanout", "topic", "headers"), Durable: true, Internal: r.once(12)}
	if r.likes("alternate", 3) {
		c.Arguments = amqp.Table{field("alternate-exchange", amqp.String(r.exchange()))}
	}
	return op{command: c}
}

func (r *rules) declareExchange() []op {
	return r.on(r.exchangeNamed(r.one(r.exchanges...)).command)
}

func (r *rules) bind() []op {
	if len(r.bound) > 0 && r.once(5) {
		c := r.bound[r.dice.IntN(len(r.bound))]
		c.Kind, c.Channel = model.Unbind, 0
		return r.on(c)
	}
	c := model.Command{Kind: model.Bind, Exchange: r.one(r.exchanges...), Name: r.queue(), Key: r.one("k.one", "k.*", "#", "*.two", "k.#", r.key())}
	if r.once(4) {
		c.ToExchange, c.Name = true, r.one(r.exchanges...)
	} else if r.once(3) {
		c.Arguments = amqp.Table{field("x-match", amqp.String(r.one("all", "any", "all-with-x", "any-with-x")))}
		if r.once(2) {
			c.Arguments = append(c.Arguments, field("x-first-death-queue", amqp.String(r.queue())))
		}
		if r.once(2) {
			c.Arguments = append(c.Arguments, field("x-last-death-reason", amqp.String(r.one("rejected", "expired", "maxlen"))))
		}
		if r.once(2) {
			c.Arguments = append(c.Arguments, field("h", amqp.Int64(1)))
		}
	}
	r.bound = append(r.bound, c)
	return r.on(c)
}

// declare declares a queue again: as it was, or only looks, or otherwise.
func (r *rules) declare() []op {
	name := r.queue()
	c, ok := r.declared[name]
	switch {
	case !ok || r.once(4):
		return r.on(r.queueNamed(name).command)
	case r.once(2):
		c.Passive = true
	}
	c.Channel = 0
	return r.on(c)
}

func (r *rules) queueNamed(name string) op {
	c := model.Command{Kind: model.DeclareQueue, Name: name, Durable: !r.once(3), Arguments: r.arguments()}
	if textOfArgument(c.Arguments, "x-queue-type") == "quorum" {
		c.Durable = true
	} else {
		c.AutoDelete = r.likes("auto-delete", 3)
	}
	r.declared[name] = c
	return op{command: c}
}

func textOfArgument(t amqp.Table, name string) string {
	v, _ := t.Get(name)
	return v.Str
}

// arguments is what a queue is declared with.
func (r *rules) arguments() (t amqp.Table) {
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
		add("x-overflow", amqp.String(r.refusal()))
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
	if r.taste["dlx"] && !r.once(4) {
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
	if r.likes("at-least-once", 2) {
		add("x-dead-letter-strategy", amqp.String("at-least-once"))
	}
	return t
}

// refusal is an overflow behaviour, mostly one that refuses.
func (r *rules) refusal() string {
	if r.taste["at-least-once"] && !r.taste["refuse and hold"] {
		return r.one("reject-publish", "reject-publish", "drop-head")
	}
	return r.one("reject-publish", "reject-publish-dlx", "drop-head")
}

// policy sets or clears one. Each has one or two keys.
func (r *rules) policy() []op {
	p := model.Policy{Name: r.one("p1", "p2", "p3"), Operator: r.likes("operator", 3)}
	if r.once(3) {
		return []op{{command: model.Command{Kind: model.ClearPolicy, Policy: p}}}
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
	return []op{{command: model.Command{Kind: model.SetPolicy, Policy: p}}}
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
			t = amqp.Table{field("overflow", amqp.String(r.refusal()))}
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
		case "dlx", "at-least-once", "failed", "cycle", "head", "alternate":
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
	return []op{{command: model.Command{Kind: model.SetOptions, Arguments: amqp.Table{f}}}}
}
