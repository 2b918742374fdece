package perf

import (
	"context"
	"errors"
	"time"
)

// far are messages that wait in the run's exchange all the while, for a queue that nobody consumes from; nil is none.
// The exchange is removed with them.
type far struct {
	run      *run
	schedule *schedule // nil: it cannot be asked about
	loaded   Span
	figures  []Figure
	gone     int64 // cancelled or purged
}

const (
	// listLimit is how many of those next due are listed at once; listings is how often.
	listLimit = 100
	listings  = 100

	// bulk is how many are cancelled by one request; bulks is how many requests there are at most.
	bulk  = 1000
	bulks = 100
)

// The figures of what waits.
const (
	figureList      = "the next 100 listed, p50"
	figureListP99   = "the next 100 listed, p99"
	figureCancel    = "cancelled, 1,000 at once"
	figureBulk      = "1,000 cancelled, p50"
	figureBulkP99   = "1,000 cancelled, p99"
	figureCancelled = "cancelled"
	figureTooLate   = "not cancelled: fired before"
	figurePurged    = "purged at the end"
	figurePurge     = "purged in"
)

// farAway publishes what -waiting asks for, and lists and cancels some of it where there is a management API.
func (r *run) farAway() (*far, error) {
	if r.o.waiting == 0 {
		return nil, nil
	}
	own := *r.o
	own.queues = 1
	f := &far{}
	var err error
	if f.run, err = newRun(r.ctx, &own); err != nil {
		return nil, err
	}
	f.run.exchange, f.run.exchanges, r.exchanges = r.exchange, r.exchanges, nil
	if err := f.load(); err != nil {
		f.close()
		return nil, err
	}
	if r.o.management.base == "" {
		return f, nil
	}
	f.schedule = &schedule{at: r.o.management, vhost: r.o.target.vhost, exchange: r.exchange}
	if err := f.ask(r.ctx); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// load publishes all. On return the broker has confirmed them, or, without confirms, read them.
func (f *far) load() error {
	queues, err := f.run.declare("far", plain)
	if err != nil {
		return err
	}
	if err := f.run.bind(queues); err != nil {
		return err
	}
	due := calendar{least: int64(time.Millisecond), most: int64(f.run.o.horizon)}
	publishers, err := f.run.publishDue(queues, f.run.o.waiting, byDelay, due)
	if err != nil {
		return err
	}
	from, err := f.run.sample(nil)
	if err != nil {
		return err
	}
	done := f.run.startPublishers(publishers, 0)
	if err := f.run.await(0, func() (int64, bool) { return f.run.published(), isClosed(done) && f.run.confirmed() }); err != nil {
		return err
	}
	if !isClosed(done) || !f.run.confirmed() {
		return errors.New("the broker does not accept or confirm the messages with distant due times")
	}
	if err := f.run.hangUp(); err != nil {
		return err
	}
	to, err := f.run.sample(nil)
	f.loaded = span(from, to)
	f.loaded.Name = "load"
	return err
}

// ask lists what is due next, again and again, and cancels some, the next by the next.
func (f *far) ask(ctx context.Context) error {
	times := newHistogram()
	for range listings {
		began := now()
		if _, err := f.schedule.next(ctx, listLimit); err != nil {
			return err
		}
		record(times, now()-began)
	}
	f.add(figureList, milliseconds(times.ValueAtQuantile(50)), "ms")
	f.add(figureListP99, milliseconds(times.ValueAtQuantile(99)), "ms")
	times.Reset()
	var took, late int64
	for range min(bulks, f.run.o.waiting/bulk) {
		ids, err := f.schedule.next(ctx, bulk)
		if err != nil {
			return err
		}
		began := now()
		outcomes, err := f.schedule.cancel(ctx, ids)
		if err != nil {
			return err
		}
		took += now() - began
		record(times, now()-began)
		f.gone += outcomes[outcomeCancelled]
		late += outcomes[outcomeFired]
		if got := outcomes[outcomeCancelled] + outcomes[outcomeFired]; got != int64(len(ids)) {
			return errors.New("the broker neither cancelled nor fired some of the listed messages")
		}
	}
	if f.gone > 0 {
		f.add(figureCancel, float64(f.gone)/(float64(took)/1e9), "per second")
		f.add(figureBulk, milliseconds(times.ValueAtQuantile(50)), "ms")
		f.add(figureBulkP99, milliseconds(times.ValueAtQuantile(99)), "ms")
		f.add(figureCancelled, float64(f.gone), "messages")
		f.add(figureTooLate, float64(late), "messages")
	}
	return nil
}

func (f *far) add(name string, value float64, unit string) {
	f.figures = append(f.figures, Figure{name, value, unit})
}

// end purges what still waits, if there is a management API to do it with, and enters in the books what neither fired
// nor was cancelled or purged. It removes exchange and queue, and adds to the report what is known of them.
func (f *far) end(ctx context.Context, report *Report) error {
	if f == nil {
		return nil
	}
	if f.schedule != nil {
		began := now()
		purged, err := f.schedule.purge(ctx)
		if err != nil {
			return err
		}
		f.add(figurePurged, float64(purged), "messages")
		f.add(figurePurge, milliseconds(now()-began), "ms")
		f.gone += purged
	}
	fired, err := f.run.remove()
	if err != nil {
		return err
	}
	if f.schedule != nil {
		report.Books.Lost += f.run.o.waiting - f.gone - fired
	}
	report.Spans = append([]Span{f.loaded}, report.Spans...)
	report.Figures = append(report.Figures, f.figures...)
	return nil
}

// close removes exchange and queue, unless end has.
func (f *far) close() {
	if f != nil {
		f.run.close()
	}
}
