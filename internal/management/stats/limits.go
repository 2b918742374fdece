package stats

import "time"

const (
	// ViewsMax bounds how many queues one look at a virtual host reads, which takes it about a millisecond.
	ViewsMax = 500
	// samplePeriod is the time between two readings of the counters, from which rates are computed.
	// Source: RabbitMQ collect_statistics_interval.
	samplePeriod = 5 * time.Second
	// spanSecondsMax bounds how far back samples are asked for, and samplesMax how many.
	spanSecondsMax, samplesMax = 100_000_000, 500
)

var (
	WholeKept = kept([2]time.Duration{10 * time.Minute, samplePeriod}, [2]time.Duration{time.Hour, time.Minute},
		[2]time.Duration{8 * time.Hour, 10 * time.Minute}, [2]time.Duration{24 * time.Hour, 30 * time.Minute})
	WireKept = kept([2]time.Duration{time.Minute, samplePeriod})
)
