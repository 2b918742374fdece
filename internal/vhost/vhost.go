package vhost

import (
	"fmt"
	"math"
	"slices"
	"weak"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// VHost is one virtual host. See the package comment.
type VHost struct {
	name    string
	log     storage.LogID
	records storage.Records

	// Applied by Apply.
	topo            *topology.Topology
	exchanges       []*topology.Exchange // in the order of their declaration; some may be deleted
	ruledBy         map[string]string    // the policies that apply to exchanges, by exchange
	queues          map[fact.QueueID]*queueState
	queueMax        fact.QueueID  // the greatest ever given
	queueLogged     fact.QueueID  // the greatest that the log has, of a queue that may be gone
	ordered         []*queueState // queues by number; a deleted one keeps its place only
	dropped         uint64        // queues deleted since the vhost was opened
	keyCount        int           // messages that wait under keys, at most keysMax
	keysMax         int
	schedules       map[string]*queueState // of delayed exchanges, by name; they are among the queues
	lost            *queueState
	lostBy          [fact.Causes]uint64 // lost letters
	shares          shares              // likewise, by the queues that they are from
	options         Options
	optionTable     amqp.Table  // as set
	shared          []*Settings // that queues have, the newest first: what the next queue has is mostly among them
	policies        settings.Policies
	ruleChanges     uint64       // of policies and options
	unresolved      bool         // a checkpoint is being applied: effective settings follow from all of its policies,
	allMatched      bool         // which it names where they apply
	interrupt       func() error // asked while facts are applied; nil: nobody interrupts
	ruling          ruling       // a change of them that is in force on some queues
	orphans         orphans
	volatile        volatileStore
	use             storage.Use // of the log: records that persistent copies refer to,
	borrowed        storage.Use // and those that other copies do, which a restart forgets
	pool            *queue.Pool
	pendingFree     []queue.PendingFree // what was taken off in whole, and has records that are not given back
	deletedMessages []*queue.Messages   // of queues that are deleted: likewise, of whole queues
	freeing         bool                // in the set: what is pending free are looked after
	recents         map[string]*recent  // by exchange
	books           fact.Books          // all copies since the vhost was opened, and the durable ones before
	durable         fact.Books          // persistent copies in durable queues
	logged          deadline.Instant    // time of the newest batch applied or made
	repoliced       []repoliced         // by the last change of policies or options, until that is in force

	// deadlines and chunks follow from that state: messages and queues that expire, what waits, and work left
	// over.
	deadlines deadline.Set
	near      int          // messages that are in it by themselves
	chunks    deadline.Set // of messages, each with the earliest deadline of those that are not
	addressed int          // addresses that queues have numbered

	cramped   bool          // there is no space for dead letters to move
	lowMemory bool          // there is no memory for further held dead letters
	unpaused  []*queueState // that may go on although it is
	off       []task        // copies that were to die meanwhile, in order
	grownMax  int           // ready messages of a queue that is not overgrown
	offMax    int           // how many a queue may have before it hands over nothing, while memory is short
	late      []lateChunk   // of what was due meanwhile, in order
	isLate    map[lateChunk]bool

	txs []*stagedTx // transactions that are committed in portions, by number

	saving   *checkpoint       // in the making, nil if none is
	unstored *queue.Checkpoint // ended by EndCheckpoint, CheckpointStored was not called yet
	marker   *queue.Marker     // nil: nothing is marked

	extra      int64 // that the tables of what is declared take, see extraOf
	queueBytes int64 // that the queues take, see queueState.bytes

	// Connected.
	conns       map[fact.ConnID]*conn
	channels    map[ChannelID]*channel
	handedAt    deadline.Instant // in the set: when lazy facts are written at the latest, 0: none wait
	ongoing     []ongoing        // commands that ticks go on with, in order
	ongoingAt   deadline.Instant // in the set, if there are some
	backlog     []task           // settlements that ticks have yet to make, from backlogNext on
	backlogNext int
	uncommitted ConnBytes
	subscribed  ConnBytes
	repliers    map[string]*channel // that take direct replies, by the name that reaches them
	replied     int64               // bytes of direct replies on their way, of all connections
	replying    int                 // connections to which many of them are
	last        *channel            // of the newest command, spared a look-up

	holding holding
	wide    []deadLetterAt   // held dead letters that are on their way to very many queues, in order
	wideAt  deadline.Instant // in the set: the next portion, 0: none is
	jobs    jobs
	gone    map[string]*QueueStats // what queues that are no more had counted, by type

	samplings []weak.Pointer[Sampling] // that have not ended; they are their callers'

	lateness Lateness
	traffic  Traffic
	flows    map[string]*flow // of the exchanges that were published to

	// Working memory of Step.
	dirty     []dirtyQueue
	route     []fact.QueueID
	dueRoute  []fact.QueueID
	targets   []*queueState
	work      int           // about how many bytes this step has made,
	stepMax   int           // and may make
	headBytes int           // of a record that are read for its head at first
	drainMax  int           // how many it may have made before queues that are over their limits have to wait
	readAt    storage.Index // the batch that a record was read from last
	draining  bool          // the command is decided, and what it left undone is done
	moves     int           // copies that dead letters have become since then
	hops      int           // dead letters lost in this step because there were too many of those
	losses    []Loss        // that nobody has taken
	overgrown fact.QueueID  // see Overgrown
	draws     uint64        // drawn so far
	batch     []byte        // the batch in the making, where the newest records lie
	index     storage.Index
}

// queueState is a queue with all that the vhost knows of it.
type queueState struct {
	id        fact.QueueID
	object    fact.Object
	owner     fact.ConnID // of an exclusive queue
	quorum    bool
	ranked    bool // it has the priorities of a quorum queue that asks for none
	messages  *queue.Messages
	consumers queue.Consumers
	settings  *Settings // shared with queues that have equal ones: it is replaced, never changed
	policy    string    // names, "" if none
	operator  string

	near            int32            // its messages that are in the set by themselves
	armed           deadline.Instant // where only the head may expire: its deadline in the set, 0 if none
	expires         deadline.Instant // deadline in the set for the queue itself, 0 if none
	lastMoved       storage.Index    // newest batch that moved a message here
	answered        storage.Index    // newest batch that an answer here tells of, 0: none does
	consumed        bool             // had a consumer: auto-delete may strike
	zero            []queue.Seq      // enqueued with TTL 0 in this step: handed over in it, or expired
	dirty           bool
	off             int32            // of VHost.off
	excess          deadline.Instant // in the set: over its limit, what is left goes with the next tick; 0: it is not
	again           deadline.Instant // in the set: the next tick looks at it, 0: it need not
	deleted         bool
	leaving         bool // it is about to be deleted: its name is free
	held            map[queue.Seq]heldInfo
	heldBy          [fact.Causes]int32 // held dead letters
	deadLetterRoute *deadLetterRoute   // of them; nil: none was held so far
	flow            QueueFlow
	fates           *QueueFates // nil: it has counted none
	inflows         []*inflow
	schedule        *schedule  // nil: it is not one
	addresses       *addresses // nil: none has a number
}

type dirtyQueue struct {
	queue *queueState
	depth int // hops that led here within this step
}

// New returns an empty vhost, as it is before any fact was applied, with the predeclared exchanges. log is
// its logical log; records finds what was stored there, and pages keeps what is cold.
func New(name string, log storage.LogID, records storage.Records, pages storage.Pages) *VHost {
	v := &VHost{
		name: name, log: log, records: records,
		topo: topology.New(), ruledBy: map[string]string{},
		queues: map[fact.QueueID]*queueState{}, schedules: map[string]*queueState{},
		policies: settings.NewPolicies(),
		conns:    map[fact.ConnID]*conn{},
		channels: map[ChannelID]*channel{},
		repliers: map[string]*channel{},
		flows:    map[string]*flow{},
		stepMax:  stepBytesMax, headBytes: HeadBytes, keysMax: scheduleKeysMax, offMax: putOffMax,
		grownMax: overgrownMessages,
	}
	v.pool = queue.NewPool(pages, log, hotEntriesMax, v.disarmed)
	v.lost, v.options = newLostStore(v.pool), settings.OptionsOf(nil)
	v.lost.settings.MaxLengthBytes = v.options.LostLettersMaxBytes
	v.recents = map[string]*recent{}
	v.holding.blocked = map[fact.QueueID][]deadLetterAt{}
	v.volatile = newVolatileStore(pages)
	v.exchanges = append(v.exchanges, v.topo.Exchange(""))
	for _, x := range topology.Predeclared() {
		v.addExchange(x)
	}
	return v
}

// Logged is the time of the newest batch: vhost time never goes below it.
func (v *VHost) Logged() deadline.Instant { return v.logged }

// Due reports when the next Tick command is worth sending.
func (v *VHost) Due() (at deadline.Instant, ok bool) {
	d, ok := v.Front()
	return d.At, ok
}

// trim keeps the memory of entries within its bounds.
func (v *VHost) trim() {
	due, ok := v.Due()
	if !ok {
		due = math.MaxInt64
	}
	v.pool.Trim(due)
}

// retain counts a reference to a record or a history, by a copy that is in the log or not.
func (v *VHost) retain(r storage.Ref, durable bool) {
	switch {
	case r.IsZero():
	case r.Log == storage.Volatile:
		v.volatile.retain(r.Index)
	default:
		v.usedBy(durable).Retain(r)
		if v.marker != nil {
			v.marker.Note(r)
		}
	}
}

func (v *VHost) release(r storage.Ref, durable bool) {
	switch {
	case r.IsZero():
	case r.Log == storage.Volatile:
		v.volatile.release(r.Index)
	default:
		v.usedBy(durable).Release(r)
	}
}

// releaseCopy takes back what a copy refers to: its record, and its history if it is a dead letter.
func (v *VHost) releaseCopy(e *queue.Entry, history storage.Ref) {
	durable := e.Flags&queue.Persistent != 0
	v.release(e.Ref(v.log), durable)
	if e.Flags&queue.HasHistory != 0 {
		v.release(history, durable)
	}
}

func (v *VHost) usedBy(durable bool) *storage.Use {
	if durable {
		return &v.use
	}
	return &v.borrowed
}

func (v *VHost) queueNamed(name string) *queueState {
	id, ok := v.topo.Queue(name)
	if !ok {
		return nil
	}
	if q := v.queues[id]; !q.leaving {
		return q
	}
	return nil
}

// markDirty puts q on the list of queues to be looked at before the step ends.
func (v *VHost) markDirty(q *queueState, depth int) {
	if !q.dirty {
		q.dirty = true
		v.dirty = append(v.dirty, dirtyQueue{q, depth})
	}
}

// Check reports the first invariant that does not hold. Source: the package comment.
func (v *VHost) Check() error {
	var held uint64
	for _, q := range append(v.sortedQueues(), v.lost) {
		if err := q.check(); err != nil {
			return fmt.Errorf("vhost: queue %q: %w", q.object.Name, err)
		}
		if err := v.checkDue(q); err != nil {
			return fmt.Errorf("vhost: queue %q: %w", q.object.Name, err)
		}
		for _, s := range [...]queue.State{queue.Ready, queue.Unacked, queue.Waiting, queue.Held} {
			held += uint64(q.messages.Count(s))
		}
	}
	if v.books.Made != v.books.Total()+held {
		return fmt.Errorf("vhost: books: made %d, ended %d, in queues %d", v.books.Made, v.books.Total(), held)
	}
	if err := v.shares.check(v.lost.messages); err != nil {
		return err
	}
	if err := v.checkReplies(); err != nil {
		return err
	}
	if err := v.checkTables(); err != nil {
		return err
	}
	return v.checkConnected()
}

// check reports the first invariant of a queue that does not hold.
func (q *queueState) check() error {
	n := 0
	for _, k := range q.heldBy {
		n += int(k)
	}
	if held := q.messages.Count(queue.Held); len(q.held) != held || n != held {
		return fmt.Errorf("%d dead letters are held, %d known, %d counted by cause", held, len(q.held), n)
	}
	return q.messages.Check()
}

// checkDue reports the first message of q whose chunk is not armed for it in time.
func (v *VHost) checkDue(q *queueState) error {
	armed := map[queue.Seq]deadline.Instant{}
	q.messages.Armed(func(chunk queue.Seq, at deadline.Instant) { armed[chunk] = at })
	var err error
	q.messages.Each(0, func(s queue.Seq, e *queue.Entry) bool {
		side := q.messages.Side(s)
		at, due := armed[s&^(queue.ChunkLen-1)], v.dueAt(q, e, &side)
		if e.Flags&queue.Handed != 0 { // it comes back when the restart is over
			return true
		}
		if due != 0 && (at == 0 || at > due) && !slices.Contains(q.zero, s) {
			err = fmt.Errorf("message %d is due at %d, its chunk at %d", s, due, at)
		}
		return err == nil
	})
	return err
}

// Topology lends the exchanges and bindings for reading.
func (v *VHost) Topology() *topology.Topology { return v.topo }
