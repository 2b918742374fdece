package settings

const (
	// WaitMax is the longest that anything may wait in a virtual host, in ms: a TTL, an expiry, a delay, a retry. Ten
	// years. Source: RabbitMQ ttl.
	WaitMax = 315_360_000_000
	// LostLettersBytesMax and LostLettersAgeMax (ms) bound the lost letters of a vhost that sets no options. Source:
	// ours, decision 7.
	LostLettersBytesMax = 64 << 20
	LostLettersAgeMax   = 7 * 24 * 3_600_000
	// ConsumerTimeoutMax is for how long a delivery may be unsettled where nobody says otherwise, ms.
	// Source: RabbitMQ consumers#acknowledgement-timeout.
	ConsumerTimeoutMax = 1_800_000
	// apsaraReturnsMax and apsaraHopsMax are ApsaraMQ's limits. Source: docs/compat/dead-lettering.md#15.
	apsaraReturnsMax = 16
	apsaraHopsMax    = 16
	// quorumDeliveryLimit is the delivery limit of a quorum queue that sets none. Source: RabbitMQ 4.0 quorum-queues.
	quorumDeliveryLimit = 20
	// patternBytesMax bounds a policy's pattern. Source: RabbitMQ policies.
	patternBytesMax = 1024
	// patternSizeMax bounds what a pattern becomes, see regex.Check: every queue is matched with every pattern.
	patternSizeMax = 2000
	// policyPointsMax bounds the patterns of all policies of a virtual host, in the parts of patternSizeMax; what all
	// matching names begin with counts less. policyPointsMin is what each policy counts for at least. A name of 255
	// octets is matched with the worst of them in 0.1 s, with those that people write in microseconds.
	policyPointsMax, policyPointsMin = 16 << 10, 4
	// marksMax is how many queues the option dead-letter-queues may name: all of them are written to the log with each
	// change of an option.
	marksMax = 1000
	// quorumPriorityMax is the highest priority of a quorum queue that sets none. Source: RabbitMQ 4.3 quorum-queues.
	quorumPriorityMax = 31
)
