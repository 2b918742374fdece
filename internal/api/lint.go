package api

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

// A Lint answers GET /api/x/lint and GET /api/x/lint/{vhost}: what will lose, delay or circulate messages, the worst
// first.
type Lint struct {
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Partial  bool          `json:"partial"` // there are more findings than are listed, which the counts tell
	Findings List[Finding] `json:"findings"`
}

// Paths answers GET /api/x/paths/{vhost}/{queue}: where a message of a queue goes, whatever happens to it.
type Paths struct {
	VHost    string          `json:"vhost"`
	Queue    string          `json:"queue"`
	Role     string          `json:"role"` // as in a TopologyQueue
	Paths    List[EventPath] `json:"paths"`
	Findings List[Finding]   `json:"findings"` // about the queues and exchanges on the way
}

// An EventPath is what follows on one event.
type EventPath struct {
	// reject, expire, overflow, delivery_limit, consumer_timeout, crash, target_missing
	Event   string         `json:"event"`
	Happens bool           `json:"happens"` // it can, as the queue is set
	Code    string         `json:"code"`    // a word for when it does
	When    string         `json:"when"`    // in English; Params let a console say it in another language
	Params  Object[string] `json:"params"`
	Steps   List[PathStep] `json:"steps"`
}

// A PathStep is one thing that happens to a message or a copy of it.
type PathStep struct {
	Number    int            `json:"number"`    // from 1
	After     int            `json:"after"`     // the step that it follows, 0: the event
	Queue     string         `json:"queue"`     // where the message is
	Reason    string         `json:"reason"`    // why it leaves: rejected, expired, maxlen, delivery_limit; "" if it stays
	Exchange  *string        `json:"exchange"`  // through which it goes, "" being the default one; null: none
	Keys      List[string]   `json:"keys"`      // with these; those known beforehand
	OwnKeys   bool           `json:"own_keys"`  // with those that it has
	Queues    List[string]   `json:"queues"`    // into these
	Sure      bool           `json:"sure"`      // false: it depends on the message, or on what it meets
	Code      string         `json:"code"`      // a word for what happens, see docs
	Guarantee string         `json:"guarantee"` // kept, moved, held, shelf, lost, refused: what becomes of it, see docs
	Loop      bool           `json:"loop"`      // it comes to a queue that it was in
	DeadEnd   bool           `json:"dead_end"`  // nothing takes it on from here
	Full      List[string]   `json:"full"`      // of Queues, those that have no space now
	Text      string         `json:"text"`      // in English
	Params    Object[string] `json:"params"`
}
