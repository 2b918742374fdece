package perf

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

const (
	// backlogDefault is how many messages may be published and not yet consumed, unless -backlog-max says otherwise.
	backlogDefault = 20_000

	prefetchMax = math.MaxUint16
	queuesMax   = 9_999
)

// options are what the command line asks for.
type options struct {
	scenario string
	url      string
	target   target
	json     bool
	broker   process

	size       int
	count      int64         // messages in all; 0: for duration
	duration   time.Duration // of the measured stretch
	warmup     time.Duration
	drain      time.Duration // how long nothing may come before what is missing counts as lost
	rate       float64       // messages per second of all publishers; 0: full speed
	tick       time.Duration
	publishers int
	consumers  int
	queues     int
	persistent bool
	durable    bool
	queueType  string
	confirms   int     // outstanding per publisher; 0: no confirms
	ack        verdict // autoAck or ack
	every      int     // deliveries per ack
	prefetch   int
	backlogMax int // 0: no limit

	reject      int // dead-letter: deliveries per nack
	atLeastOnce bool

	ttl, window, head time.Duration // expire
	seed              uint64
}

// parseOptions reads the arguments of one scenario. Errors have been told to stderr.
func parseOptions(s *scenario, args []string, stderr io.Writer) (*options, error) {
	o := &options{scenario: s.name, ack: ack, every: 100}
	f := flag.NewFlagSet("perf "+s.name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: bartleby perf %s [flags]\n\n%s\n\n", s.name, s.about)
		f.PrintDefaults()
	}
	o.common(f, s)
	switch s.name {
	case "dead-letter":
		f.IntVar(&o.reject, "reject", 100, "settle with one basic.nack for so many deliveries; 1: a basic.reject for each")
		f.BoolVar(&o.atLeastOnce, "at-least-once", false, "ask for x-dead-letter-strategy at-least-once (RabbitMQ: with -queue-type quorum)")
	case "expire":
		f.DurationVar(&o.ttl, "ttl", 10*time.Second, "from the start of publishing until the first messages are due")
		f.DurationVar(&o.window, "window", 0, "messages are due at random in so long a time; 0: all at one instant")
		f.DurationVar(&o.head, "head", 0, "from the start until the first message of each queue is due; 0: like the others")
		f.Uint64Var(&o.seed, "seed", 1, "of the random instants")
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	err := o.settle(f.NArg(), given)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby perf %s: %v\n", s.name, err)
	}
	return o, err
}

// common declares the flags of every scenario; a scenario brings its own defaults for some.
func (o *options) common(f *flag.FlagSet, s *scenario) {
	f.StringVar(&o.url, "url", "amqp://guest:guest@127.0.0.1:5672/", "the broker")
	f.IntVar((*int)(&o.broker), "pid", 0, "the broker's process, to measure its CPU time and memory")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.IntVar(&o.size, "size", s.size, "octets of a body, at least 16")
	f.Int64Var(&o.count, "count", s.count, "messages in all; 0: for -duration")
	if s.flows {
		f.DurationVar(&o.duration, "duration", 10*time.Second, "of the measured stretch")
		f.DurationVar(&o.warmup, "warmup", time.Second, "what is not measured before it; 0 with -count unless given")
		f.IntVar(&o.backlogMax, "backlog-max", 0, fmt.Sprintf("hold publishers back while so many messages are published "+
			"and not consumed; -1: never; 0: %d, or never with -rate", backlogDefault))
	}
	f.DurationVar(&o.drain, "drain", 10*time.Second, "how long nothing may come before what is missing counts as lost")
	f.Float64Var(&o.rate, "rate", s.rate, "messages per second, of all publishers; 0: full speed")
	f.DurationVar(&o.tick, "tick", 0, "with -rate: time from write to write; 0: as evenly as 100µs allow")
	f.IntVar(&o.publishers, "publishers", 1, "connections that publish")
	f.IntVar(&o.consumers, "consumers", 1, "connections that consume")
	f.IntVar(&o.queues, "queues", 1, "queues; publishers and consumers share them out")
	f.BoolVar(&o.persistent, "persistent", false, "persistent messages; implies -durable")
	f.BoolVar(&o.durable, "durable", false, "durable queues")
	f.StringVar(&o.queueType, "queue-type", "", "x-queue-type of the queues; quorum implies -durable")
	f.IntVar(&o.confirms, "confirms", s.confirms, "publish with confirms, at most so many outstanding per publisher; 0: without")
	f.Func("ack", "auto, or how many deliveries one ack settles (default 100)", o.parseAck)
	f.IntVar(&o.prefetch, "prefetch", 0, "per consumer; 0: 1000, or ten times the deliveries of a settlement")
}

func (o *options) parseAck(text string) (err error) {
	if text == "auto" {
		o.ack = autoAck
		return nil
	}
	o.ack = ack
	o.every, err = strconv.Atoi(text)
	return err
}

// settle works out what was left open and refuses what cannot be; given are the flags that were named.
func (o *options) settle(extra int, given map[string]bool) (err error) {
	if o.target, err = parseTarget(o.url); err != nil {
		return err
	}
	if o.count > 0 && !given["warmup"] {
		o.warmup = 0
	}
	o.durable = o.durable || o.persistent || o.queueType == "quorum"
	if o.prefetch == 0 {
		o.prefetch = min(max(1000, 10*o.every, 10*o.reject), prefetchMax)
	}
	filling := o.scenario == "expire" || o.scenario == "backlog" // nobody consumes until all is published
	switch {
	case o.backlogMax < 0 || o.backlogMax == 0 && o.rate > 0 || filling:
		o.backlogMax = 0
	case o.backlogMax == 0:
		o.backlogMax = backlogDefault
	}
	switch {
	case extra > 0:
		return errors.New("flags only, no other arguments")
	case o.size < stampBytes:
		return fmt.Errorf("-size: at least %d", stampBytes)
	case o.publishers < 1 || o.consumers < 1 || o.queues < 1 || o.queues > queuesMax:
		return fmt.Errorf("-publishers, -consumers, -queues: at least 1, and at most %d queues", queuesMax)
	case o.publishers+o.queues > streamsMax:
		return fmt.Errorf("-publishers and -queues: together at most %d", streamsMax)
	case o.every < 1 || o.every > o.prefetch || o.reject > o.prefetch || o.prefetch > prefetchMax:
		return fmt.Errorf("-ack and -reject settle 1 to -prefetch deliveries, and -prefetch is at most %d", prefetchMax)
	case o.scenario == "dead-letter" && o.reject < 1:
		return errors.New("-reject: at least 1")
	case o.count < 0 || filling && o.count == 0:
		return errors.New("-count: how many messages?")
	case o.scenario == "latency" && o.rate == 0:
		return errors.New("-rate: a latency needs one; at full speed it is only the length of the queue")
	case o.rate < 0 || o.confirms < 0 || o.tick < 0 || o.duration < 0 || o.warmup < 0:
		return errors.New("-rate, -confirms, -tick, -duration, -warmup: not below 0")
	case o.ttl < 0 || o.window < 0 || o.head < 0:
		return errors.New("-ttl, -window, -head: not below 0")
	}
	return nil
}
