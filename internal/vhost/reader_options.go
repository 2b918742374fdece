package vhost

import "github.com/bartleby-mq/bartleby/internal/amqp"

// OptionValues lists every option with the value in force, set or not, in the order of OptionNames.
func (r Reader) OptionValues() amqp.Table {
	o := &r.v.options
	dialect, ok := r.v.optionTable.Get("dialect")
	if !ok {
		dialect = amqp.String("rabbitmq-4")
	}
	marks, ok := r.v.optionTable.Get("dead-letter-queues")
	if !ok {
		marks = amqp.TableValue(nil)
	}
	flag := func(d Dialect) amqp.Value { return amqp.Bool(o.Dialect&d != 0) }
	return amqp.Table{
		{Name: "dialect", Value: dialect},
		{Name: "lost-letters-max-bytes", Value: amqp.Int64(o.LostLettersMaxBytes)},
		{Name: "lost-letters-max-age", Value: amqp.Int64(o.LostLettersMaxAge)},
		{Name: "consumer-timeout", Value: amqp.Int64(o.ConsumerTimeout)},
		{Name: "sync", Value: amqp.String(o.Sync.String())},
		{Name: "death-total", Value: flag(DialectTotal)},
		{Name: "reject-reasons", Value: flag(DialectReasons)},
		{Name: "delivery-limit", Value: amqp.Int64(o.DeliveryLimit)},
		{Name: "hops-max", Value: amqp.Int64(o.HopsMax)},
		{Name: "ttl-in-loops", Value: amqp.Bool(o.TTLInLoops)},
		{Name: "ttl-in-dlq", Value: amqp.Bool(o.TTLInDLQ)},
		{Name: "dlx-by-argument-only", Value: amqp.Bool(o.DLXByArgumentOnly)},
		{Name: "strict-names", Value: amqp.Bool(o.StrictNames)},
		{Name: "dead-letter-queues", Value: marks},
	}
}

// Options shows what the vhost runs with, and the table that was set, which is shared: do not change it.
func (r Reader) Options() (Options, amqp.Table) { return r.v.options, r.v.optionTable }
