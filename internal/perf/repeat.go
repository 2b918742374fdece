package perf

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// worker repeats one action until its context is done, and leaves nothing behind. One goroutine uses it.
type worker struct {
	act   func() error // once
	end   func() error
	times *hdrhistogram.Histogram // of the actions
}

// run repeats the action until ctx is done.
func (w *worker) run(ctx context.Context) error {
	for ctx.Err() == nil {
		began := now()
		if err := w.act(); err != nil {
			return err
		}
		record(w.times, now()-began)
	}
	return w.end()
}

// repeated is what workers did in the measured time.
type repeated struct {
	seconds       float64
	times         *hdrhistogram.Histogram
	before, after usage // of the broker
}

// repeat runs the workers side by side for the duration of o.
func repeat(ctx context.Context, o *options, workers []*worker) (*repeated, error) {
	o.broker.forgetPeak()
	before, err := o.broker.usage()
	if err != nil {
		return nil, err
	}
	began := now()
	limited, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	failures := make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		w.times = newHistogram()
		all.Go(func() { failures[i] = w.run(limited) })
	}
	all.Wait()
	result := &repeated{seconds: float64(now()-began) / 1e9, times: newHistogram(), before: before}
	if result.after, err = o.broker.usage(); err != nil {
		return nil, err
	}
	for _, w := range workers {
		result.times.Merge(w.times)
	}
	return result, errors.Join(failures...)
}

// report adds the rate of the actions, their times, and the broker's CPU time for a thousand of them.
func (r *repeated) report(to *Report, rate, p50, p99, cpu string) {
	to.add(rate, float64(r.times.TotalCount())/r.seconds, "per second")
	to.add(p50, milliseconds(r.times.ValueAtQuantile(50)), "ms")
	to.add(p99, milliseconds(r.times.ValueAtQuantile(99)), "ms")
	if r.after.known {
		to.add(cpu, ratio((r.after.cpu-r.before.cpu).Seconds(), float64(r.times.TotalCount())/1000), "s")
	}
}

// settleRepeated refuses options with which nothing would be repeated.
func settleRepeated(o *options, _ map[string]bool) error {
	if o.connections < 1 || o.duration <= 0 {
		return errors.New("-connections: at least 1; -duration: above 0")
	}
	return nil
}

// durationDefault is how long a scenario repeats its action unless -duration says otherwise.
const durationDefault = 10 * time.Second
