package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Stamp is all a decision may know of the world outside the vhost.
type Stamp struct {
	// vhost time, ms since the Unix epoch, rounded down: what is due is tested against it; never steps back
	Now     deadline.Instant
	From    deadline.Instant // the same moment rounded up: relative deadlines count from it
	Wall    deadline.Instant // the wall clock: only for instants that clients name, and x-death's time
	Index   storage.Index    // of the batch that these facts will be in
	Entropy uint64           // fresh bits: generated names
	Rights  Rights           // of the users of jobs; nil: they may do everything
}

// at is when in vhost time a client's instant is: exactly, where both are the same, and else not before it.
func (s *Stamp) at(wall deadline.Instant) deadline.Instant {
	if s.Now == s.Wall {
		return wall
	}
	return s.From + wall - s.Wall
}

// FactKind says what has become true.
type FactKind uint8

// The facts. Each lists its fields besides Kind and Durable. The numbers are on disk: they never change meaning.
const (
	// ExchangeDeclared: Object. ExchangeDeleted: Object.Name; its bindings go with it.
	ExchangeDeclared FactKind = 1
	ExchangeDeleted  FactKind = 2
	// QueueDeclared: Queue, Object; Owner if exclusive. QueueDeleted: Queue; its bindings and messages go with it.
	QueueDeclared FactKind = 3
	QueueDeleted  FactKind = 4
	// Bound and Unbound: Object as a binding.
	Bound   FactKind = 5
	Unbound FactKind = 6
	// PolicySet and PolicyCleared: Policy.
	PolicySet     FactKind = 7
	PolicyCleared FactKind = 8
	// Stored: Bytes, a record; in the log they lie where Ref says.
	Stored FactKind = 9
	// Remembered: Bytes, the history of a dead letter.
	Remembered FactKind = 10
	// Enqueued: Queue, Seq, Entry, History, At. A copy is made; it waits until At if that is not zero.
	Enqueued FactKind = 11
	// Handed: Queue, Seq, N. Messages went to consumers; a lazy fact, written with the next batch.
	Handed FactKind = 12
	// Returned: Queue, Seq, Failed, At. An unacked message is ready again, or waits until At if that is not zero;
	// one return more on its account.
	Returned FactKind = 13
	// Ended: Queue, Seq, N, Cause. The copies from Seq on are no more.
	Ended FactKind = 14
	// Counted: Books so far; only in snapshots.
	Counted FactKind = 15
	// Skipped: Queue, Seq. The numbers before Seq in its lane were used; only in snapshots.
	Skipped FactKind = 16
	// Resumed: Queue, Seq. A message that waited is ready again.
	Resumed FactKind = 17
	// Held: Queue, Seq, Cause, History, Took. A dead letter stays in its queue for the targets that cannot take it;
	// those in Took have it.
	Held FactKind = 18
	// Kept: Queue, Seq. The copy stays where it is and has no deadline any more.
	Kept FactKind = 19
	// Tallied: Queue, Seq, N. The failed ones of a message's returns so far; only in snapshots.
	Tallied FactKind = 20
	// Configured: Object.Arguments, all options of the vhost.
	Configured FactKind = 21
	// Noted: Object.Name, Entry (where the record lies), History. An exchange with a recent history keeps a message.
	Noted FactKind = 22
	// Paged: Queue, Seq, Bytes. A chunk of messages as queue.Restore wants it; only in checkpoints.
	Paged FactKind = 23
	// PendingFree: Bytes. A chunk that was taken off, as queue.Rebury wants it; only in checkpoints.
	PendingFree FactKind = 24
	// HeldNoted: Queue, Seq, Cause, Took. What is known of a held letter beside its page; only in checkpoints.
	HeldNoted FactKind = 25
	// Used: Use, Index. Which bytes of the log up to a batch are referred to; only in checkpoints.
	Used FactKind = 26
	// Deferred: Queue, Seq, At. What waits waits until another instant.
	Deferred FactKind = 27
	// Cancellations: Queue, Seq, Bytes. What a schedule remembers of cancellations; only in checkpoints.
	Cancellations FactKind = 28
	// Keyed: Queue, Seq, N. A scheduled message has a key with that hash.
	Keyed FactKind = 29
	// JobBegun: N, Bytes. A job with that number, as appendJobSpec and appendProgress have it.
	JobBegun FactKind = 30
	// JobProgressed: N, Bytes. How far a job has come, as appendProgress has it, without bounds.
	JobProgressed FactKind = 31
	// JobForgotten: N. A job that has ended is not remembered any more; no other gets its number, or one before it.
	JobForgotten FactKind = 32
	// TxStaged: N, Bytes. The next step of transaction N, which is not committed yet, as appendStep has it.
	TxStaged FactKind = 33
	// TxCommitted: N. All steps of the transaction will be done.
	TxCommitted FactKind = 34
	// TxApplied: N, Seq. So many steps more of the transaction are done; with the last it is forgotten.
	TxApplied FactKind = 35
	// TxDropped: N. The transaction was not committed, and will not be.
	TxDropped FactKind = 36
	// TxReached: N, Seq. So many queues more have the message of the transaction's first step.
	TxReached FactKind = 37
	// Ruled: Queue, N. What policies and options say is in force on the queues with numbers up to Queue; N is 1 if it
	// is not yet on those behind. The first, with Queue 0 and N 1, comes before the change: without it a change is in
	// force at once.
	Ruled FactKind = 38
	// Orphaned: N, Object.Name. N is 1: of the auto-delete exchanges that have lost their last binding since this
	// batch began some are still to be deleted; in checkpoints one by its name, else without a name. 0: none is.
	Orphaned FactKind = 39
	// Matched: Queue, or Object.Name of an exchange; Policy.Name, Policy.Operator. This policy is the one that applies
	// to it; only in checkpoints. One without a name of a policy comes first: it says that what none is named for has
	// none.
	Matched FactKind = 40
	// PutOff: Queue, Seq, Failed. A copy that was to become a dead letter stays, with nobody, until there is room.
	// Never in the log.
	PutOff FactKind = 255
)

// forCheckpoints reports whether facts of a kind are in checkpoints alone.
func (k FactKind) forCheckpoints() bool {
	return k >= Paged && k <= Used || k == Cancellations || k == Matched
}

// Fact is one thing that is true from now on. Byte slices alias the batch or the command.
type Fact struct {
	Kind    FactKind
	Durable bool // enters the log
	Failed  bool
	Cause   Cause
	Queue   QueueID
	Seq     queue.Seq
	N       uint64
	Entry   queue.Entry
	History storage.Ref
	At      deadline.Instant
	Took    []QueueID
	Owner   ConnID
	Bytes   []byte
	Object  *Object
	Policy  *Policy
	Books   *Books
	Use     []storage.UseRange
	Index   storage.Index
}

// Object is an exchange, a queue or a binding as declared.
type Object struct {
	Name       string
	Type       string // of an exchange; of a queue: "classic" or "quorum"
	Source     string // of a binding
	RoutingKey string // of a binding
	ToExchange bool   // the binding's destination is an exchange
	Durable    bool
	AutoDelete bool
	Exclusive  bool
	Internal   bool
	Arguments  amqp.Table
}

// Cause says how a copy ended. Source: ours, ARCHITECTURE.md#invariants.
type Cause uint8

// The causes. The numbers are on disk.
const (
	Acked        Cause = 1  // settled by a consumer, or handed over without acks
	Moved        Cause = 2  // a dead letter that went on into other queues
	GoneRejected Cause = 3  // died, and its queue has no dead-letter exchange
	GoneExpired  Cause = 4  // likewise
	GoneMaxLen   Cause = 5  // likewise
	GoneLimit    Cause = 6  // likewise
	GonePurged   Cause = 7  // queue.purge
	GoneDeleted  Cause = 8  // its queue was deleted
	LostExchange Cause = 9  // a dead letter whose dead-letter exchange does not exist
	LostRoute    Cause = 10 // a dead letter that its exchange routes nowhere
	LostCycle    Cause = 11 // a dead letter that would come to the same queue again without a rejection
	LostRefused  Cause = 12 // a dead letter that its target had no room for
	LostHops     Cause = 13 // a dead letter that went through too many queues at one moment, or multiplied too often
	GoneShelf    Cause = 14 // a lost letter that the lost store had no room or time for any more
	Redriven     Cause = 15 // a lost letter that was sent on
	Damaged      Cause = 16 // the disk has lost it: a repair has given it up
	Fired        Cause = 17 // a scheduled message that came due and went on into queues
	Unscheduled  Cause = 18 // a scheduled message that was cancelled
	Discarded    Cause = 19 // a message that somebody did not want any more
	causes             = 20
)

// String names the cause as metrics and lists show it.
func (c Cause) String() string {
	return [causes]string{"", "acked", "moved", "rejected", "expired", "maxlen", "delivery_limit", "purged", "deleted",
		"no_exchange", "no_route", "cycle", "refused", "hops", "shelf", "redriven", "damaged", "fired", "cancelled", "discarded"}[c]
}

// withoutDLX is the cause of a death that nobody wants to hear of.
func (r Reason) withoutDLX() Cause {
	return [reasons]Cause{0, GoneRejected, GoneExpired, GoneMaxLen, GoneLimit, GoneRejected}[r]
}

// Books counts copies: Made = sum of Ended + those in queues, always. Source: ours, ARCHITECTURE.md#invariants.
type Books struct {
	Made  uint64
	Ended [causes]uint64
}

// Total is the sum of all that ended.
func (b *Books) Total() uint64 {
	var n uint64
	for _, c := range b.Ended {
		n += c
	}
	return n
}
