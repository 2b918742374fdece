package api

// DeadLettersSummary of GET /api/x/letters (a list of them) and /api/x/letters/{vhost}/summary, both with
// ?range=. Deaths, arrivals, redrives and discards are counted since the virtual host was opened; Recent is
// of the range.
type DeadLettersSummary struct {
	VHost        string         `json:"vhost"`
	CountedSince string         `json:"counted_since"` // RFC 3339
	Died         Object[uint64] `json:"died"`          // by reason
	// of these: where no dead-letter exchange was set; but for delivery_limit they are gone
	NoDLX       uint64                `json:"no_dlx"`
	Arrived     uint64                `json:"letters"`      // that came into queues
	DeadLetters int64                 `json:"dead_letters"` // in all queues now
	Retrying    int64                 `json:"retrying"`     // of DeadLetters: in retry queues
	Waiting     int64                 `json:"waiting"`      // messages in dead-letter queues now, dead letters or not
	Bytes       int64                 `json:"bytes"`        // of these
	OldestSec   *float64              `json:"oldest_seconds"`
	Held        int64                 `json:"held"` // of DeadLetters: those that their queues hold
	Lost        LostTotals            `json:"lost"`
	Redriven    uint64                `json:"redriven"`
	CameBack    uint64                `json:"came_back"` // of these
	Refused     uint64                `json:"refused"`   // were to be sent back, and stayed
	Discarded   uint64                `json:"discarded"`
	Jobs        Object[int]           `json:"jobs"`   // by state
	Queues      List[DeadLetterQueue] `json:"queues"` // dead-letter queues, and others with dead letters that they do not hold
	Recent      RecentDeaths          `json:"recent"`
}

// RecentDeaths are those in a virtual host in a range of time.
type RecentDeaths struct {
	Deaths
	NoDLX    uint64            `json:"no_dlx"`    // of Died, as above
	CameBack uint64            `json:"came_back"` // that had been redriven, and died again
	Sources  List[DeathSource] `json:"sources"`   // the queues in which most died, up to ten
	Others   uint64            `json:"others"`    // of Died: in other queues, or in those that are no more
}

// A DeathSource is a queue in which messages died.
type DeathSource struct {
	Queue string         `json:"queue"`
	Died  Object[uint64] `json:"died"` // by reason
	Total uint64         `json:"total"`
}

// Deaths of GET /api/x/queues/{vhost}/{queue}/deaths?range=1m|10m|1h|8h|24h; an hour without range. They are known to
// the length of a step.
type Deaths struct {
	Range string `json:"range"`
	Since string `json:"since"` // RFC 3339: the range begins then
	// RFC 3339: what is counted came after that; later than Since if readings begin later
	CountedSince string `json:"counted_since"`
	// since CountedSince: when no readings were taken, because the broker did not run
	Gaps    List[Gap]            `json:"gaps"`
	Died    Object[uint64]       `json:"died"`         // by reason
	Arrived uint64               `json:"letters"`      // dead letters that came in
	StepSec int64                `json:"step_seconds"` // between two of Times, but for the last
	Times   List[int64]          `json:"times"`        // when steps ended, ms since the Unix epoch, oldest first
	ByStep  Object[List[uint64]] `json:"by_step"`      // what died in each of them, by reason, and dead letters
}

// A Gap is a time of which nothing is known, ms since the Unix epoch.
type Gap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A DeadLetterQueue is a queue that dead letters of other queues come to, or one in which there are some.
type DeadLetterQueue struct {
	Name        string   `json:"name"`
	Role        string   `json:"role"`         // dead_letter, retry or "", as in a TopologyQueue
	DeadLetters int64    `json:"dead_letters"` // of Messages
	Messages    int64    `json:"messages"`
	Bytes       int64    `json:"bytes"`
	Consumers   int      `json:"consumers"`
	Arrivals    uint64   `json:"arrivals"` // dead letters that came
	OldestSec   *float64 `json:"oldest_seconds"`
}
