package vhost

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/oracle"
)

// rules makes the things that happen in a duel at random: first a topology, then what is done to it. Each seed has its
// own taste, a share of all that there is: rules meet more often where fewer of them are about.
type rules struct {
	dice  *rand.Rand
	duel  *duel
	taste map[string]bool

	queues, exchanges []string
	declared          map[string]oracle.Command // the newest declaration of a queue
	bound             []oracle.Command
	channels          []int // those open
	channelMax        int
	consumers         int
	bodies            int
	begun             bool // the topology is made
}

// tastes is what a seed may have a taste for, and how often it has, in ten.
var tastes = map[string]int{
	"ttl": 6, "expires": 2, "length": 5, "bytes": 2, "refuse": 4, "lowest": 2, "dlx": 9, "limit": 4, "priority": 3, "quorum": 4,
	"at-least-once": 4, "retry": 3, "failed": 2, "policy": 6, "operator": 3, "consumers": 7, "cycle": 4, "head": 2, "options": 3,
	"dialect": 2, "cc": 3, "lag": 4, "late": 4, "zero queue": 3, "hold for bytes": 3, "hold and purge": 4, "timeout": 3, "crowded": 2, "delete": 4, "auto-delete": 2, "zero": 3, "alternate": 3,
}

func (r *rules) one(list ...string) string  { return list[r.dice.IntN(len(list))] }
func (r *rules) number(list ...int64) int64 { return list[r.dice.IntN(len(list))] }
func (r *rules) once(in int) bool           { return r.dice.IntN(in) == 0 }

// likes reports whether the seed has a taste for something, and it is time, once in n.
func (r *rules) likes(what string, n int) bool {
	if r.taste["crowded"] && slices.Contains(crowd, what) {
		return !r.once(4)
	}
	return r.taste[what] && r.once(n)
}

// crowd is what makes full queues that hold dead letters for each other; seldom without being asked for.
var crowd = []string{"length", "refuse", "dlx", "at-least-once"}

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
	{2, "consumers", func(r *rules) []op { return r.on(oracle.Command{Kind: oracle.Cancel, Consumer: r.consumer()}) }},
	{8, "", func(r *rules) []op { return r.settle(oracle.Ack) }},
	{8, "", func(r *rules) []op { return r.settle(oracle.Nack) }},
	{5, "", func(r *rules) []op { return r.settle(oracle.Reject) }},
	{2, "", func(r *rules) []op { return r.on(oracle.Command{Kind: oracle.Recover}) }},
	{2, "", (*rules).closeChannel},
	{2, "consumers", func(r *rules) []op {
		return r.on(oracle.Command{Kind: oracle.Qos, Prefetch: int(r.number(0, 1, 2, 3)), Global: r.once(3)})
	}},
	{3, "", (*rules).declare},
	{1, "delete", func(r *rules) []op { return r.on(oracle.Command{Kind: oracle.DeleteQueue, Name: r.queue()}) }},
	{1, "", (*rules).purge},
	{1, "delete", func(r *rules) []op {
		return r.on(oracle.Command{Kind: oracle.DeleteExchange, Name: r.one(r.exchanges...)})
	}},
	{1, "", (*rules).declareExchange},
	{3, "", (*rules).bind},
	{3, "", (*rules).lostLetters},
	{5, "policy", (*rules).policy},
	{2, "options", (*rules).options},
}

// begin chooses a taste and makes a topology.
func (r *rules) begin() []op {
	r.taste = map[string]bool{}
	for _, what := range sortedTastes {
		r.taste[what] = r.dice.IntN(10) < tastes[what]
	}
	if r.taste["crowded"] {
		for _, what := range crowd {
			r.taste[what] = true
		}
	}
	if r.taste["at-least-once"] && r.taste["refuse"] && !r.taste["hold for bytes"] {
		r.taste["bytes"] = false
	}
	r.declared = map[string]oracle.Command{}
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
	ops = append(ops, op{command: oracle.Command{Kind: oracle.Confirms, Channel: r.channels[0]}})
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
	return op{command: oracle.Command{Kind: oracle.OpenChannel, Channel: r.channelMax}}
}

// on is a command on one of the channels. Those that a refusal has closed are opened again, under other numbers.
func (r *rules) on(c oracle.Command) (ops []op) {
	if r.begun {
		r.channels = slices.DeleteFunc(r.channels, func(ch int) bool { return ch != c.Channel && !r.duel.oracle.Open(ch) })
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
		case oracle.Publish, oracle.Nack, oracle.Reject, oracle.Recover:
			if r.taste["late"] {
				o.lag = r.number(1, 5, 30)
			}
		case oracle.Get, oracle.Consume, oracle.Ack, oracle.Qos:
			o.lag = r.number(1, 5, 30)
		}
	}
	return append(ops, o)
}

func (r *rules) closeChannel() []op {
	i := r.dice.IntN(len(r.channels))
	c := r.channels[i]
	return r.on(oracle.Command{Kind: oracle.CloseChannel, Channel: c})
}

func field(name string, v amqp.Value) amqp.Field { return amqp.Field{Name: name, Value: v} }

func (r *rules) publish() []op {
	r.bodies++
	c := oracle.Command{Kind: oracle.Publish, Key: r.queue(), Body: fmt.Sprintf("m%d%s", r.bodies, strings.Repeat(".", r.dice.IntN(3)))}
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
	return r.on(oracle.Command{Kind: oracle.Get, Name: r.queue(), NoAck: r.once(3)})
}

func (r *rules) consumer() string { return fmt.Sprintf("t%d", 1+r.dice.IntN(r.consumers+1)) }

func (r *rules) consume() []op {
	r.consumers++
	c := oracle.Command{Kind: oracle.Consume, Name: r.queue(), Consumer: fmt.Sprintf("t%d", r.consumers), NoAck: r.once(4)}
	if r.once(4) {
		c.Arguments = amqp.Table{field("x-priority", amqp.Int32(int32(r.number(-1, 2, 5))))}
	}
	if r.likes("timeout", 3) {
		c.Arguments = append(c.Arguments, field("x-consumer-timeout", amqp.Int32(int32(r.number(0, 20, 100)))))
	}
	return r.on(c)
}

func (r *rules) purge() []op {
	if r.taste["at-least-once"] && r.taste["refuse"] && !r.taste["hold and purge"] {
		return r.get()
	}
	return r.on(oracle.Command{Kind: oracle.PurgeQueue, Name: r.queue()})
}

// settle acks, or gives back, mostly what is outstanding.
func (r *rules) settle(kind oracle.Kind) []op {
	c := oracle.Command{Kind: kind, Multiple: kind != oracle.Reject && r.once(3), Requeue: kind != oracle.Ack && r.once(2)}
	var with []int
	for _, ch := range r.channels {
		if len(r.duel.oracle.Outstanding(ch)) > 0 || len(r.duel.oracle.Late(ch)) > 0 {
			with = append(with, ch)
		}
	}
	if len(with) == 0 {
		return r.get()
	}
	c.Channel = with[r.dice.IntN(len(with))]
	tags := r.duel.oracle.Outstanding(c.Channel)
	if late := r.duel.oracle.Late(c.Channel); len(tags) == 0 || len(late) > 0 && r.once(3) {
		tags = late
	}
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
	c := oracle.Command{Kind: oracle.DeclareExchange, Name: name, Type: r.one("direct", "fanout", "topic", "headers"), Durable: true, Internal: r.once(12)}
	if r.likes("crowded", 2) {
		c.Type = "fanout"
	}
	if r.likes("alternate", 3) {
		c.Arguments = amqp.Table{field("alternate-exchange", amqp.String(r.exchange()))}
	}
	return op{command: c}
}

// oversized are arguments that are refused whatever they are for: too many values, nested or not, or too many bytes.
func (r *rules) oversized() amqp.Table {
	switch {
	case r.once(3):
		return amqp.Table{field("n", amqp.String(strings.Repeat("x", tableBytesMax)))}
	case r.once(2):
		return amqp.Table{field("n", amqp.Array(make([]amqp.Value, tableValuesMax)...))}
	}
	return amqp.Table{field("n", amqp.TableValue(amqp.Table{field("m", amqp.Array(make([]amqp.Value, tableValuesMax)...))}))}
}

func (r *rules) declareExchange() []op {
	if r.once(50) {
		c := r.exchangeNamed(r.one(r.exchanges...)).command
		c.Arguments = r.oversized()
		return r.on(c)
	}
	return r.on(r.exchangeNamed(r.one(r.exchanges...)).command)
}

func (r *rules) bind() []op {
	if len(r.bound) > 0 && r.once(5) {
		c := r.bound[r.dice.IntN(len(r.bound))]
		c.Kind, c.Channel = oracle.Unbind, 0
		return r.on(c)
	}
	c := oracle.Command{Kind: oracle.Bind, Exchange: r.one(r.exchanges...), Name: r.queue(), Key: r.one("k.one", "k.*", "#", "*.two", "k.#", r.key())}
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
	case r.once(50):
		c.Arguments = r.oversized()
	case r.once(2):
		c.Passive = true
	}
	c.Channel = 0
	return r.on(c)
}

func (r *rules) queueNamed(name string) op {
	c := oracle.Command{Kind: oracle.DeclareQueue, Name: name, Durable: !r.once(3), Arguments: r.arguments(name)}
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
