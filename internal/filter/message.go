package filter

// A Message is what is asked of a message, wherever it is. All of it is lent for the call.
type Message struct {
	ID    uint64 // names it where it is
	State string // ready, unacked, waiting, held, lost, scheduled
	Cause string // of a lost letter or held dead letter: no_exchange, no_route, cycle, refused, hops, delivery_limit, discarded; else ""
	Queue string // where it is now; "" for a lost letter
	Size  int64  // of the body, bytes

	// What Deaths stands for.
	Reason      string   // of the newest death, whatever the dialect: rejected, expired, maxlen, delivery_limit; "" without one
	FirstReason string   // of the first death, likewise
	Source      string   // the queue of the first death
	LastQueue   string   // the queue of the newest death
	Exchange    string   // of the first publish, as the oldest death tells, else its own
	Keys        []string // the routing keys of the first publish, likewise, CC among them
	Count       int64    // deaths in all
	At          int64    // ms since the Unix epoch: of the newest death, or else since when a lost letter is here; 0: unknown
	Redrives    int64    // how often it was sent back
	CameBack    int64    // the job that had sent it back when it died again; 0: none had
	Target      string   // of a lost letter: the queue that refused it, or from which it was discarded; else ""
	LostAt      int64    // ms since the Unix epoch: since when a lost letter is one; else 0

	Properties []byte // the basic properties as on the wire: flags, then the list
	Body       []byte // the payload, or as much of it as there is
}

// Need tells which parts of a Message must be there for an answer. What is not named here always is.
type Need uint8

// The parts of a Message that cost something to come by.
const (
	Deaths     Need = 1 << iota // Reason, FirstReason, Source, LastQueue, Exchange, Keys, Count, At, Redrives, CameBack, Target, LostAt
	Properties                  // Properties
	Body                        // Body
)
