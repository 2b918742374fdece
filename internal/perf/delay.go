package perf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// delays are what the messages of delay wait.
type delays struct {
	same        bool // until one instant, most after the start, rather than for a time of their own
	least, most time.Duration
	window      time.Duration // with same: at random in so long a time from that instant
}

func (d *delays) text() string {
	switch {
	case d.most == 0:
		return ""
	case !d.same:
		return fmt.Sprintf("each delayed by %v to %v", d.least, d.most)
	case d.window > 0:
		return fmt.Sprintf("due within %v, %v after the start", d.window, d.most)
	}
	return fmt.Sprintf("all due %v after the start", d.most)
}

// calendar returns when messages are due whose publishing starts at an instant.
func (d *delays) calendar(start int64) calendar {
	if d.same {
		return calendar{first: start + int64(d.most), window: int64(d.window)}
	}
	return calendar{least: int64(d.least), most: int64(d.most)}
}

// horizonDefault is within how long the messages of -waiting are due.
const horizonDefault = 30 * 24 * time.Hour

// delaying are the flags of delay.
var delaying = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.Func("delays", "random: each delay between -delay-min and -delay-max (default); same: all messages due at the same time, "+
			"-delay-max after the start of publishing", o.delays.parse)
		durationVar(f, &o.delays.least, "delay-min", time.Second, "shortest delay, at least 1ms")
		durationVar(f, &o.delays.most, "delay-max", 10*time.Second, "longest delay")
		durationVar(f, &o.delays.window, "window", 0, "with -delays same: random time added to the due time")
		f.Int64Var(&o.waiting, "waiting", 0, "number of messages with distant due times, published before the test")
		durationVar(f, &o.horizon, "far", horizonDefault, "these messages are due at random within this time")
		f.Func("management", "URL of Bartleby's management API, to list and cancel some of these messages, and to purge the others at the "+
			"end; without it, they stay scheduled; the user is that of -url unless given", o.management.parse)
		f.Uint64Var(&o.seed, "seed", 1, "random seed for delays")
		o.declareBystander(f)
	},
	settle: func(o *options, _ map[string]bool) error {
		o.durable = true
		switch {
		case o.delays.least < time.Millisecond || o.delays.most < o.delays.least:
			return errors.New("-delay-min: at least 1ms; -delay-max: not below it")
		case o.delays.window < 0 || o.delays.window > 0 && !o.delays.same:
			return errors.New("-window: must not be negative, and only with -delays same")
		case o.waiting < 0 || o.waiting > 0 && o.waiting < int64(o.publishers):
			return errors.New("-waiting: 0, or at least one for each publisher")
		case o.horizon < time.Millisecond || o.bystander < 0:
			return errors.New("-far: at least 1ms; -bystander: must not be negative")
		case o.management.base != "" && o.waiting == 0:
			return errors.New("-management requires -waiting")
		}
		o.management.settle(o.target)
		return nil
	},
}

func (d *delays) parse(text string) error {
	if text != "random" && text != "same" {
		return errors.New("random or same")
	}
	d.same = text == "same"
	return nil
}

// delay publishes to a delayed exchange, and measures how long after their instants messages come out of the queues
// behind it:
//
//	publisher ──x-delay──▶ exchange ──when due──▶ queue ──▶ consumer
func delay(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.declareDelayed(); err != nil {
		return nil, err
	}
	queues, err := r.declare("queue", plain)
	if err != nil {
		return nil, err
	}
	if err := r.bind(queues); err != nil {
		return nil, err
	}
	far, err := r.farAway()
	if err != nil {
		return nil, err
	}
	defer far.close()
	due := o.delays.calendar(now())
	if _, err := r.publishDue(queues, o.count, byDelay, due); err != nil {
		return nil, err
	}
	to := destination{queues: queues, as: role{verdict: o.ack, every: o.every, use: measureDue}}
	report, err := r.flood(to, due, "due")
	if err != nil {
		return report, err
	}
	return report, far.end(ctx, report)
}

// delayedSuffix ends the name of a run's delayed exchange.
const delayedSuffix = ".delay"

// declareDelayed makes a delayed exchange, and has publishers send to it.
func (r *run) declareDelayed() error {
	declare := &wire.ExchangeDeclare{
		Exchange: r.name + delayedSuffix, Type: "x-delayed-message", Durable: true,
		Arguments: amqp.Table{{Name: "x-delayed-type", Value: amqp.String("direct")}},
	}
	_, err := call[*wire.ExchangeDeclareOk](r.control, declare)
	if err != nil {
		if strings.Contains(err.Error(), "exchange type") {
			return fmt.Errorf("this broker does not support delayed exchanges; rabbitmq-server needs the plugin "+
				"rabbitmq_delayed_message_exchange: %w", err)
		}
		return err
	}
	r.exchange, r.exchanges = declare.Exchange, append(r.exchanges, declare.Exchange)
	return nil
}

// bind binds each of the queues to the exchange, by its name.
func (r *run) bind(queues []string) error {
	for _, queue := range queues {
		if _, err := call[*wire.QueueBindOk](r.control, &wire.QueueBind{Queue: queue, Exchange: r.exchange, RoutingKey: queue}); err != nil {
			return err
		}
	}
	return nil
}
