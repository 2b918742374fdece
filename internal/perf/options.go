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
	filling    bool          // nobody consumes until all is published
	count      int64         // messages in all; 0: for duration
	duration   time.Duration // of the measured stretch
	warmup     time.Duration
	drain      time.Duration // time without deliveries after which missing messages count as lost
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

	ttl, window, head time.Duration // expire; the first two in backlog, too
	stored            bool          // expire: nobody consumes until all are dead letters
	bystander         float64       // expire, delay: messages per second of somebody else; 0: nobody
	seed              uint64

	delays     delays        // delay
	waiting    int64         // delay, restart: messages that wait all the while
	horizon    time.Duration // how far in the future the last of them is due
	management management

	short       time.Duration // backlog: how long a short queue is measured first
	far, spread time.Duration // backlog: messages expire after far, at random within spread; 0: never
	priorities  int           // backlog: 0: none
	lengthMax   int64         // backlog: messages a queue keeps; 0: all

	data   string        // the broker's directory
	live   int64         // settle, halve: messages that wait, unacked, all the time
	sample time.Duration // interval between measurements of directory and process
	calm   time.Duration // at most so long a wait until the broker rests

	connections int  // declare, idle
	channels    int  // idle: of each connection, 0 or 1
	bindings    int  // restart
	runs        int  // restart: starts of each kind
	cold        bool // restart: the files are not in the page cache
	program     string
	serve       string // restart: more arguments of the broker
}

// group is some flags that belong together.
type group struct {
	// declare names the flags and their defaults, some of which the scenario brings.
	declare func(o *options, f *flag.FlagSet, s *scenario)

	// settle works out what was left open and refuses what cannot be; given are the flags that were named. It may be
	// nil.
	settle func(o *options, given map[string]bool) error
}

// parseOptions reads the arguments of one scenario. Errors have been told to stderr.
func parseOptions(s *scenario, args []string, stderr io.Writer) (*options, error) {
	o := &options{scenario: s.name, filling: !s.flows, ack: ack, every: 100}
	f := flag.NewFlagSet("perf "+s.name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "usage: bartleby perf %s [flags]\n\n%s\n\n", s.name, s.about)
		f.PrintDefaults()
	}
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	for _, g := range s.flags {
		g.declare(o, f, s)
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	err := o.settle(s.flags, f.NArg(), given)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby perf %s: %v\n", s.name, err)
	}
	return o, err
}

func (o *options) settle(groups []group, extra int, given map[string]bool) error {
	if extra > 0 {
		return errors.New("unexpected arguments: only flags are allowed")
	}
	for _, g := range groups {
		if g.settle == nil {
			continue
		}
		if err := g.settle(o, given); err != nil {
			return err
		}
	}
	return nil
}

// remote are the flags of scenarios that measure a running broker.
var remote = group{
	declare: func(o *options, f *flag.FlagSet, _ *scenario) {
		f.StringVar(&o.url, "url", "amqp://guest:guest@127.0.0.1:5672/", "URL of the broker")
		f.IntVar((*int)(&o.broker), "pid", 0, "process id of the broker, to measure its CPU time, memory and disk writes")
	},
	settle: func(o *options, _ map[string]bool) (err error) {
		o.target, err = parseTarget(o.url)
		return err
	},
}

// load are the flags of scenarios that publish and consume.
var load = group{declare: (*options).declareLoad, settle: (*options).settleLoad}

func (o *options) declareLoad(f *flag.FlagSet, s *scenario) {
	f.IntVar(&o.size, "size", s.size, "message body size in bytes, at least 16")
	f.Int64Var(&o.count, "count", s.count, "total number of messages; 0: run for -duration")
	if s.flows {
		durationVar(f, &o.duration, "duration", 10*time.Second, "duration of the measurement")
		durationVar(f, &o.warmup, "warmup", time.Second, "warm-up before the measurement; default 0 with -count")
		f.IntVar(&o.backlogMax, "backlog-max", 0, fmt.Sprintf("pause publishers while this many messages are published "+
			"but not consumed; -1: never; 0: %d, or never with -rate", backlogDefault))
	}
	durationVar(f, &o.drain, "drain", 10*time.Second, "time without deliveries after which missing messages count as lost")
	f.Float64Var(&o.rate, "rate", s.rate, "messages per second of all publishers together; 0: full speed")
	durationVar(f, &o.tick, "tick", 0, "with -rate: interval between writes; 0: as even as possible, at least 100µs")
	f.IntVar(&o.publishers, "publishers", 1, "number of publisher connections")
	f.IntVar(&o.consumers, "consumers", 1, "number of consumer connections")
	f.IntVar(&o.queues, "queues", max(s.queues, 1), "number of queues, distributed over publishers and consumers")
	f.BoolVar(&o.persistent, "persistent", false, "publish persistent messages; implies -durable")
	f.BoolVar(&o.durable, "durable", false, "declare durable queues")
	f.StringVar(&o.queueType, "queue-type", "", "x-queue-type of the queues; quorum implies -durable")
	f.IntVar(&o.confirms, "confirms", s.confirms, "maximum number of outstanding confirms per publisher; 0: no confirms")
	f.Func("ack", "auto, or number of deliveries per ack (default 100)", o.parseAck)
	f.IntVar(&o.prefetch, "prefetch", 0, "prefetch per consumer; 0: 1000, or ten times the deliveries per ack")
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

func (o *options) settleLoad(given map[string]bool) error {
	if o.count > 0 && !given["warmup"] {
		o.warmup = 0
	}
	o.durable = o.durable || o.persistent || o.queueType == "quorum"
	if o.prefetch == 0 {
		o.prefetch = min(max(1000, 10*o.every, 10*o.reject), prefetchMax)
	}
	switch {
	case o.backlogMax < 0 || o.backlogMax == 0 && o.rate > 0 || o.filling:
		o.backlogMax = 0
	case o.backlogMax == 0:
		o.backlogMax = backlogDefault
	}
	switch {
	case o.size < stampBytes:
		return fmt.Errorf("-size: at least %d", stampBytes)
	case o.publishers < 1 || o.consumers < 1 || o.queues < 1 || o.queues > queuesMax:
		return fmt.Errorf("-publishers, -consumers, -queues: at least 1, and at most %d queues", queuesMax)
	case o.publishers+o.queues > streamsMax:
		return fmt.Errorf("-publishers and -queues: together at most %d", streamsMax)
	case o.every < 1 || o.every > o.prefetch || o.reject > o.prefetch || o.prefetch > prefetchMax:
		return fmt.Errorf("-ack and -reject settle 1 to -prefetch deliveries, and -prefetch is at most %d", prefetchMax)
	case o.count < 0 || o.filling && o.count == 0:
		return errors.New("-count: must be above 0")
	case o.rate < 0 || o.confirms < 0 || o.tick < 0 || o.duration < 0 || o.warmup < 0:
		return errors.New("-rate, -confirms, -tick, -duration, -warmup: must not be negative")
	}
	return nil
}
