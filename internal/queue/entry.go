package queue

import (
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Seq is the place of a message in its queue: the priority lane in the top 8 bits, below it the number of
// the message in that lane, from 0 without gaps. A Seq is never used twice in a queue.
type Seq uint64

const laneShift = 56

func seqOf(lane int, n uint64) Seq { return Seq(uint64(lane)<<laneShift | n) }

func (s Seq) lane() int { return int(s >> laneShift) }

// chunk is the first Seq of the chunk that s belongs to.
func (s Seq) chunk() Seq { return s &^ (chunkLen - 1) }

func (s Seq) n() uint64 { return uint64(s) & (1<<laneShift - 1) }

// State tells where a copy is. Source: ours, ARCHITECTURE.md#invariants.
type State uint8

// The states of an entry.
const (
	Gone    State = iota
	Ready         // may be delivered now
	Unacked       // with a consumer, or taken by a get
	Waiting       // for an instant: a returned message whose retry is delayed
	Held          // a dead letter that its targets cannot take yet
	states
)

// Flags of an entry. Their numbers, and those of states, are on disk.
type Flags uint8

const (
	// Persistent marks a copy that is in the log: a persistent message in a durable queue.
	Persistent Flags = 1 << iota
	// Volatile says that the record lies in the machine's memory, not in the log.
	Volatile
	// Redelivered marks a message that was handed over before. Source: AMQP basic.deliver redelivered.
	Redelivered
	// Moved says that the copy was enqueued in a later batch than the one that holds its record.
	Moved
	// Handed marks a message that was with a consumer when the log ended: it comes back, and that counts.
	Handed
	// HasHistory marks a message with a history, which its Side names: it died, or was redriven.
	HasHistory
	// ReportsFailure marks a message whose headers tell of a failure: a client has published it where failures go.
	ReportsFailure
	// AtWork marks a message that a redrive has returned to where it is worked on.
	AtWork
)

// DeadLetter reports whether a message of a queue is a dead letter: it died, or its headers report a failure, and no
// redrive has returned it to work since then.
func (f Flags) DeadLetter() bool { return f&(HasHistory|ReportsFailure) != 0 && f&AtWork == 0 }

// Entry is one copy of a message. It holds no pointer, so that the garbage collector never walks messages.
type Entry struct {
	Index     storage.Index    // of the record
	Offset    uint32           // of the record
	Size      uint32           // of the record, bytes
	ExpireAt  deadline.Instant // absolute, 0 = never
	BodyBytes uint32           // what max-length-bytes counts
	Flags     Flags
	State     State
	Priority  uint8
	Address   uint8 // a number of where the message was published to, 0 if it has none; it is not in pages
}

// Ref names the entry's record; log is the vhost's own.
func (e *Entry) Ref(log storage.LogID) storage.Ref {
	if e.Flags&Volatile != 0 {
		log = storage.Volatile
	}
	return storage.Ref{Log: log, Index: e.Index, Offset: e.Offset, Size: e.Size}
}

// Side is what only some entries have.
type Side struct {
	History  storage.Ref      // of a dead letter
	Acquired uint32           // returns so far, of any kind. Source: RabbitMQ quorum-queues, acquired count
	Failed   uint32           // failed returns so far. Source: RabbitMQ quorum-queues, delivery count
	Until    deadline.Instant // of a waiting message
	Arrived  deadline.Instant // wall clock: when it came as a dead letter without a death; 0: not noted
}

// Return counts one return.
func (s *Side) Return(failed bool) {
	s.Acquired++
	if failed {
		s.Failed++
	}
}
