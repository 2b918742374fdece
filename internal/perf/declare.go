package perf

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/bartleby-mq/bartleby/internal/wire"
)

// declaring are the flags of declare.
var declaring = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.connections, "connections", 8, "number of connections that declare concurrently, each waiting for every response")
		durationVar(f, &o.duration, "duration", durationDefault, "duration of the measurement")
		f.BoolVar(&o.durable, "durable", true, "declare durable queues")
	},
	settle: settleRepeated,
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
	workers := make([]*worker, o.connections)
	for i := range workers {
		l, err := dial(ctx, o.target)
		if err != nil {
			return nil, err
		}
		defer l.conn.Close()
		report.Broker = l.product
		workers[i] = declarer(l, fmt.Sprintf("%s.%d", name, i), o.durable)
	}
	done, err := repeat(ctx, o, workers)
	if err != nil {
		return nil, err
	}
	done.report(report, figurePairs, figurePairP50, figurePairP99, figurePairCPU)
	if done.after.known {
		written := float64(done.after.written-done.before.written) / 1024
		report.add(figurePairIO, ratio(written, float64(done.times.TotalCount())), "KiB")
	}
	return report, context.Cause(ctx)
}

// declarer declares and deletes queues over one link, one after the other.
func declarer(l *link, prefix string, durable bool) *worker {
	n := 0
	pair := func() error {
		queue := fmt.Sprintf("%s.%d", prefix, n)
		n++
		if _, err := call[*wire.QueueDeclareOk](l, &wire.QueueDeclare{Queue: queue, Durable: durable}); err != nil {
			return err
		}
		_, err := call[*wire.QueueDeleteOk](l, &wire.QueueDelete{Queue: queue})
		return err
	}
	return &worker{act: pair, end: l.close}
}
