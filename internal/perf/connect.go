package perf

import (
	"context"
	"flag"
)

// connecting are the flags of connect.
var connecting = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.connections, "connections", 64, "number of clients that connect concurrently, each waiting for every response")
		durationVar(f, &o.duration, "duration", durationDefault, "duration of the measurement")
	},
	settle: settleRepeated,
}

// The figures of connect. A round is a TCP connection, a login, a channel, and connection.close with its answer.
const (
	FigureConnections   = "connections"
	FigureConnectionP50 = "per connection, p50"
	FigureConnectionP99 = "per connection, p99"
	FigureConnectionCPU = "broker CPU per thousand connections"
)

// connections connects, opens a channel and closes the connection again, with some clients at once.
func connections(ctx context.Context, o *options) (*Report, error) {
	report := &Report{Scenario: o.scenario, Settings: settingsOf(o)}
	workers := make([]*worker, o.connections)
	for i := range workers {
		workers[i] = &worker{act: connector(ctx, o.target, report, i == 0), end: func() error { return nil }}
	}
	done, err := repeat(ctx, o, workers)
	if err != nil {
		return nil, err
	}
	done.report(report, FigureConnections, FigureConnectionP50, FigureConnectionP99, FigureConnectionCPU)
	return report, context.Cause(ctx)
}

// connector returns what one client repeats. One of the clients names the broker in the report.
func connector(ctx context.Context, to target, report *Report, names bool) func() error {
	in := make([]byte, readBytes)
	return func() error {
		l, err := dialInto(ctx, to, in)
		if err != nil {
			return err
		}
		if names {
			report.Broker = l.product
		}
		return l.close()
	}
}
