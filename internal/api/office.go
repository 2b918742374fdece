package api

// A Letter is a message as the office shows it, wherever it is: in a queue, among the lost letters, or scheduled.
type Letter struct {
	// digits: names it within Queue, or among the lost letters; of a scheduled message its ID
	ID    string `json:"id"`
	VHost string `json:"vhost"` //
	Place string `json:"place"` // queue, lost, scheduled
	Queue string `json:"queue"` // where it is; the delayed exchange of a scheduled message; "" for a lost letter
	State string `json:"state"` // ready, unacked, waiting, held, lost, scheduled

	Exchange    string       `json:"exchange"`     // of its last hop
	RoutingKeys List[string] `json:"routing_keys"` // of its last hop, the first being what a consumer sees
	Redelivered bool         `json:"redelivered"`
	Returns     int64        `json:"returns"` // deliveries that came back
	Persistent  bool         `json:"persistent"`
	Size        int64        `json:"size"` // of the payload, bytes
	Due         *string      `json:"due"`  // RFC 3339 with ms: until when it waits
	Expires     *string      `json:"expires"`
	// of a lost or held letter: no_exchange, no_route, cycle, refused, hops, delivery_limit, discarded
	Cause     *string      `json:"cause"`
	Target    *string      `json:"target"` // of a lost letter: the queue that did not take it
	At        *string      `json:"at"`     // RFC 3339: of its newest death, or since when it is among the lost
	MessageID string       `json:"message_id"`
	Deaths    List[Death]  `json:"deaths"` // the newest first
	First     *DeathOrigin `json:"first_death"`
	Last      *DeathOrigin `json:"last_death"`
	Redrives  int64        `json:"redrives"`  // x-redrive-count
	Redrive   *int64       `json:"redrive"`   // the job that sent it last
	CameBack  bool         `json:"came_back"` // it has died since then
	// a client has published it where failures go, and the broker knows of no death
	Republished *Failure `json:"republished,omitempty"`

	// Only if the caller may read payloads, and asked for them.
	Properties      Editable `json:"properties,omitempty"` // headers among them
	Payload         *string  `json:"payload,omitempty"`
	PayloadEncoding string   `json:"payload_encoding,omitempty"` // string or base64
	Truncated       bool     `json:"truncated,omitempty"`        // the payload is longer than what is shown
}

// A Failure is what the headers of such a letter tell of where it came from; each is "" if they do not.
type Failure struct {
	Exchange   string `json:"exchange"`
	RoutingKey string `json:"routing_key"`
	Queue      string `json:"queue"`
}

// A DeathOrigin is what x-first-death-* or x-last-death-* tells.
type DeathOrigin struct {
	Reason   string `json:"reason"`
	Queue    string `json:"queue"`
	Exchange string `json:"exchange"`
}

// Letters is a portion of them. GET /api/x/queues/{vhost}/{queue}/messages, GET /api/x/lost-letters/{vhost}/messages
// and GET /api/x/letters/{vhost}, all with ?filter= &order=oldest|newest &limit= &after= &payload=true &truncate=. One
// of them is at …/messages/{id}, with ?offset= &limit= of the payload, and its payload as a file at
// …/messages/{id}/payload.
type Letters struct {
	Items   List[Letter] `json:"items"`
	Next    *string      `json:"next"`    // what ?after= has to be for the next portion, null at the end
	Scanned int          `json:"scanned"` // messages that were looked at for this portion
	Partial bool         `json:"partial"` // the budget ended before the portion was full: go on with Next
	Index   *IndexState  `json:"index"`   // null: answered without the index
}

// An IndexState says up to when answers of the index are complete.
type IndexState struct {
	CompleteUntil string `json:"complete_until"` // RFC 3339: what came before is in the answer
	Behind        int64  `json:"behind"`         // letters that are not in the index yet
}

// Groups of GET /api/x/letters/{vhost}/groups?by=reason|source|queue|exchange|key|cause|exception|header:NAME&filter=.
type Groups struct {
	By     string      `json:"by"`
	Groups List[Group] `json:"groups"` // the largest first
	Total  int64       `json:"total"`  // letters in all groups, shown or not
	Others int64       `json:"others"` // groups that are not shown
	// letters that pass the filter and have no such value; scheduled ones only if they might
	Without int64       `json:"without"`
	None    string      `json:"without_filter,omitempty"` // that finds these
	Scanned int         `json:"scanned"`
	Partial bool        `json:"partial"`
	Index   *IndexState `json:"index"`
}

// A Group is letters that have something in common.
type Group struct {
	Value  string      `json:"value"`
	Filter string      `json:"filter"` // that finds these letters
	Count  int64       `json:"count"`
	First  string      `json:"first"` // RFC 3339: the oldest's death
	Last   string      `json:"last"`
	Spark  List[int64] `json:"spark"` // 24 equal stretches from First to Last
	Sample *Letter     `json:"sample"`
	Note   string      `json:"note"` // what operators wrote about the group
}

// PostRedrive is the body of POST /api/x/redrives/{vhost}: a job, or with DryRun what it would do.
type PostRedrive struct {
	Source  RedriveSource  `json:"source"`
	IDs     List[LetterID] `json:"ids,omitempty"` // these; else
	Filter  string         `json:"filter"`        // those that it finds; "" all
	Max     Integer        `json:"max"`           // at most so many, 0: no limit
	Action  string         `json:"action"`        // redrive (usual), discard
	Target  RedriveTarget  `json:"target"`
	Options RedriveOptions `json:"options"`
	DryRun  Flag           `json:"dry_run"`
}

// A RedriveSource is where the letters are: a queue, or the lost letters.
type RedriveSource struct {
	Queue string `json:"queue"`
	Lost  Flag   `json:"lost"`
}

// A RedriveTarget is where letters go.
type RedriveTarget struct {
	// origin: exchange and keys of the first publish; queue; elsewhere; on (usual for lost letters): where they were
	// going
	To         string  `json:"to"`
	Queue      string  `json:"queue,omitempty"`       // of queue: this one for all; "": each to the queue of its first death
	Exchange   *string `json:"exchange,omitempty"`    // elsewhere
	RoutingKey *string `json:"routing_key,omitempty"` // elsewhere; without it its own keys
}

// RedriveOptions are how a job goes on.
type RedriveOptions struct {
	Rate   Integer `json:"rate"`   // letters per second, 0: as fast as may be
	Order  string  `json:"order"`  // oldest (usual), newest
	Canary Integer `json:"canary"` // so many first, then it watches; 0: none
	// how long after the canary, each step of the ramp and the end; 0: 10 s
	WatchMS Integer `json:"watch_ms"`
	Ramp    Flag    `json:"ramp"` // tenfold from the canary on, watching after each step
	// stop when more than so many percent of what was sent came back; 0: never
	StopShare      Integer `json:"stop_percent"`
	StopNoConsumer Flag    `json:"stop_no_consumer"` // stop when a queue that letters went to has no consumer
	// without x-death; it is kept usually, since cycles and counts depend on it
	StripDeaths    Flag `json:"strip_deaths"`
	DropExpiration Flag `json:"drop_expiration"` // the publisher's expiration is not given back
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
	Options RedriveOptions `json:"options"`
	State   string         `json:"state"` // running, watching, paused, stopped, done, cancelled, failed
	// stopped: came_back, no_consumer, access; failed: no_queue; paused, cancelled: who did it
	Why    string  `json:"why"`
	Begun  string  `json:"begun"` // RFC 3339
	Ended  *string `json:"ended"`
	Looked int64   `json:"looked"` // at so many letters
	Moved  int64   `json:"moved"`
	// by why: no_exchange, no_route, refused, no_queue, unknown, busy; they stay where they were
	Refused  Object[int64] `json:"refused"`
	CameBack int64         `json:"came_back"`
	Total    int64         `json:"total"` // letters in the source when it began, or named
	Rate     float64       `json:"rate"`  // letters per second lately
	ETA      *int64        `json:"eta_ms"`
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
	// in how many cases others would have to go for them there, as things stand
	Pushed Object[int64]       `json:"pushed_out"`
	Fits   bool                `json:"fits"` // of a discard: the lost letters have room
	Sample List[RedriveSample] `json:"sample"`
}

// A RedriveSample says where one letter would go.
type RedriveSample struct {
	ID      string       `json:"id"`
	Queues  List[string] `json:"queues"`
	Refused string       `json:"refused"` // "": it is not
}

// PatchRedrive changes a job that goes on.
type PatchRedrive struct {
	Rate *Integer `json:"rate,omitempty"`
}

// PostResend is the body of POST /api/x/queues/{vhost}/{queue}/messages/{id}/resend (and of the same below
// lost-letters): an edited message is published and, unless Keep, takes the place of the original. What is absent is as
// the original has it.
type PostResend struct {
	Exchange        *string    `json:"exchange,omitempty"`
	RoutingKey      *string    `json:"routing_key,omitempty"`
	Properties      *Arguments `json:"properties,omitempty"` // all of them, headers included
	Payload         *string    `json:"payload,omitempty"`
	PayloadEncoding string     `json:"payload_encoding,omitempty"`
	Keep            Flag       `json:"keep,omitempty"`
	DryRun          Flag       `json:"dry_run,omitempty"`
}

// A Finding of GET /api/x/lint and of a topology: something that will lose, delay or circulate messages.
type Finding struct {
	Code     string         `json:"code"`     // a word, see docs
	Severity string         `json:"severity"` // error, warning, note
	VHost    string         `json:"vhost"`
	Kind     string         `json:"kind"` // queue, exchange, policy, vhost
	Name     string         `json:"name"`
	Text     string         `json:"text"` // in English; Params let a console say it in another language
	Params   Object[string] `json:"params"`
}

// A Note is what operators wrote about a group of letters. GET /api/x/notes/{vhost} lists them, GET and PUT (with a
// PutNote) /api/x/notes/{vhost}/{by}/{value} are about one.
type Note struct {
	VHost string `json:"vhost"`
	By    string `json:"by"`    // as groups are asked for
	Value string `json:"value"` // of the group
	Text  string `json:"text"`
	User  string `json:"user"` // who wrote it
	At    string `json:"at"`   // RFC 3339
}

// PutNote is the body of PUT; without a text the note is taken away.
type PutNote struct {
	Text string `json:"text"`
}

// LettersSummary of GET /api/x/letters (a list of them) and /api/x/letters/{vhost}/summary, both with ?range=. What is
// counted is so since the broker started; Recent is of the range.
type LettersSummary struct {
	VHost string         `json:"vhost"`
	Died  Object[uint64] `json:"died"` // by reason
	// of these: where no dead-letter exchange was set; but for delivery_limit they are gone
	NoDLX     uint64            `json:"no_dlx"`
	Letters   uint64            `json:"letters"` // that came into queues
	Waiting   int64             `json:"waiting"` // messages in dead-letter queues now
	Bytes     int64             `json:"bytes"`   // of these
	OldestSec *float64          `json:"oldest_seconds"`
	Held      int64             `json:"held"` // dead letters that their queues hold now
	Lost      Shelf             `json:"lost"`
	Redriven  uint64            `json:"redriven"`
	CameBack  uint64            `json:"came_back"` // of these
	Refused   uint64            `json:"refused"`   // were to be sent back, and stayed
	Discarded uint64            `json:"discarded"`
	Jobs      Object[int]       `json:"jobs"` // by state
	Queues    List[LetterQueue] `json:"queues"`
	Recent    RecentDeaths      `json:"recent"`
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

// Deaths of GET /api/x/queues/{vhost}/{queue}/deaths?range=1m|10m|1h|8h|24h; an hour without range. They are known
// since the broker started, to the length of a step.
type Deaths struct {
	Range   string               `json:"range"`
	Since   string               `json:"since"`        // RFC 3339: what is counted came after that
	Died    Object[uint64]       `json:"died"`         // by reason
	Letters uint64               `json:"letters"`      // dead letters that came in
	StepSec int64                `json:"step_seconds"` // between two of Times, but for the last
	Times   List[int64]          `json:"times"`        // when steps ended, ms since the Unix epoch, oldest first
	ByStep  Object[List[uint64]] `json:"by_step"`      // what died in each of them, by reason, and letters
}

// A LetterQueue is a queue that dead letters of other queues come to.
type LetterQueue struct {
	Name      string   `json:"name"`
	Messages  int64    `json:"messages"`
	Bytes     int64    `json:"bytes"`
	Consumers int      `json:"consumers"`
	Arrivals  uint64   `json:"arrivals"` // letters that came
	OldestSec *float64 `json:"oldest_seconds"`
}

// Resent answers PostResend.
type Resent struct {
	// redriven; of a dry run that, or why it would stay: no_exchange, no_route, refused, no_queue, busy
	Outcome    string       `json:"outcome"`
	Queues     List[string] `json:"queues"`      // where it went; of a dry run where it would go
	EditedFrom string       `json:"edited_from"` // the header x-edited-from of the new message
}

// An Exported is a line of GET /api/x/letters/{vhost}/export?queue=|lost=true&filter=&order=, and of what POST
// /api/x/letters/{vhost}/import?queue=|exchange=[&routing_key=]|origin=true takes. An import needs PropertiesRaw or
// Properties, and Payload.
type Exported struct {
	Letter
	// base64 of them as AMQP writes them, with the types that JSON does not know
	PropertiesRaw string `json:"properties_raw,omitempty"`
}

// Imported answers an import.
type Imported struct {
	Read     int64           `json:"read"`     // lines
	Imported int64           `json:"imported"` // messages that queues took
	Skipped  int64           `json:"skipped"`  // with once=true: the queue has them already
	Unrouted int64           `json:"unrouted"` // led to no queue: they are gone
	Refused  int64           `json:"refused"`  // by a queue that is full
	Failed   int64           `json:"failed"`   // lines that were not taken
	Wrong    List[WrongLine] `json:"wrong"`    // the first of these
}

// A WrongLine is one that was not imported.
type WrongLine struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}

// ExportTrailer is the trailer of an export: how many letters it has. Without it the export is not complete.
const ExportTrailer = "X-Letters"
