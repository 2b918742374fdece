package perf

import (
	"context"
	"errors"
	"flag"
	"time"
)

// expiry are the flags of expire.
var expiry = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		durationVar(f, &o.ttl, "ttl", 10*time.Second, "time from the start of publishing until the first messages are due")
		durationVar(f, &o.window, "window", 0, "messages are due at random within this time; 0: all at the same time")
		durationVar(f, &o.head, "head", 0, "time from the start until the first message of each queue is due; 0: like the others")
		f.Uint64Var(&o.seed, "seed", 1, "random seed for due times")
		f.BoolVar(&o.stored, "stored", false, "measure until the dead-letter queues have all messages; consume only then")
		o.declareBystander(f)
	},
	settle: func(o *options, _ map[string]bool) error {
		if o.ttl < 0 || o.window < 0 || o.head < 0 || o.bystander < 0 {
			return errors.New("-ttl, -window, -head, -bystander: must not be negative")
		}
		return nil
	},
}

func (o *options) declareBystander(f *flag.FlagSet) {
	f.Float64Var(&o.bystander, "bystander", 0, "messages per second published and consumed on another queue, "+
		"to measure the effect on other traffic; 0: none")
}

// expire publishes messages with a TTL that all end at one instant, or at random in a window, and measures how long
// after it each comes out of the queue that dead letters go to. Rates of the second span count from the instant at
// which the first were due.
func expire(ctx context.Context, o *options) (*Report, error) {
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	dead, err := r.declare("dead", plain)
	if err != nil {
		return nil, err
	}
	source, err := r.declare("wait", deadLettersTo(dead, nil))
	if err != nil {
		return nil, err
	}
	start := now()
	due := calendar{first: start + int64(o.ttl), window: int64(o.window)}
	if o.head > 0 {
		due.head = start + int64(o.head)
	}
	if _, err := r.publishDue(source, o.count, byExpiration, due); err != nil {
		return nil, err
	}
	to := destination{queues: dead, as: role{verdict: o.ack, every: o.every, use: measureDue, dead: true}}
	if to.stored = o.stored; o.stored {
		to.as.use = ignoreStamp
	}
	return r.flood(to, due, "expire")
}
