package perf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// declaring are the flags of declare.
var declaring = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.connections, "connections", 8, "number of connections that declare concurrently, each waiting for every response")
		f.DurationVar(&o.duration, "duration", 10*time.Second, "duration of the measurement")
		f.BoolVar(&o.durable, "durable", true, "declare durable queues")
	},
	settle: func(o *options, _ map[string]bool) error {
		if o.connections < 1 || o.duration <= 0 {
			return errors.New("-connections: at least 1; -duration: above 0")
		}
		return nil
	},
}

// The figures of declare. A pair is a queue.declare and a queue.delete, each with its answer.
const (
	figurePairs   = "declare-delete pairs"
	figurePairP50 = "per pair, p50"
	figurePairP99 = "per pair, p99"
	figurePairCPU = "broker CPU per thousand pairs"
	figurePairIO  = "written per pair"
)

// declarations declares and deletes queues over some connections at once.
func declarations(ctx context.Context, o *options) (*Report, error) {
	name := fmt.Sprintf("perf.%08x", rand.Uint32())
	report := &Report{Scenario: o.scenario, Settings: settingsOf(o)}
	declarers := make([]*declarer, o.connections)
	for i := range declarers {
		l, err := dial(ctx, o.target)
		if err != nil {
			return nil, err
		}
		defer l.conn.Close()
		report.Broker = l.product
		declarers[i] = &declarer{link: l, prefix: fmt.Sprintf("%s.%d", name, i), durable: o.durable, times: newHistogram()}
	}
	o.broker.forgetPeak()
	before, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	began := now()
	limited, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var all sync.WaitGroup
	for _, d := range declarers {
		all.Go(func() { d.err = d.run(limited) })
	}
	all.Wait()
	seconds := float64(now()-began) / 1e9
	after, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	times := newHistogram()
	for _, d := range declarers {
		if d.err != nil {
			return nil, d.err
		}
		times.Merge(d.times)
	}
	pairs := float64(times.TotalCount())
	report.add(figurePairs, pairs/seconds, "per second")
	report.add(figurePairP50, milliseconds(times.ValueAtQuantile(50)), "ms")
	report.add(figurePairP99, milliseconds(times.ValueAtQuantile(99)), "ms")
	if after.known {
		report.add(figurePairCPU, ratio((after.cpu-before.cpu).Seconds(), pairs/1000), "s")
		report.add(figurePairIO, ratio(float64(after.written-before.written)/1024, pairs), "KiB")
	}
	return report, context.Cause(ctx)
}

// declarer declares and deletes queues over one link, one after the other.
type declarer struct {
	link    *link
	prefix  string
	durable bool
	times   *hdrhistogram.Histogram // of pairs
	err     error
}

// run goes on until ctx is done, and leaves no queue behind.
func (d *declarer) run(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		queue, began := fmt.Sprintf("%s.%d", d.prefix, n), now()
		if _, err := call[*wire.QueueDeclareOk](d.link, &wire.QueueDeclare{Queue: queue, Durable: d.durable}); err != nil {
			return err
		}
		if _, err := call[*wire.QueueDeleteOk](d.link, &wire.QueueDelete{Queue: queue}); err != nil {
			return err
		}
		record(d.times, now()-began)
	}
	return d.link.close()
}
