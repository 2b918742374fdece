package sim

import (
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// queueName is one of few; mostly one that is there.
func (w *world) queueName() string {
	name := "q" + strconv.Itoa(w.dice.IntN(7))
	for range 6 {
		if _, ok := w.vhost.Topology().Queue(name); ok || w.chance(8) {
			break
		}
		name = "q" + strconv.Itoa(w.dice.IntN(7))
	}
	return name
}

// exchangeName is one of few; mostly one that is there.
func (w *world) exchangeName() string {
	names := []string{"x0", "x1", "x2", "x3", "x0", "x1", "amq.fanout", "amq.direct"}
	name := names[w.dice.IntN(8)]
	for range 6 {
		if x := w.vhost.Topology().Exchange(name); x != nil && !x.Internal || w.chance(8) {
			break
		}
		name = names[w.dice.IntN(8)]
	}
	return name
}

// key is a routing key, or a binding key.
func (w *world) key() string {
	return []string{"a", "a.b", "q0", "q1", "#", "*.b"}[w.dice.IntN(6)]
}

// duration is a TTL in ms.
func (w *world) duration() int64 { return []int64{0, 1, 5, 20, 60, 400, 3000}[w.dice.IntN(7)] }

// chance is true once in n.
func (w *world) chance(n int) bool { return w.dice.IntN(n) == 0 }

// definition draws a command about what exists.
func (w *world) definition() vhost.Command {
	switch k := w.dice.IntN(100); {
	case k < 38:
		return w.declareQueue()
	case k < 54:
		return w.declareExchange()
	case k < 78:
		kind := vhost.BindQueue
		if w.chance(5) {
			kind = vhost.UnbindQueue
		}
		return vhost.Command{Kind: kind, Definition: w.binding(w.queueName())}
	case k < 82:
		kind := vhost.BindExchange
		if w.chance(3) {
			kind = vhost.UnbindExchange
		}
		return vhost.Command{Kind: kind, Definition: w.binding(w.exchangeName())}
	case k < 85:
		return vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{
			Name: w.queueName(), IfUnused: w.chance(3), IfEmpty: w.chance(3),
		}}
	case k < 87:
		return vhost.Command{Kind: vhost.DeleteExchange, Definition: &vhost.Definition{
			Name: []string{"x0", "x1", "x2", "x3"}[w.dice.IntN(4)], IfUnused: w.chance(3),
		}}
	case k < 95:
		return vhost.Command{Kind: vhost.SetPolicy, Policy: w.policy()}
	case k < 97:
		return vhost.Command{Kind: vhost.SetOptions, Definition: &vhost.Definition{Arguments: w.choice()}}
	default:
		return vhost.Command{Kind: vhost.ClearPolicy, Policy: &vhost.Policy{
			Name: "p" + strconv.Itoa(w.dice.IntN(3)), Operator: w.chance(3),
		}}
	}
}

func (w *world) binding(destination string) *vhost.Definition {
	d := &vhost.Definition{Name: destination, Source: w.exchangeName(), RoutingKey: w.key()}
	if w.chance(4) {
		d.Arguments = amqp.Table{{Name: "h", Value: amqp.Int32(int32(w.dice.IntN(3)))}}
	}
	return d
}

func (w *world) declareExchange() vhost.Command {
	d := &vhost.Definition{
		Name:    []string{"x0", "x1", "x2", "x3"}[w.dice.IntN(4)],
		Type:    []string{"direct", "fanout", "topic", "headers", "fanout"}[w.dice.IntN(5)],
		Durable: !w.chance(3), AutoDelete: w.chance(8), Internal: w.chance(12), Passive: w.chance(12),
	}
	if w.chance(5) {
		d.Arguments = amqp.Table{{Name: "alternate-exchange", Value: amqp.String(w.exchangeName())}}
	}
	if w.chance(6) || w.delays() && !w.chance(3) {
		d.Arguments = append(d.Arguments, amqp.Field{Name: topology.DelayedBy, Value: amqp.String(d.Type)})
		if d.Type = topology.DelayedType; w.chance(6) {
			d.Arguments = append(d.Arguments, amqp.Field{Name: "x-delayed-max-length", Value: amqp.Int64(int64(w.dice.IntN(5)))})
		}
	}
	return vhost.Command{Kind: vhost.DeclareExchange, Definition: d}
}

func (w *world) declareQueue() vhost.Command {
	d := &vhost.Definition{
		Name: w.queueName(), Durable: !w.chance(3), Exclusive: w.chance(10), AutoDelete: w.chance(10), Passive: w.chance(12),
	}
	for i := 0; i < 7 && !w.chance(20); i++ { // mostly one that is not there: another declaration would be refused
		if _, ok := w.vhost.Topology().Queue(d.Name); ok == d.Passive {
			break
		}
		d.Name = "q" + strconv.Itoa(w.dice.IntN(7))
	}
	if w.chance(20) && !d.Passive {
		d.Name = ""
	}
	add := func(name string, v amqp.Value) { d.Arguments = append(d.Arguments, amqp.Field{Name: name, Value: v}) }
	quorum := w.chance(6)
	if quorum {
		add("x-queue-type", amqp.String("quorum"))
		d.Durable, d.Exclusive, d.AutoDelete = true, false, false
	}
	if w.chance(4) {
		add("x-message-ttl", amqp.Int64(w.duration()))
	}
	if w.chance(15) {
		add("x-expires", amqp.Int64(1+w.duration()*5))
	}
	if w.chance(4) {
		add("x-max-length", amqp.Int64(int64(w.dice.IntN(6))))
	}
	if w.chance(10) {
		add("x-max-length-bytes", amqp.Int64(int64(w.dice.IntN(2000))))
	}
	if w.chance(3) {
		add("x-overflow", amqp.String(w.overflow()))
	}
	if w.chance(6) {
		add("x-max-priority", amqp.Int32(int32(1+w.dice.IntN(5))))
	}
	if w.chance(8) {
		add("x-delivery-limit", amqp.Int32(int32(w.dice.IntN(4))))
	}
	if w.chance(10) {
		add("x-single-active-consumer", amqp.Bool(true))
	}
	w.deadLetters("x-", add)
	w.returns("x-", 4, add)
	return vhost.Command{Kind: vhost.DeclareQueue, Definition: d}
}

func (w *world) overflow() string {
	return []string{"drop-head", "reject-publish", "reject-publish-dlx", "drop-lowest"}[w.dice.IntN(4)]
}

// ladder draws how waits grow, and when they end.
func (w *world) ladder(prefix string, add func(string, amqp.Value)) {
	if w.chance(2) {
		add(prefix+"delayed-retry-backoff", amqp.String([]string{"linear", "fixed", "exponential"}[w.dice.IntN(3)]))
	}
	if w.chance(5) {
		add(prefix+"delayed-retry-steps", amqp.String([]string{"7", "3,1s,40ms", "1s,2s,1m,1ms"}[w.dice.IntN(3)]))
	}
	if w.chance(4) {
		add(prefix+"delayed-retry-jitter", amqp.Int64(int64(w.dice.IntN(101))))
	}
	if w.chance(3) {
		add(prefix+"delayed-retry-attempts", amqp.Int64(int64(1+w.dice.IntN(3))))
	}
}

// returns draws what becomes of messages that come back, and of those that do not: each rule once in n.
func (w *world) returns(prefix string, n int, add func(string, amqp.Value)) {
	if w.chance(n) {
		least := 1 + w.duration()
		add(prefix+"delayed-retry-type", amqp.String([]string{"disabled", "all", "all", "failed", "returned"}[w.dice.IntN(5)]))
		add(prefix+"delayed-retry-min", amqp.Int64(least))
		if w.chance(2) {
			add(prefix+"delayed-retry-max", amqp.Int64(least*int64(1+w.dice.IntN(4))))
		}
		w.ladder(prefix, add)
	}
	if w.chance(n) {
		add(prefix+"delivery-count-mode", amqp.String([]string{"all", "failed"}[w.dice.IntN(2)]))
	}
	if w.chance(n) {
		add(prefix+"consumer-timeout", amqp.Int64(w.duration()))
	}
}

// choice draws options of the vhost to set, or to take back.
func (w *world) choice() amqp.Table {
	var t amqp.Table
	for range 1 + w.dice.IntN(2) {
		number := func(of ...int64) amqp.Value { return amqp.Int64(of[w.dice.IntN(len(of))]) }
		values := [...]amqp.Field{
			{Name: "lost-letters-max-bytes", Value: number(0, 300, 300, 2000, 20_000)},
			{Name: "lost-letters-max-bytes", Value: number(0, 300, 2000)},
			{Name: "lost-letters-max-age", Value: number(20, 400, 5000)},
			{Name: "consumer-timeout", Value: number(0, 60, 3000, 60_000)},
			{Name: "dialect", Value: amqp.String([]string{"rabbitmq-4", "rabbitmq-3", "apsaramq"}[w.dice.IntN(3)])},
			{Name: "delivery-limit", Value: number(-1, 1, 3)},
			{Name: "hops-max", Value: number(0, 2, 5)},
			{Name: "death-total", Value: amqp.Bool(w.chance(2))},
			{Name: "reject-reasons", Value: amqp.Bool(w.chance(2))},
			{Name: "ttl-in-loops", Value: amqp.Bool(w.chance(2))},
			{Name: "ttl-in-dlq", Value: amqp.Bool(w.chance(2))},
			{Name: "dlx-by-argument-only", Value: amqp.Bool(w.chance(3))},
			{Name: "strict-names", Value: amqp.Bool(w.chance(2))},
			{Name: "lost-letters-max-age", Value: amqp.Int64(0)}, // refused
			{Name: "no-such-option", Value: amqp.Bool(true)},     // refused
		}
		f := values[w.dice.IntN(len(values))]
		if w.chance(3) {
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
func (w *world) deadLetters(prefix string, add func(string, amqp.Value)) {
	switch w.dice.IntN(6) {
	case 0, 1, 2:
		add(prefix+"dead-letter-exchange", amqp.String(""))
		add(prefix+"dead-letter-routing-key", amqp.String(w.queueName()))
	case 3:
		add(prefix+"dead-letter-exchange", amqp.String(w.exchangeName()))
		if w.chance(2) {
			add(prefix+"dead-letter-routing-key", amqp.String(w.key()))
		}
	case 4:
		add(prefix+"dead-letter-exchange", amqp.String("amq.fanout"))
	}
	if w.chance(2) {
		add(prefix+"dead-letter-strategy", amqp.String([]string{"at-least-once", "at-least-once", "at-most-once"}[w.dice.IntN(3)]))
	}
}

func (w *world) policy() *vhost.Policy {
	p := &vhost.Policy{
		Name: "p" + strconv.Itoa(w.dice.IntN(3)), Operator: w.chance(4), Priority: w.dice.Int64N(3),
		Pattern: []string{"", "^q", "[0-3]", "^q5", "^x1"}[w.dice.IntN(5)],
		ApplyTo: []string{"", "queues", "classic_queues", "quorum_queues", "exchanges"}[w.dice.IntN(5)],
	}
	add := func(name string, v amqp.Value) {
		p.Definition = append(p.Definition, amqp.Field{Name: name, Value: v})
	}
	switch w.dice.IntN(11) {
	case 0:
		add("message-ttl", amqp.Int64(w.duration()))
	case 1:
		add("max-length", amqp.Int64(int64(w.dice.IntN(8))))
	case 2:
		add("overflow", amqp.String(w.overflow()))
	case 3:
		add("delivery-limit", amqp.Int64(int64(w.dice.IntN(4))-1))
	case 4:
		add("expires", amqp.Int64(2000+w.duration()*10))
	case 5:
		if !p.Operator {
			add("alternate-exchange", amqp.String(w.exchangeName()))
		}
	case 6:
		if !p.Operator {
			w.returns("", 2, add)
		}
	case 7:
		if !p.Operator {
			add("expiry", amqp.String([]string{"head", "exact"}[w.dice.IntN(2)]))
		}
	default:
		if !p.Operator {
			w.deadLetters("", add)
			if w.chance(3) {
				add("cycle", amqp.String([]string{"keep", "keep", "shelf"}[w.dice.IntN(3)]))
			}
		}
	}
	return p
}
