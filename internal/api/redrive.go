package api

// PostRedrive is the body of POST /api/x/redrives/{vhost}: a job, or with DryRun what it would do.
type PostRedrive struct {
	Source  RedriveSource   `json:"source"`
	IDs     List[MessageID] `json:"ids,omitempty"` // these; else
	Filter  string          `json:"filter"`        // those that it finds; "" all
	Max     Integer         `json:"max"`           // at most so many, 0: no limit
	Action  string          `json:"action"`        // redrive (usual), discard
	Target  RedriveTarget   `json:"target"`
	Options RedriveOptions  `json:"options"`
	DryRun  Flag            `json:"dry_run"`
	Force   Flag            `json:"force,omitempty"` // messages may go to the queue where they are
}

// A RedriveSource is where the messages are: a queue, or the lost letters.
type RedriveSource struct {
	Queue string `json:"queue"`
	Lost  Flag   `json:"lost"`
}

// A RedriveTarget is where messages go.
type RedriveTarget struct {
	// queue (usual); origin: exchange and keys of the first publish; elsewhere; on: where lost letters were going
	To         string  `json:"to"`
	Queue      string  `json:"queue,omitempty"`       // of queue: this one for all; "": each to the queue of its first death
	Exchange   *string `json:"exchange,omitempty"`    // elsewhere
	RoutingKey *string `json:"routing_key,omitempty"` // elsewhere; without it its own keys
}

// RedriveOptions are how a job goes on.
type RedriveOptions struct {
	Rate   Integer `json:"rate"`   // messages per second, 0: as fast as may be
	Order  string  `json:"order"`  // oldest (usual), newest
	Canary Integer `json:"canary"` // so many first, then it watches; 0: none
	// how long after the canary, each step of the ramp and the end; 0: 10 s
	WatchMS Integer `json:"watch_ms"`
	Ramp    Flag    `json:"ramp"` // tenfold from the canary on, watching after each step
	// stop when more than so many percent of what was sent came back; 0: never
	StopShare      Integer `json:"stop_percent"`
	StopNoConsumer Flag    `json:"stop_no_consumer"` // stop when a queue that messages went to has no consumer
	// without x-death; it is kept usually, since cycles and counts depend on it
	StripDeaths    Flag `json:"strip_deaths"`
	DropExpiration Flag `json:"drop_expiration"` // the publisher's expiration is not given back
}

// PatchRedrive changes a job that goes on.
type PatchRedrive struct {
	Rate *Integer `json:"rate,omitempty"`
}

// A Redrive is a job of GET /api/x/redrives/{vhost}[/{id}].
type Redrive struct {
	ID      int64          `json:"id"`
	VHost   string         `json:"vhost"`
	User    string         `json:"user"`
	Action  string         `json:"action"`
	Source  RedriveSource  `json:"source"`
	IDs     int            `json:"ids"` // how many were named
	Filter  string         `json:"filter"`
	Max     int64          `json:"max"`
	Target  RedriveTarget  `json:"target"`
	Force   bool           `json:"force"`
	Options RedriveOptions `json:"options"`
	State   string         `json:"state"` // running, watching, paused, stopped, done, cancelled, failed
	// stopped: came_back, no_consumer, access; failed: no_queue; paused, cancelled: who did it
	Why    string  `json:"why"`
	Begun  string  `json:"begun"` // RFC 3339
	Ended  *string `json:"ended"`
	Looked int64   `json:"looked"` // at so many messages
	Moved  int64   `json:"moved"`
	// by why: no_exchange, no_route, refused, no_queue, unknown, busy, access, no_origin, same_queue; they stay where
	// they were
	Refused  Object[int64] `json:"refused"`
	CameBack int64         `json:"came_back"`
	Matched  int64         `json:"matched"` // so far: Moved and Refused
	// that the job will still take, at most; null while it searches with a filter: nobody knows how many will match
	Left  *int64  `json:"left"`
	Total int64   `json:"total"` // messages in the source when it began, or named
	Rate  float64 `json:"rate"`  // messages per second lately
	ETA   *int64  `json:"eta_ms"`
}

// RedriveTrial answers a dry run.
type RedriveTrial struct {
	Looked  int64 `json:"looked"`
	Matches int64 `json:"matches"` // of Looked
	Partial bool  `json:"partial"` // there are more to look at than a trial does
	// how many match as the index has it, null if it does not know all of them
	Found   *int64        `json:"found"`
	Index   *IndexState   `json:"index"` // null: messages were looked at one after the other
	Refused Object[int64] `json:"refused"`
	Queues  Object[int64] `json:"queues"` // how many would go where
	// of Queues, if they went to origin: how many never died there
	NeverDied Object[int64] `json:"never_died"`
	// in how many cases others would have to go for them there, as things stand
	Pushed Object[int64] `json:"pushed_out"`
	// of Queues: those without consumers, in order. With stop_no_consumer the job stops at the first message that would
	// go to no other
	NoConsumers List[string] `json:"no_consumers"`
	// of NoConsumers: the dead-letter queues, in order. They need no consumers: if there are no others, the console
	// asks for no stop
	DeadLetterQueues List[string] `json:"dead_letter_queues"`
	// of NoConsumers: those to which messages of Sample would return with the expiration of their publisher, and expire
	// again
	Expiring List[string]        `json:"expiring"`
	Fits     bool                `json:"fits"` // of a discard: the lost letters have space
	Sample   List[RedriveSample] `json:"sample"`
}

// A RedriveSample says where one message would go.
type RedriveSample struct {
	ID      string       `json:"id"`
	Queues  List[string] `json:"queues"`
	Refused string       `json:"refused"` // "": it is not
}
