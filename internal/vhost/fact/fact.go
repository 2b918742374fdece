package fact

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// ConnID names a connection for the life of the process, JobID a job of its virtual host, from 1; QueueID names a queue
// forever.
type (
	ConnID  uint64
	JobID   uint64
	QueueID = topology.QueueID
)

// Kind says what has become true.
type Kind uint8

// The facts. Each lists its fields besides Kind and Durable. The numbers are on disk: they never change meaning.
const (
	// ExchangeDeclared: Object. ExchangeDeleted: Object.Name; its bindings go with it.
	ExchangeDeclared Kind = 1
	ExchangeDeleted  Kind = 2
	// QueueDeclared: Queue, Object; Owner if exclusive. QueueDeleted: Queue; its bindings and messages go with it.
	QueueDeclared Kind = 3
	QueueDeleted  Kind = 4
	// Bound and Unbound: Object as a binding.
	Bound   Kind = 5
	Unbound Kind = 6
	// PolicySet and PolicyCleared: Policy.
	PolicySet     Kind = 7
	PolicyCleared Kind = 8
	// Stored: Bytes, a record; in the log they lie where Ref says.
	Stored Kind = 9
	// Remembered: Bytes, the history of a dead letter.
	Remembered Kind = 10
	// Enqueued: Queue, Seq, Entry, History, At. A copy is made; it waits until At if that is not zero.
	Enqueued Kind = 11
	// Handed: Queue, Seq, N. Messages went to consumers; a lazy fact, written with the next batch.
	Handed Kind = 12
	// Returned: Queue, Seq, Failed, At. An unacked message is ready again, or waits until At if that is not zero;
	// one return more on its account.
	Returned Kind = 13
	// Ended: Queue, Seq, N, Cause. The copies from Seq on are no more.
	Ended Kind = 14
	// Counted: Books so far; only in snapshots.
	Counted Kind = 15
	// Skipped: Queue, Seq. The numbers before Seq in its lane were used; only in snapshots.
	Skipped Kind = 16
	// Resumed: Queue, Seq. A message that waited is ready again.
	Resumed Kind = 17
	// Held: Queue, Seq, Cause, History, Took. A dead letter stays in its queue for the targets that cannot take it;
	// those in Took have it.
	Held Kind = 18
	// Kept: Queue, Seq. The copy stays where it is and has no deadline any more.
	Kept Kind = 19
	// Tallied: Queue, Seq, N. The failed ones of a message's returns so far; only in snapshots.
	Tallied Kind = 20
	// Configured: Object.Arguments, all options of the vhost.
	Configured Kind = 21
	// Noted: Object.Name, Entry (where the record lies), History. An exchange with a recent history keeps a message.
	Noted Kind = 22
	// Paged: Queue, Seq, Bytes. A chunk of messages as queue.Restore wants it; only in checkpoints.
	Paged Kind = 23
	// PendingFree: Bytes. A chunk that was taken off, as queue.Rebury wants it; only in checkpoints.
	PendingFree Kind = 24
	// HeldNoted: Queue, Seq, Cause, Took. What is known of a held dead letter beside its page; only in
	// checkpoints.
	HeldNoted Kind = 25
	// Used: Use, Index. Which bytes of the log up to a batch are referred to; only in checkpoints.
	Used Kind = 26
	// Deferred: Queue, Seq, At. What waits waits until another instant. If it was never delivered and expires, it does
	// so that much later or earlier.
	Deferred Kind = 27
	// Cancellations: Queue, Seq, Bytes. What a schedule remembers of cancellations; only in checkpoints.
	Cancellations Kind = 28
	// Keyed: Queue, Seq, N. A scheduled message has a key with that hash.
	Keyed Kind = 29
	// JobBegun: N, Bytes. A job with that number, as appendJobSpec and appendProgress have it.
	JobBegun Kind = 30
	// JobProgressed: N, Bytes. How far a job has come, as appendProgress has it, without bounds.
	JobProgressed Kind = 31
	// JobForgotten: N. A job that has ended is not remembered any more; no other gets its number, or one before it.
	JobForgotten Kind = 32
	// TxStaged: N, Bytes. The next step of transaction N, which is not committed yet, as appendStep has it.
	TxStaged Kind = 33
	// TxCommitted: N. All steps of the transaction will be done.
	TxCommitted Kind = 34
	// TxApplied: N, Seq. So many steps more of the transaction are done; with the last it is forgotten.
	TxApplied Kind = 35
	// TxDropped: N. The transaction was not committed, and will not be.
	TxDropped Kind = 36
	// TxReached: N, Seq. So many queues more have the message of the transaction's first step.
	TxReached Kind = 37
	// Ruled: Queue, N. What policies and options say is in force on the queues with numbers up to Queue; N is 1 if it
	// is not yet on those behind. The first, with Queue 0 and N 1, comes before the change: without it a change is in
	// force at once.
	Ruled Kind = 38
	// Orphaned: N, Object.Name. N is 1: of the auto-delete exchanges that have lost their last binding since this
	// batch began some are still to be deleted; in checkpoints one by its name, else without a name. 0: none is.
	Orphaned Kind = 39
	// Matched: Queue, or Object.Name of an exchange; Policy.Name, Policy.Operator. This policy is the one that applies
	// to it; only in checkpoints. One without a name of a policy comes first: it says that what none is named for has
	// none.
	Matched Kind = 40
	// EnqueuedAtWork: as Enqueued, of a message that a redrive has returned to where it is worked on.
	// Only bytes have it: a Fact is Enqueued, and its Entry has the flag.
	EnqueuedAtWork Kind = 41
	// Arrived: Queue, Seq, At. When a copy came as a dead letter without a death, by the wall
	// clock; after its Enqueued.
	Arrived Kind = 42
	// PutOff: Queue, Seq, Failed. A copy that was to become a dead letter stays, with nobody, until there is space.
	// Never in the log.
	PutOff Kind = 255
)

// Defines reports whether a fact of a kind changes what is declared.
func (k Kind) Defines() bool {
	return k <= PolicyCleared || k == Configured || k == Noted || k == Cancellations || k == Keyed || k == Matched
}

// ForCheckpoints reports whether facts of a kind are in checkpoints alone.
func (k Kind) ForCheckpoints() bool {
	return k >= Paged && k <= Used || k == Cancellations || k == Matched
}

// Fact is one thing that is true from now on. Byte slices alias the batch or the command.
type Fact struct {
	Kind    Kind
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
	Policy  *settings.Policy
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
	LostRefused  Cause = 12 // a dead letter that its target had no space for
	LostHops     Cause = 13 // a dead letter that went through too many queues at one moment, or multiplied too often
	GoneEvicted  Cause = 14 // a lost letter that the lost store had no space or time for any more
	Redriven     Cause = 15 // a lost letter that was sent on
	Damaged      Cause = 16 // the disk has lost it: a repair has given it up
	Fired        Cause = 17 // a scheduled message that came due and went on into queues
	Unscheduled  Cause = 18 // cancelled while it waited, on a schedule or in a queue for its delivery time
	Discarded    Cause = 19 // a message that somebody did not want any more
	Causes             = 20
)

// String names the cause as metrics and lists show it.
func (c Cause) String() string {
	return [Causes]string{"", "acked", "moved", "rejected", "expired", "maxlen", "delivery_limit", "purged", "deleted",
		"no_exchange", "no_route", "cycle", "refused", "hops", "shelf", "redriven", "damaged", "fired", "cancelled", "discarded"}[c]
}

// WithoutDLX is the cause of a death that nobody wants to hear of.
func (r Reason) WithoutDLX() Cause {
	return [Reasons]Cause{0, GoneRejected, GoneExpired, GoneMaxLen, GoneLimit, GoneRejected}[r]
}

// Books counts copies: Made = sum of Ended + those in queues, always. Source: ours, ARCHITECTURE.md#invariants.
type Books struct {
	Made  uint64
	Ended [Causes]uint64
}

// Total is the sum of all that ended.
func (b *Books) Total() uint64 {
	var n uint64
	for _, c := range b.Ended {
		n += c
	}
	return n
}
