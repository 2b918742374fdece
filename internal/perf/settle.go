package perf

import (
	"context"
	"errors"
	"flag"
	"math"
	"time"
)

// stocked are the flags of settle and halve.
var stocked = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.Int64Var(&o.live, "live", 1_000_000, "number of messages that consumers keep unacked")
		f.StringVar(&o.data, "data", "", "data directory of the broker, to measure its size")
		durationVar(f, &o.sample, "sample", time.Second, "interval between measurements of directory and process")
		durationVar(f, &o.calm, "calm", time.Minute, "maximum time to wait at the end until the broker is idle")
		f.Uint64Var(&o.seed, "seed", 1, "random seed for the choice of messages")
	},
	settle: func(o *options, _ map[string]bool) error {
		switch {
		case o.live < int64(o.consumers) || o.live < int64(o.publishers) || o.live > math.MaxUint32:
			return errors.New("-live: at least one for each connection, and below 2^32")
		case o.count > 0:
			return errors.New("-count is not allowed: -live and -duration set the number of messages")
		case o.sample <= 0 || o.calm < 0:
			return errors.New("-sample: above 0; -calm: must not be negative")
		case o.ack == autoAck:
			return errors.New("-ack auto is not allowed: messages must stay unacked and be acked one by one")
		}
		o.every, o.prefetch = 1, 0
		o.backlogMax = int(o.live) + backlogDefault // which are under way, beside those that are held
		return nil
	},
}

// The figures of settle and halve. Live octets are those of bodies.
const (
	figureFactor       = "directory / live bytes, at the end"
	figureFactorWorst  = "directory / live bytes, maximum in the second half"
	figureBeyond       = "(directory - 4 segments) / live bytes, at the end"
	figureBeyondWorst  = "(directory - 4 segments) / live bytes, maximum in the second half"
	figureWritten      = "written per byte of message bodies, in the second half"
	figureRestedFactor = "directory / live bytes, after idling"
	figureRestedBeyond = "(directory - 4 segments) / live bytes, after idling"
	figureRest         = "rest"
)

// settleSteadily keeps a set of live messages of which each is equally likely to be settled next.
func settleSteadily(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	s := &liveSet{watch: watch{r: r}}
	if err := s.fill(true); err != nil {
		return nil, err
	}
	done := r.startPublishers(s.steady, o.rate)
	if err := r.wait(o.warmup); err != nil {
		return nil, err
	}
	r.since.Store(now())
	from, err := r.sample(r.consumers)
	if err != nil {
		return nil, err
	}
	first := len(s.rows)
	if err := s.during("settle", o.duration); err != nil {
		return nil, err
	}
	to, err := r.sample(r.consumers)
	if err != nil {
		return nil, err
	}
	steadily := s.rows[first:]
	r.haltPublishers()
	if err := r.drain(done, r.consumers, 0); err != nil {
		return nil, err
	}
	resting, err := s.settledDown()
	if err != nil {
		return nil, err
	}
	settling := span(from, to)
	settling.Name = "settle"
	report, err := r.report(r.consumers, s.filled, settling)
	if err != nil || len(steadily) == 0 {
		return report, err
	}
	report.Storage = s.rows
	s.figures(report, steadily, resting)
	return report, nil
}

// halve settles a random half of the messages and lets the broker rest.
func halve(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	s := &liveSet{watch: watch{r: r}}
	if err := s.fill(false); err != nil {
		return nil, err
	}
	from, err := r.sample(r.consumers)
	if err != nil {
		return nil, err
	}
	for _, c := range r.consumers {
		c.shrink(c.keep / 2)
	}
	half := int64(len(r.consumers)) * (r.consumers[0].keep / 2)
	err = r.await(0, func() (int64, bool) { held := int64(r.backlog.held()); return held, held <= half })
	if err != nil {
		return nil, err
	}
	if err := s.look("halve"); err != nil {
		return nil, err
	}
	to, err := r.sample(r.consumers)
	if err != nil {
		return nil, err
	}
	halved := s.rows[len(s.rows)-1:]
	resting, err := s.settledDown()
	if err != nil {
		return nil, err
	}
	settling := span(from, to)
	settling.Name = "halve"
	report, err := r.report(r.consumers, s.filled, settling)
	if err != nil {
		return report, err
	}
	report.Storage = s.rows
	s.figures(report, halved, resting)
	return report, nil
}

// liveSet is the messages that the consumers hold, watched.
type liveSet struct {
	watch
	steady []*publisher // that go on when it is filled
	filled Span
}

// fill publishes the live messages and waits until the consumers hold them; more opens publishers that go on.
func (s *liveSet) fill(more bool) error {
	r := s.r
	queues, err := r.declare("queue", plain)
	if err != nil {
		return err
	}
	keep := r.o.live / int64(r.o.consumers)
	filling, err := r.publishTo(queues, keep*int64(r.o.consumers), r.same)
	if err != nil {
		return err
	}
	if more {
		if s.steady, err = r.publishTo(queues, 0, r.same); err != nil {
			return err
		}
	}
	as := role{verdict: ack, every: 1, use: r.delayIfPaced(), backlog: r.backlog, keep: keep}
	consumers, err := r.consumeFrom(queues, as, true)
	if err != nil {
		return err
	}
	from, err := r.sample(consumers)
	if err != nil {
		return err
	}
	s.last = from
	r.since.Store(math.MaxInt64)
	if err := r.drain(r.startPublishers(filling, 0), consumers, 0); err != nil {
		return err
	}
	to, err := r.sample(consumers)
	if err != nil {
		return err
	}
	s.filled = span(from, to)
	s.filled.Name = "fill"
	return s.look("fill")
}

// settledDown waits until the broker rests, and returns how long that took.
func (s *liveSet) settledDown() (time.Duration, error) {
	if s.r.o.calm == 0 {
		return 0, nil
	}
	began := now()
	err := s.rest()
	return max(0, time.Duration(now()-began)-restPeriod), err
}

// figures sums up the looks while messages were settled, and the last of all.
func (s *liveSet) figures(report *Report, settling []Storage, resting time.Duration) {
	if s.r.o.data == "" {
		return
	}
	var worst, worstBeyond, written, bodies float64
	for i := len(settling) / 2; i < len(settling); i++ {
		worst = max(worst, ratio(settling[i].Directory, settling[i].Live))
		worstBeyond = max(worstBeyond, settling[i].beyond())
		if i > 0 {
			written += settling[i].Written
			bodies += settling[i].Published * (settling[i].Seconds - settling[i-1].Seconds) * float64(s.r.o.size) / (1 << 20)
		}
	}
	end, rested := &settling[len(settling)-1], &s.rows[len(s.rows)-1]
	report.add(figureFactor, ratio(end.Directory, end.Live), "times")
	report.add(figureFactorWorst, worst, "times")
	report.add(figureBeyond, end.beyond(), "times")
	report.add(figureBeyondWorst, worstBeyond, "times")
	if bodies > 0 {
		report.add(figureWritten, written/bodies, "times")
	}
	report.add(figureRestedFactor, ratio(rested.Directory, rested.Live), "times")
	report.add(figureRestedBeyond, rested.beyond(), "times")
	report.add(figureRest, resting.Seconds(), "s")
}
