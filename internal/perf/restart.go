package perf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// restarting are the flags of restart.
var restarting = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.StringVar(&o.program, "binary", "", "Bartleby binary to start; empty: this one")
		f.StringVar(&o.data, "data", "", "data directory; created and filled if empty or missing, otherwise reused from an earlier run")
		f.StringVar(&o.serve, "serve", "", "additional arguments for serve, separated by spaces")
		f.IntVar(&o.bindings, "bindings", 10_000, "number of bindings from a topic exchange to the queues")
		f.Int64Var(&o.waiting, "waiting", 0, "number of messages scheduled within 30 days; also measures the time to the first one that "+
			"became due while the broker was down")
		f.IntVar(&o.runs, "runs", 3, "number of starts after kill -9, and of starts after a clean stop")
		f.BoolVar(&o.cold, "cold", false, "drop the directory's files from the page cache before each start")
	},
	settle: func(o *options, _ map[string]bool) (err error) {
		switch {
		case o.data == "":
			return errors.New("-data is required")
		case o.runs < 1 || o.bindings < 0 || o.waiting < 0 || o.waiting > 0 && o.waiting < int64(o.publishers):
			return errors.New("-runs: at least 1; -bindings: must not be negative; -waiting: 0, or at least one for each publisher")
		case o.count < int64(o.queues)*int64(o.publishers):
			return errors.New("-count: each publisher sends to each queue")
		}
		o.persistent, o.durable, o.horizon = true, true, horizonDefault
		if o.program == "" {
			o.program, err = os.Executable()
		}
		return err
	},
}

// restartName is what the names of restart's queues begin with, and the name of its exchange: the same in each run, to
// find them again.
const restartName = "perf.restart"

// The figures of restart.
const (
	figureKilled       = "first delivery after kill -9, median"
	figureKilledWorst  = "first delivery after kill -9, worst"
	figureStopped      = "first delivery after a clean stop, median"
	figureStoppedWorst = "first delivery after a clean stop, worst"
	figureStop         = "clean stop, worst"
)

// restart measures how long a broker that holds much takes from exec to its first delivery.
func restart(ctx context.Context, o *options) (*Report, error) {
	kept, err := os.ReadDir(o.data)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &restarts{ctx: ctx, o: o, address: address, report: &Report{Scenario: o.scenario, Settings: settingsOf(o)}}
	if r.broker, err = launch(ctx, o, address); err != nil {
		return nil, err
	}
	defer func() { r.broker.kill() }()
	if len(kept) == 0 {
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	before, err := r.messages()
	if err != nil {
		return nil, err
	}
	r.queue = queueName(restartName, "queue", o.queues/2)
	if err := r.measure("after kill -9", figureKilled, figureKilledWorst, func() error { r.broker.kill(); return nil }); err != nil {
		return nil, err
	}
	var longest time.Duration
	err = r.measure("after a clean stop", figureStopped, figureStoppedWorst, func() error {
		took, err := r.broker.stop()
		longest = max(longest, took)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.report.add(figureStop, milliseconds(int64(longest)), "ms")
	if err := r.fires(); err != nil {
		return nil, err
	}
	after, err := r.messages()
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		before = o.count
	}
	r.report.Books = Books{Published: before, Received: after, Lost: before - after}
	_, err = r.broker.stop()
	return r.report, err
}

// restarts is one broker after the other, over the same directory.
type restarts struct {
	ctx     context.Context
	o       *options
	address string
	broker  *child
	queue   string // whose first message is waited for
	report  *Report
}

// fill declares everything and publishes the messages.
func (r *restarts) fill() error {
	ready, err := r.broker.link(r.ctx)
	if err != nil {
		return err
	}
	r.report.Broker = ready.product
	if err := ready.close(); err != nil {
		return err
	}
	o := *r.o
	o.target, o.broker = r.broker.target, r.broker.process()
	filling, err := newRun(r.ctx, &o)
	if err != nil {
		return err
	}
	defer filling.close()
	filling.name = restartName
	queues, err := filling.declare("queue", plain)
	if err != nil {
		return err
	}
	if err := bind(filling.control, queues, o.bindings); err != nil {
		return err
	}
	publishers, err := filling.publishTo(queues, o.count, filling.same)
	if err != nil {
		return err
	}
	from, err := filling.sample(nil)
	if err != nil {
		return err
	}
	if err := filling.filled(filling.startPublishers(publishers, o.rate), filling.queues); err != nil {
		return err
	}
	to, err := filling.sample(nil)
	if err != nil {
		return err
	}
	if !filling.confirmed() {
		return errors.New("the broker did not confirm all messages")
	}
	filled := span(from, to)
	filled.Name = "fill"
	r.report.Spans = append(r.report.Spans, filled)
	if err := r.letWait(filling); err != nil {
		return err
	}
	filling.queues, filling.exchanges = nil, nil // they stay
	return filling.hangUp()
}

// bind makes n bindings of a topic exchange to the queues, round and round.
func bind(l *link, queues []string, n int) error {
	declare := &wire.ExchangeDeclare{Exchange: restartName, Type: "topic", Durable: true}
	if _, err := call[*wire.ExchangeDeclareOk](l, declare); err != nil {
		return err
	}
	for i := range n {
		b := &wire.QueueBind{Queue: queues[i%len(queues)], Exchange: restartName, RoutingKey: fmt.Sprintf("perf.%d.*", i)}
		b.NoWait = i < n-1
		if !b.NoWait {
			_, err := call[*wire.QueueBindOk](l, b)
			return err
		}
		if err := l.sendMethod(channel, b); err != nil {
			return err
		}
	}
	return nil
}

// measure ends the broker and starts it anew, as often as -runs says, and adds what came of it to the report.
func (r *restarts) measure(how, median, worst string, end func() error) error {
	var delivered, accepted []float64
	var resident, read float64
	for range r.o.runs {
		if err := end(); err != nil {
			return err
		}
		if r.o.cold {
			if err := evict(r.o.data); err != nil {
				return err
			}
		}
		var err error
		if r.broker, err = launch(r.ctx, r.o, r.address); err != nil {
			return err
		}
		f, err := r.broker.first(r.ctx, r.queue)
		if err != nil {
			return err
		}
		delivered = append(delivered, milliseconds(int64(f.delivered)))
		accepted = append(accepted, milliseconds(int64(f.accepted)))
		resident, read = max(resident, mebibytes(f.used.peak)), max(read, mebibytes(f.used.read))
	}
	slices.Sort(delivered)
	slices.Sort(accepted)
	r.report.add(median, delivered[len(delivered)/2], "ms")
	r.report.add(worst, delivered[len(delivered)-1], "ms")
	r.report.add("first connection "+how+", median", accepted[len(accepted)/2], "ms")
	r.report.add("memory at the first delivery "+how, resident, "MiB")
	r.report.add("read from the disk until the first delivery "+how, read, "MiB")
	return nil
}

// messages counts what is ready in the queues.
func (r *restarts) messages() (n int64, err error) {
	l, err := r.broker.link(r.ctx)
	if err != nil {
		return 0, err
	}
	r.report.Broker = l.product
	for i := range r.o.queues {
		ok, err := call[*wire.QueueDeclareOk](l, &wire.QueueDeclare{Queue: queueName(restartName, "queue", i), Passive: true})
		if err != nil {
			return 0, err
		}
		n += int64(ok.MessageCount)
	}
	return n, l.close()
}
