package ledger

import "github.com/bartleby-mq/bartleby/internal/amqp"

// choices are the options that a vhost has if nothing is set, and those of the dialect that has its own.
var choices, apsara = amqp.Table{
	{Name: "lost-letters-max-bytes", Value: amqp.Int64(64 << 20)},
	{Name: "lost-letters-max-age", Value: amqp.Int64(7 * 24 * 3_600_000)},
	{Name: "consumer-timeout", Value: amqp.Int64(1_800_000)},
	{Name: "delivery-limit", Value: amqp.Int64(-1)},
	{Name: "hops-max", Value: amqp.Int64(0)},
	{Name: "death-total", Value: amqp.Bool(false)},
	{Name: "reject-reasons", Value: amqp.Bool(false)},
	{Name: "ttl-in-loops", Value: amqp.Bool(true)},
	{Name: "ttl-in-dlq", Value: amqp.Bool(true)},
	{Name: "dlx-by-argument-only", Value: amqp.Bool(false)},
	{Name: "strict-names", Value: amqp.Bool(false)},
	{Name: "dialect", Value: amqp.String("rabbitmq-4")},
}, amqp.Table{
	{Name: "delivery-limit", Value: amqp.Int64(16)},
	{Name: "hops-max", Value: amqp.Int64(16)},
	{Name: "death-total", Value: amqp.Bool(true)},
	{Name: "reject-reasons", Value: amqp.Bool(true)},
	{Name: "ttl-in-loops", Value: amqp.Bool(false)},
	{Name: "ttl-in-dlq", Value: amqp.Bool(false)},
	{Name: "dlx-by-argument-only", Value: amqp.Bool(true)},
	{Name: "strict-names", Value: amqp.Bool(true)},
}

// option is what holds: what is set, else what the dialect says, else what always holds.
func (l *Ledger) option(name string) amqp.Value {
	if v, ok := l.Options.Get(name); ok {
		return v
	}
	if d, ok := l.Options.Get("dialect"); ok && d.Str == "apsaramq" {
		if v, ok := apsara.Get(name); ok {
			return v
		}
	}
	v, _ := choices.Get(name)
	return v
}

// Mark is what the option dead-letter-queues says of a queue; ok is false if it does not name it.
func (l *Ledger) Mark(queue string) (is, ok bool) {
	v, ok := l.option("dead-letter-queues").Table.Get(queue)
	is, _ = v.Bool()
	return is, ok
}

// Number is an option that is a number.
func (l *Ledger) Number(name string) int64 {
	n, _ := l.option(name).Integer()
	return n
}

// Truth is an option that is true or false.
func (l *Ledger) Truth(name string) bool {
	b, _ := l.option(name).Bool()
	return b
}
