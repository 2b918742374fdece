package perf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

// idling are the flags of idle.
var idling = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.IntVar(&o.connections, "connections", 1000, "number of idle connections")
		f.IntVar(&o.channels, "channels", 1, "channels per connection, 0 or 1")
		f.Int64Var(&o.count, "burst", 0, "number of 1 KiB messages that each connection first publishes to no queue; requires -channels 1")
		durationVar(f, &o.calm, "calm", 10*time.Second, "time from the last connection until the second measurement")
	},
	settle: func(o *options, _ map[string]bool) error {
		switch {
		case o.connections < 1 || o.channels < 0 || o.channels > 1 || o.calm < 0:
			return errors.New("-connections: at least 1; -channels: 0 or 1; -calm: must not be negative")
		case o.count < 0 || o.count > 0 && o.channels == 0:
			return errors.New("-burst: must not be negative, and requires -channels 1")
		case o.broker == 0:
			return errors.New("-pid is required")
		}
		return nil
	},
}

// The figures of idle.
const (
	figureIdle       = "memory per connection"
	figureIdleRested = "memory per connection, after idling"
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
		l, err := connect(ctx, o.target, make([]byte, readBytes))
		if err != nil {
			return nil, err
		}
		defer l.conn.Close()
		if o.channels == 1 {
			if err := l.open(); err != nil {
				return nil, err
			}
		}
		if err := burst(l, o.count); err != nil {
			return nil, err
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

// burst publishes n messages that no queue gets, and waits until the broker has read them.
func burst(l *link, n int64) error {
	if n == 0 {
		return nil
	}
	nowhere := lane{queues: []string{fmt.Sprintf("perf.%08x", rand.Uint32())}}
	messages := newRing(nowhere, 1024, func() amqp.Properties { return amqp.Properties{} }, l.frameMax)
	for sent := int64(0); sent < n; {
		some := min(n-sent, int64(messages.most(sent)))
		batch, err := messages.batch(sent, int(some), 0)
		if err != nil {
			return err
		}
		if err := l.send(batch); err != nil {
			return err
		}
		sent += some
	}
	_, err := call[*wire.BasicQosOk](l, &wire.BasicQos{PrefetchCount: 1})
	return err
}
