package sim

import (
	"hash"
	"hash/fnv"
	"hash/maphash"
	"math/rand/v2"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/sim/clients"
	"github.com/bartleby-mq/bartleby/internal/sim/ledger"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// stepsDefault is the length of a run: long enough for several crashes, checkpoints and reclaimed segments. A few live
// longer.
const stepsDefault, stepsLong, longEvery = 600, 2400, 50

// Options says what to simulate. The zero value is seed 0 without faults of the disk.
type Options struct {
	Seed  uint64
	Steps int // 0: a usual run
	// FullDisk lets the disk be full most of the time, and ends the life by draining it: see fullLife.
	FullDisk bool
	// Portions is how much a step does of what can be done in portions, in bytes as the machine counts them. 0: as
	// usual.
	Portions int
	// Lag lets what is on the disk become safe some time later, and takes back what is not: see lag.go.
	Lag bool
	// Outages lets the power go more often while the disk is full.
	Outages bool
	// Fault, if it is set, is the only one there is, at call At of the disk, of whatever kind; else they are drawn.
	Fault Fault
	At    int
	// Trace, if there is one, is told what happens, a line at a time.
	Trace func(line string)
}

// Result tells what a run has seen.
type Result struct {
	Hash        uint64                    // of all commands, facts and effects
	Succeeded   map[vhost.CommandKind]int // commands that were not refused
	Refused     int                       // commands that were
	Effects     map[vhost.EffectKind]int  // shown to clients
	Ended       map[fact.Cause]int        // copies
	Recoveries  int                       // of the machine, for whatever reason
	Crashes     int                       // power cuts
	Deposed     int                       // times that others took back what was not safe
	TakenBack   int                       // batches that were
	Calls       int                       // of the disk
	CutAt       map[string]int            // power cuts in the middle of a call of the disk, by its kind
	Harmed      map[string]int            // times that the disk has changed something, by kind and file
	Found       map[string]int            // of these, by how it was found
	CutAway     int                       // of these, that have cost what was safe and not recorded so
	FailedAt    map[string]int            // calls of the disk that failed, by kind
	BrokenAt    map[string]int            // those that failed from then on
	Failures    int                       // failed writes and syncs that the journal recovered from
	Full        int                       // times that publishers had to wait for space
	Stuck       int                       // times that nothing could be written for lack of space
	Drained     int                       // full disks that were drained
	Excused     int                       // of full lives, those in which more was decided at once than may be on its way
	Space       [4]int                    // of full lives, steps in which there was space first for that use
	PutOff      int                       // copies that could not die for lack of space
	PutOffHeld  int                       // or for lack of memory, beside held ones
	Paused      int                       // times that a queue had put off so many that it handed over nothing
	Unpaused    int                       // copies that went on while memory was short
	Reclaimed   int                       // segments
	Rewritten   int                       // of these, sparse ones
	Paged       int                       // durable pages that were put
	Portions    int                       // that followed the first of a command
	Interleaved int                       // times that something was done between portions of maintenance
	Spilled     int                       // transient ones
	Warmed      int                       // durable ones that were read from the disk
	Facts       map[fact.Kind]int
	StoredLost  map[fact.Cause]int // dead letters that came to the lost store
	Held        map[fact.Cause]int // dead letters that were held, or held on
	Released    int                // held dead letters that left
	Partly      int                // that some of their targets have
	Waited      int                // returns that had to wait
	Survived    int                // waiting and held copies that a restart has found
	TimedOut    int                // consumers and channels that took too long
	Paced       int                // publishes after which the publisher should wait
	Late        int                // settlements of what was taken back before
	Answered    map[string]int     // answers for lost letters
	Redriven    int                // dead letters that jobs moved
	Scheduled   map[string]int     // what became of scheduled messages, and answers for them
}

func newResult() Result {
	return Result{
		Succeeded: map[vhost.CommandKind]int{}, Effects: map[vhost.EffectKind]int{}, Ended: map[fact.Cause]int{},
		Harmed: map[string]int{}, Found: map[string]int{}, CutAt: map[string]int{}, FailedAt: map[string]int{}, BrokenAt: map[string]int{}, Facts: map[fact.Kind]int{},
		StoredLost: map[fact.Cause]int{}, Held: map[fact.Cause]int{}, Answered: map[string]int{}, Scheduled: map[string]int{},
	}
}

// world is one run.
type world struct {
	o         Options
	dice      *rand.Rand
	step      int
	violation *Violation
	result    Result
	hash      hash.Hash64
	scratch   []byte

	// The node.
	disk         *vfs.Mem
	faulty       *vfs.Faulty
	journal      *journal.Journal // nil between a crash and the next opening
	opened       uint64           // times
	vhost        *vhost.VHost
	twin         *vhost.VHost // applies what the log gets, and nothing else
	twinAhead    bool         // it has policies in force that the machine has on some queues alone: see recovery.go
	past         *vhost.VHost // applies what is recorded as safe, and nothing else, from the first batch on: up to baseAt
	out          vhost.Outcome
	looked       struct{ facts, effects int } // of out
	clock        int64                        // ns since the Unix epoch, of the vhost
	skew         int64                        // ns that the wall clock is off
	next         storage.Index                // of the batch to be
	synced       storage.Index                // as the journal says
	safe         storage.Index                // of these, those that others have; all of them without Options.Lag
	marked       storage.Index                // what was safe at the last write, which says so
	recorded     storage.Index                // the disk itself says that this is safe
	deposed      bool                         // the machine is made from an open journal: the disk says no more
	written      storage.Index                // the journal has it
	tail         storage.Index                // the journal has batches up to here that were taken back; 0: none
	tried        storage.Index                // the journal may have it
	pending      []journal.Batch              // sealed, not written yet
	recent       map[storage.Index][]byte     // batches that are still in memory
	pages        pages
	torn         bool         // a step of the machine was cut short by a failed read: it is not to be looked at any more
	checkpoint   *checkpoint  // a checkpoint in the making
	maintaining  bool         // maintenance is running
	interleaving bool         // and something else is done between its portions
	unfinished   bool         // a command is, and nothing is done beside it
	deferred     func()       // what to do about that when it is over
	left         bool         // the checkers have looked at the machine for the last time
	tearing      bool         // a group is being written
	looking      bool         // a checker does: no call of the disk fails
	harm         *vfs.Harm    // what the disk has changed, and nobody has found
	cut          *journal.Cut // that was told since the machine was there last
	tight        bool         // the disk has a budget
	full         bool         // no file can be made: publishers wait
	cramped      bool         // the machine knows that dead letters must not move
	forced       bool         // though there is space
	lowMemory    bool         // the machine knows that it must not hold further dead letters
	overdone     bool         // more was decided at once than may be on its way to the disk
	reserve      int64        // of the journal, bytes
	missing      bool         // a file that the disk has lost stays away
	stock        int          // files of the journal's segments when the power went; 0: nobody looks
	ending       bool         // the life is over: what is left are the last checks
	greedy       bool         // another process takes all space that is given up, at once
	squeezed     bool         // it takes most of it all the time
	ailing       bool         // some call of the disk always fails
	starts       int          // since then
	neighbor     neighbor

	// What the checkers know.
	live          *ledger.Ledger             // follows the machine
	base          *ledger.Ledger             // follows what is recorded as safe, up to baseAt
	baseAt        storage.Index              //
	sealed        map[storage.Index]sealed   // batches from baseAt on
	contents      map[storage.Ref]content    // what a record or a history holds
	backs         map[fact.JobID]uint64      // dead letters of jobs that died again
	jobRecoveries map[fact.JobID]int         // Recoveries when they began
	ways          map[storage.Ref]ledger.Way // by which a dead letter with that history came
	tallies       []ledger.Tally             // made by the open batch
	lately        heldLately

	// The clients.
	*clients.Clients
	rarely   bool                         // look at sums only now and then: there are thousands of messages
	floods   int                          // of thousands of messages
	bursts   int                          // of hundreds
	shared   int                          // dead letters, see share
	attached int                          // consumers
	audits   int                          // commands looked at
	looks    int                          // batches looked at
	handed   []clients.Waiting            // deliveries made by the open batch, in order
	answers  []vhost.ScheduledID          // that it answers for, likewise
	told     map[vhost.ScheduledID]string // what clients know of scheduled messages that are gone
	unread   error                        // a delivery could not be read
}

// sealed is a batch, with what the checkers learned while it was open.
type sealed struct {
	data    []byte
	tallies []ledger.Tally
}

// content is what the log holds at a ref, as it was when it was made.
type content struct {
	message uint64           // of a record
	deaths  []ledger.Death   // of a history
	resent  fact.RedriveMark // likewise
	first   string           // likewise: where it died first
	delayed bool             // of a record: its header says that it was kept until it was due
	edited  bool             // of a record: it was published anew, elsewhere
	sum     uint64           // of the bytes
}

// sumSeed makes sums of bytes, which are compared within one process only.
var sumSeed = maphash.MakeSeed()

// newWorld is a broker without anything, on an empty disk.
func newWorld(o Options) *world {
	w := &world{
		o: o, dice: rand.New(rand.NewPCG(o.Seed, 0x73696d)), hash: fnv.New64a(),
		clock: 1_700_000_000_000_000_000, disk: vfs.NewMem(o.Seed),
		base: ledger.New(), sealed: map[storage.Index]sealed{},
		result:   newResult(),
		contents: map[storage.Ref]content{}, ways: map[storage.Ref]ledger.Way{}, told: map[vhost.ScheduledID]string{}, backs: map[fact.JobID]uint64{}, jobRecoveries: map[fact.JobID]int{},
	}
	w.Clients = clients.New(w, w.dice, o.Seed%4 == 3)
	w.reserve = reserveSegments * segmentBytes
	w.faulty = vfs.NewFaulty(w.disk)
	w.pages = pages{w: w, sums: map[storage.Ref]uint64{}}
	w.past = vhost.New(vhostName, logID, w, &spare{})
	w.next = 1
	w.out.Trace = true
	if o.Fault != FaultNone {
		w.fail(o.Fault, target{}, o.At)
	}
	if o.FullDisk {
		w.fullLife()
	}
	w.open()
	return w
}

// Run lives one life. The error is a *Violation.
func Run(o Options) (Result, error) {
	if o.Steps == 0 {
		if o.Steps = stepsDefault; o.Seed%longEvery == longEvery-1 {
			o.Steps = stepsLong
		}
	}
	w := newWorld(o)
	for w.violation == nil && w.step < o.Steps {
		w.step++
		if w.act(); o.FullDisk {
			w.fullDisk()
		}
	}
	if o.FullDisk {
		w.drainFull()
	}
	w.end()
	w.result.Hash, w.result.Calls = w.hash.Sum64(), w.faulty.Calls()
	if w.violation != nil {
		return w.result, w.violation
	}
	return w.result, nil
}

// end stops cleanly, and opens once more: nothing at all may be missing.
func (w *world) end() {
	w.heal()
	w.mend("never")
	w.restart()
	w.mend("never")
}

// act does one thing of the many that can happen.
func (w *world) act() {
	switch k := w.dice.IntN(1000); {
	case k < 4 && w.flooded():
		w.flood(2500 + w.dice.IntN(3000))
	case k < 6 && w.bursts == 0 && w.o.Seed%4 == 1:
		w.bursts++
		w.flood(200 + w.dice.IntN(700))
	case k < 10 && w.shared == 0 && w.o.Seed%8 == 5:
		w.share()
	case k < 660:
		w.work()
	case k < 720:
		w.pass()
		if w.dice.IntN(4) > 0 {
			w.tick()
		}
	case k < 820:
		w.write()
	case k < 890:
		if w.write() {
			w.sync()
		}
	case k < 900 && w.o.Lag:
		w.commit(0)
	case k < 950:
		w.keepHouse()
	case k < 960:
		w.prepare()
	case k < 968:
		w.markSafe()
	case k < 970 && w.o.Lag:
		w.depose()
	case k < 978:
		w.forget()
	case k < 987:
		w.squeeze()
	case k < 988 && w.Chance(3) && !w.o.FullDisk && !w.o.Lag:
		w.drain()
	case k < 990:
		w.restart()
	case k < 994:
		w.powerCut()
	default:
		w.plan()
	}
}
