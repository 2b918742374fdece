package perf

import (
	"context"
	"errors"
	"flag"
	"time"
)

// idling are the flags of idle.
var idling = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.connections, "connections", 1000, "connections that do nothing")
		f.IntVar(&o.channels, "channels", 1, "channels of each, 0 or 1")
		f.DurationVar(&o.calm, "calm", 10*time.Second, "from the last connection until the second look")
	},
	settle: func(o *options, _ map[string]bool) error {
		switch {
		case o.connections < 1 || o.channels < 0 || o.channels > 1 || o.calm < 0:
			return errors.New("-connections: at least 1; -channels: 0 or 1; -calm: not below 0")
		case o.broker == 0:
			return errors.New("-pid: whose memory?")
		}
		return nil
	},
}

// The figures of idle.
const (
	figureIdle       = "memory for a connection"
	figureIdleRested = "memory for a connection, after a rest"
	figureIdleOpen   = "connections opened"
)

// idle opens connections and leaves them alone.
func idle(ctx context.Context, o *options) (*Report, error) {
	report := &Report{Scenario: o.scenario, Settings: settingsOf(o)}
	before, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	began := now()
	for range o.connections {
		l, err := connect(ctx, o.target)
		if err != nil {
			return nil, err
		}
		defer l.conn.Close()
		if o.channels == 1 {
			if err := l.open(); err != nil {
				return nil, err
			}
		}
		l.in, report.Broker = nil, l.product // nothing more is read
	}
	report.add(figureIdleOpen, float64(o.connections)/(float64(now()-began)/1e9), "per second")
	opened, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(o.calm):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	rested, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	each := func(u usage) float64 { return float64(u.resident-before.resident) / 1024 / float64(o.connections) }
	report.add(figureIdle, each(opened), "KiB")
	report.add(figureIdleRested, each(rested), "KiB")
	return report, nil
}
