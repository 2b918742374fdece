package sim

import "fmt"

// Checker names one of the laws that always hold.
type Checker string

// The checkers. Source: ours, ARCHITECTURE.md#invariants.
const (
	// Books: made = ended by cause + held in queues, in the machine's count and in the ledger's.
	Books Checker = "books"
	// Replay: a replay of the log is the durable projection of the live machine.
	Replay Checker = "replay"
	// Confirmed: a confirmed persistent message of a durable queue is there, or has ended with a counted cause.
	Confirmed Checker = "confirmed"
	// Safe: what the journal reported safe is there after a crash.
	Safe Checker = "safe"
	// Sound: the journal finds no damage that nobody has done, and nothing that was never written.
	Sound Checker = "sound"
	// Readable: every record that a copy names can be read, and says what was published.
	Readable Checker = "readable"
	// Damage: what the disk has changed is found before it matters, named with file and offset, never served as data,
	// never cut without a report, and what was recorded as safe never cut at all.
	Damage Checker = "damage"
	// Drains: a full disk takes what drains it, and has space again then.
	Drains Checker = "drains"
	// Moves: a dead letter has left its source exactly when each target has it, or its loss is counted.
	Moves Checker = "moves"
	// Ends: what is due at one instant is done after so many ticks.
	Ends Checker = "ends"
	// Deaths: a dead letter's history is that of its copy before, and one death more.
	Deaths Checker = "deaths"
	// Order: the oldest ready message of the highest priority is the next, requeued ones where they were.
	Order Checker = "order"
	// Expiry: at its instant; nothing early, nothing late, nothing delivered after it.
	Expiry Checker = "expiry"
	// Prefetch: nobody is handed more than prefetch and window allow.
	Prefetch Checker = "prefetch"
	// Served: no ready message waits while a consumer of its queue has credit.
	Served Checker = "served"
	// Release: no effect is shown before the facts that it reveals are safe.
	Release Checker = "release"
	// Answers: each command gets its answers, each publish one confirm, each settlement its end.
	Answers Checker = "answers"
	// Refusals: a refused command leaves no trace.
	Refusals Checker = "refusals"
	// Limits: no queue that drops its head holds more than its length.
	Limits Checker = "limits"
	// Held: a dead letter is held while a target lacks it, comes to none twice, survives, and leaves when
	// nothing blocks it.
	Held Checker = "held"
	// LostStore: a dead letter that no queue took is in the lost store with its cause, within the
	// limits of size and age; the oldest is removed first; it is republished once.
	LostStore Checker = "lost-store"
	// Waiting: what came back waits until its instant, no shorter and no longer, over restarts too.
	Waiting Checker = "waiting"
	// Schedule: what waits in a delayed exchange, or for its time of delivery, comes then, no sooner and no later,
	// once, to whatever is there by then; or it is cancelled, and that is told truly.
	Schedule Checker = "schedule"
	// Redrive: a job moves the dead letters that it is about, each once, to where they are sent, at its rate,
	// and stops when it was told to, over restarts too.
	Redrive Checker = "redrive"
	// Arrivals: a dead letter that a client published keeps the time of that, over moves and
	// restarts too.
	Arrivals Checker = "arrivals"
	// Counts: a message has as many returns, and failed ones, as the ledger counted; over the limit it dies.
	Counts Checker = "counts"
	// Timeout: nobody holds a delivery for too long; to settle it later is no error.
	Timeout Checker = "timeout"
	// Kept: a message that its queue keeps because of a cycle is still there, and does not expire.
	Kept Checker = "kept"
	// Paced: a publisher waits for the consumers of a queue that has grown too long, and for those only.
	Paced Checker = "paced"
	// Configured: the options in force are those set last, over restarts too.
	Configured Checker = "options"
)

// Violation is a law that did not hold.
type Violation struct {
	Checker Checker
	Seed    uint64
	Step    int    // of the run
	What    string // in words
}

func (v *Violation) Error() string {
	return fmt.Sprintf("seed %d, step %d: %s: %s", v.Seed, v.Step, v.Checker, v.What)
}

// violate notes the first violation; the run ends by it.
func (w *world) violate(c Checker, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Checker: c, Seed: w.o.Seed, Step: w.step, What: fmt.Sprintf(format, args...)}
	}
}
