package clients

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// queueName is one of few; mostly one that is there.
func (cl *Clients) queueName() string {
	name := "q" + strconv.Itoa(cl.dice.IntN(7))
	for range 6 {
		if _, ok := cl.view.Topology().Queue(name); ok || cl.Chance(8) {
			break
		}
		name = "q" + strconv.Itoa(cl.dice.IntN(7))
	}
	return name
}

// exchangeName is one of few; mostly one that is there.
func (cl *Clients) exchangeName() string {
	names := []string{"x0", "x1", "x2", "x3", "x0", "x1", "amq.fanout", "amq.direct"}
	name := names[cl.dice.IntN(8)]
	for range 6 {
		if x := cl.view.Topology().Exchange(name); x != nil && !x.Internal || cl.Chance(8) {
			break
		}
		name = names[cl.dice.IntN(8)]
	}
	return name
}

// key is a routing key, or a binding key.
func (cl *Clients) key() string {
	return []string{"a", "a.b", "q0", "q1", "#", "*.b"}[cl.dice.IntN(6)]
}

// duration is a TTL in ms.
func (cl *Clients) duration() int64 { return []int64{0, 1, 5, 20, 60, 400, 3000}[cl.dice.IntN(7)] }

// Chance is true once in n.
func (cl *Clients) Chance(n int) bool { return cl.dice.IntN(n) == 0 }

// definition draws a command about what exists.
func (cl *Clients) definition() vhost.Command {
	switch k := cl.dice.IntN(100); {
	case k < 38:
		return cl.declareQueue()
	case k < 54:
		return cl.declareExchange()
	case k < 78:
		kind := vhost.BindQueue
		if cl.Chance(5) {
			kind = vhost.UnbindQueue
		}
		return vhost.Command{Kind: kind, Definition: cl.binding(cl.queueName())}
	case k < 82:
		kind := vhost.BindExchange
		if cl.Chance(3) {
			kind = vhost.UnbindExchange
		}
		return vhost.Command{Kind: kind, Definition: cl.binding(cl.exchangeName())}
	case k < 85:
		return vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{
			Name: cl.queueName(), IfUnused: cl.Chance(3), IfEmpty: cl.Chance(3),
		}}
	case k < 87:
		return vhost.Command{Kind: vhost.DeleteExchange, Definition: &vhost.Definition{
			Name: []string{"x0", "x1", "x2", "x3"}[cl.dice.IntN(4)], IfUnused: cl.Chance(3),
		}}
	case k < 95:
		return vhost.Command{Kind: vhost.SetPolicy, Policy: cl.policy()}
	case k < 97:
		return vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: cl.choice()}}
	default:
		return vhost.Command{Kind: vhost.ClearPolicy, Policy: &vhost.Policy{
			Name: "p" + strconv.Itoa(cl.dice.IntN(3)), Operator: cl.Chance(3),
		}}
	}
}

func (cl *Clients) binding(destination string) *vhost.Definition {
	d := &vhost.Definition{Name: destination, Source: cl.exchangeName(), RoutingKey: cl.key()}
	if cl.Chance(4) {
		d.Arguments = amqp.Table{{Name: "h", Value: amqp.Int32(int32(cl.dice.IntN(3)))}}
	}
	return d
}

func (cl *Clients) declareExchange() vhost.Command {
	d := &vhost.Definition{
		Name:    []string{"x0", "x1", "x2", "x3"}[cl.dice.IntN(4)],
		Type:    []string{"direct", "fanout", "topic", "headers", "fanout"}[cl.dice.IntN(5)],
		Durable: !cl.Chance(3), AutoDelete: cl.Chance(8), Internal: cl.Chance(12), Passive: cl.Chance(12),
	}
	if cl.Chance(5) {
		d.Arguments = amqp.Table{{Name: "alternate-exchange", Value: amqp.String(cl.exchangeName())}}
	}
	if cl.Chance(6) || cl.delays && !cl.Chance(3) {
		d.Arguments = append(d.Arguments, amqp.Field{Name: topology.DelayedBy, Value: amqp.String(d.Type)})
		if d.Type = topology.DelayedType; cl.Chance(6) {
			most := amqp.Int64(int64(cl.dice.IntN(5)))
			d.Arguments = append(d.Arguments, amqp.Field{Name: "x-delayed-max-length", Value: most})
		}
	}
	return vhost.Command{Kind: vhost.DeclareExchange, Definition: d}
}

func (cl *Clients) declareQueue() vhost.Command {
	d := &vhost.Definition{
		Name: cl.queueName(), Durable: !cl.Chance(3), Exclusive: cl.Chance(10), AutoDelete: cl.Chance(10),
		Passive: cl.Chance(12),
	}
	for i := 0; i < 7 && !cl.Chance(20); i++ { // mostly one that is not there: another declaration would be refused
		if _, ok := cl.view.Topology().Queue(d.Name); ok == d.Passive {
			break
		}
		d.Name = "q" + strconv.Itoa(cl.dice.IntN(7))
	}
	if cl.Chance(20) && !d.Passive {
		d.Name = ""
	}
	add := func(name string, v amqp.Value) { d.Arguments = append(d.Arguments, amqp.Field{Name: name, Value: v}) }
	quorum := cl.Chance(6)
	if quorum {
		add("x-queue-type", amqp.String("quorum"))
		d.Durable, d.Exclusive, d.AutoDelete = true, false, false
	}
	if cl.Chance(4) {
		add("x-message-ttl", amqp.Int64(cl.duration()))
	}
	if cl.Chance(15) {
		add("x-expires", amqp.Int64(1+cl.duration()*5))
	}
	if cl.Chance(4) {
		add("x-max-length", amqp.Int64(int64(cl.dice.IntN(6))))
	}
	if cl.Chance(10) {
		add("x-max-length-bytes", amqp.Int64(int64(cl.dice.IntN(2000))))
	}
	if cl.Chance(3) {
		add("x-overflow", amqp.String(cl.overflow()))
	}
	if cl.Chance(6) {
		add("x-max-priority", amqp.Int32(int32(1+cl.dice.IntN(5))))
	}
	if cl.Chance(8) {
		add("x-delivery-limit", amqp.Int32(int32(cl.dice.IntN(4))))
	}
	if cl.Chance(10) {
		add("x-single-active-consumer", amqp.Bool(true))
	}
	cl.deadLetters("x-", add)
	cl.returns("x-", 4, add)
	return vhost.Command{Kind: vhost.DeclareQueue, Definition: d}
}

func (cl *Clients) overflow() string {
	return []string{"drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"}[cl.dice.IntN(4)]
}

// ladder draws how waits grow, and when they end.
func (cl *Clients) ladder(prefix string, add func(string, amqp.Value)) {
	if cl.Chance(2) {
		add(prefix+"delayed-retry-backoff", amqp.String([]string{"linear", "fixed", "exponential"}[cl.dice.IntN(3)]))
	}
	if cl.Chance(5) {
		add(prefix+"delayed-retry-steps", amqp.String([]string{"7ms", "3ms,1s,40ms", "1s,2s,1m,1ms"}[cl.dice.IntN(3)]))
	}
	if cl.Chance(4) {
		add(prefix+"delayed-retry-jitter", amqp.Int64(int64(cl.dice.IntN(101))))
	}
	if cl.Chance(3) {
		add(prefix+"delayed-retry-attempts", amqp.Int64(int64(1+cl.dice.IntN(3))))
	}
}

// returns draws what becomes of messages that come back, and of those that do not: each rule once in n.
func (cl *Clients) returns(prefix string, n int, add func(string, amqp.Value)) {
	if cl.Chance(n) {
		least := 1 + cl.duration()
		types := []string{"disabled", "all", "all", "failed", "returned"}
		add(prefix+"delayed-retry-type", amqp.String(types[cl.dice.IntN(5)]))
		add(prefix+"delayed-retry-min", amqp.Int64(least))
		if cl.Chance(2) {
			add(prefix+"delayed-retry-max", amqp.Int64(least*int64(1+cl.dice.IntN(4))))
		}
		cl.ladder(prefix, add)
	}
	if cl.Chance(n) {
		add(prefix+"delivery-count-mode", amqp.String([]string{"all", "failed"}[cl.dice.IntN(2)]))
	}
	if cl.Chance(n) {
		add(prefix+"consumer-timeout", amqp.Int64(cl.duration()))
	}
	if cl.Chance(n) {
		add(prefix+"dead-letter-queue", amqp.Bool(cl.Chance(2)))
	}
}

// choice draws options of the vhost to set, or to take back.
func (cl *Clients) choice() amqp.Table {
	var t amqp.Table
	for range 1 + cl.dice.IntN(2) {
		number := func(of ...int64) amqp.Value { return amqp.Int64(of[cl.dice.IntN(len(of))]) }
		values := [...]amqp.Field{
			{Name: "lost-letters-max-bytes", Value: number(0, 300, 300, 2000, 20_000)},
			{Name: "lost-letters-max-bytes", Value: number(0, 300, 2000)},
			{Name: "lost-letters-max-age", Value: number(20, 400, 5000)},
			{Name: "consumer-timeout", Value: number(0, 60, 3000, 60_000)},
			{Name: "dialect", Value: amqp.String([]string{"rabbitmq-4", "rabbitmq-3", "apsaramq"}[cl.dice.IntN(3)])},
			{Name: "delivery-limit", Value: number(-1, 1, 3)},
			{Name: "hops-max", Value: number(0, 2, 5)},
			{Name: "death-total", Value: amqp.Bool(cl.Chance(2))},
			{Name: "reject-reasons", Value: amqp.Bool(cl.Chance(2))},
			{Name: "ttl-in-loops", Value: amqp.Bool(cl.Chance(2))},
			{Name: "ttl-in-dlq", Value: amqp.Bool(cl.Chance(2))},
			{Name: "dlx-by-argument-only", Value: amqp.Bool(cl.Chance(3))},
			{Name: "strict-names", Value: amqp.Bool(cl.Chance(2))},
			{Name: "dead-letter-queues", Value: amqp.TableValue(amqp.Table{
				{Name: cl.queueName(), Value: []amqp.Value{amqp.Bool(true), amqp.Bool(true), amqp.Bool(false), amqp.Void()}[cl.dice.IntN(4)]},
			})},
			{Name: "lost-letters-max-age", Value: amqp.Int64(0)}, // refused
			{Name: "no-such-option", Value: amqp.Bool(true)},     // refused
		}
		f := values[cl.dice.IntN(len(values))]
		if cl.Chance(3) {
			f.Value = amqp.Void()
		}
		if _, twice := t.Get(f.Name); !twice {
			t = append(t, f)
		}
	}
	return t
}

// deadLetters draws a way for dead letters: through the default exchange to a queue, also the same, or through an
// exchange that may not exist.
func (cl *Clients) deadLetters(prefix string, add func(string, amqp.Value)) {
	switch cl.dice.IntN(6) {
	case 0, 1, 2:
		add(prefix+"dead-letter-exchange", amqp.String(""))
		add(prefix+"dead-letter-routing-key", amqp.String(cl.queueName()))
	case 3:
		add(prefix+"dead-letter-exchange", amqp.String(cl.exchangeName()))
		if cl.Chance(2) {
			add(prefix+"dead-letter-routing-key", amqp.String(cl.key()))
		}
	case 4:
		add(prefix+"dead-letter-exchange", amqp.String("amq.fanout"))
	}
	if cl.Chance(2) {
		strategies := []string{"at-least-once", "at-least-once", "at-most-once"}
		add(prefix+"dead-letter-strategy", amqp.String(strategies[cl.dice.IntN(3)]))
	}
}

func (cl *Clients) policy() *vhost.Policy {
	p := &vhost.Policy{
		Name: "p" + strconv.Itoa(cl.dice.IntN(3)), Operator: cl.Chance(4), Priority: cl.dice.Int64N(3),
		Pattern: []string{"", "^q", "[0-3]", "^q5", "^x1"}[cl.dice.IntN(5)],
		ApplyTo: []string{"", "queues", "classic_queues", "quorum_queues", "exchanges"}[cl.dice.IntN(5)],
	}
	add := func(name string, v amqp.Value) {
		p.Definition = append(p.Definition, amqp.Field{Name: name, Value: v})
	}
	switch cl.dice.IntN(11) {
	case 0:
		add("message-ttl", amqp.Int64(cl.duration()))
	case 1:
		add("max-length", amqp.Int64(int64(cl.dice.IntN(8))))
	case 2:
		add("overflow", amqp.String(cl.overflow()))
	case 3:
		add("delivery-limit", amqp.Int64(int64(cl.dice.IntN(4))-1))
	case 4:
		add("expires", amqp.Int64(2000+cl.duration()*10))
	case 5:
		if !p.Operator {
			add("alternate-exchange", amqp.String(cl.exchangeName()))
		}
	case 6:
		if !p.Operator {
			cl.returns("", 2, add)
		}
	case 7:
		if !p.Operator {
			add("expiry", amqp.String([]string{"head", "exact"}[cl.dice.IntN(2)]))
		}
	default:
		if !p.Operator {
			cl.deadLetters("", add)
			if cl.Chance(3) {
				add("cycle", amqp.String([]string{"keep", "keep", "shelf"}[cl.dice.IntN(3)]))
			}
		}
	}
	return p
}
