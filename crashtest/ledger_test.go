//go:build linux

package crashtest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// lateMax is how old an ack may be that the end of the process undoes.
const lateMax = time.Second

// known is what clients were told of a message, and what they did to it.
type known uint32

const (
	confirmed     known = 1 << iota // the publisher has the confirm
	nacked                          // the publisher has a nack
	handed                          // a consumer of the source had it
	handedSafe                      // and something later than that was confirmed
	acked                           // by a consumer of the source
	ackedSafe                       // and something later was answered
	rejected                        // by a consumer of the source, without requeue
	rejectedSafe                    // and something later was answered
	seenDead                        // a consumer of the dead letters had it
	deadAcked                       // by that consumer
	deadAckedSafe                   // and something later was answered

	// What the last audit found. Neither: there was none since the message was published.
	wasSource
	wasDead
	waited // for its instant, in a delayed exchange
	wasOff // nothing, as it must: it was cancelled

	// Of a message in a delayed exchange.
	calledOff // a cancellation of it, or its replacement, was sent
	waitsNot  // and answered: wherever it is, it does not wait
	cancelled // and it will never come
	fired     // and it had come before

	audited = wasSource | wasDead | waited | wasOff
)

// An entry is all that is known of a message. What has gone for certain has none.
type entry struct {
	known   known
	settled time.Duration // when the broker was sent the last ack or rejection, in its own time; 0: not for certain
	tries   int           // rejections that were sent, where they lead back
	deaths  int           // and how many a consumer has seen in its history
	due     time.Time     // by the client's clock, of a delayed message: it must not come before
	ticket  string        // its ID while it waits, if an audit has seen one
	death   uint64        // among the rejections of its shape, which came when: round and reader in the upper half, number in the lower
}

// An ending is how a round ended.
type ending struct {
	died  bool          // the process did, else clients took their leave
	at    time.Duration // in the broker's own time
	again time.Time     // when the process began that is audited
}

// A sighting is one copy of a message that an audit found.
type sighting struct {
	dead        bool   // among the dead letters, else in the source
	queue       string // in which it was
	place       int    // in that queue
	redelivered bool
	death       string // what is wrong with its deaths; "": they are right
	settled     bool   // the audit took it away for good
	waits       bool   // in a delayed exchange
	early       bool   // it came before its instant, or is going to
}

// judge says what is wrong with what an audit found of one message, "" if nothing.
func (s *shape) judge(i id, e entry, seen []sighting, end ending) string {
	if s.delayed {
		return s.judgeDelayed(i, e, seen, end)
	}
	k := e.known.aged(e, end)
	survives, deadLettersSurvive := !end.died || s.survives(i), !end.died || !i.transient()
	// A delivery waits until the disk has the message, as a confirm does: whoever was told of it may rely on it.
	exists := deadLettersSurvive && k&(seenDead|wasDead|rejectedSafe) != 0 || survives &&
		k&(confirmed|handed|wasSource) != 0
	gone := k&(acked|deadAcked) != 0
	mustBeGone := k&(ackedSafe|deadAckedSafe|nacked) != 0
	switch {
	case len(seen) == 0 && exists && !gone:
		return "lost"
	case len(seen) == 0:
		return ""
	case len(seen) > 1:
		return fmt.Sprintf("there are %d copies: %+v", len(seen), seen)
	case mustBeGone:
		return "came back"
	}
	if at := seen[0]; at.dead {
		return s.judgeDeadLetter(k, at, deadLettersSurvive)
	}
	at := seen[0]
	switch {
	case !survives:
		return "outlived the process, which a transient message does not"
	case k&(seenDead|wasDead|rejectedSafe) != 0:
		return "is in its source again after its death"
	case s.style != retries && !at.redelivered && (k&(handedSafe|wasSource) != 0 || k&handed != 0 && !end.died):
		return "was handed over before and is not marked redelivered"
	case at.redelivered && k&(audited|handed) == 0 && s.style == none:
		return "was never handed over and is marked redelivered"
	}
	return ""
}

func (s *shape) judgeDeadLetter(k known, at sighting, survives bool) string {
	switch {
	case !survives:
		return "outlived the process as a dead letter, which a transient message does not"
	case k&acked != 0 && k&(rejected|seenDead|wasDead) == 0:
		return "died after it was acked"
	case s.style == rejects && k&(rejected|seenDead|wasDead) == 0:
		return "died and nobody rejected it"
	case at.death != "":
		return at.death
	case at.redelivered && k&(audited|seenDead) == 0 && !s.deadLettersRead:
		return "a dead letter that nobody had is marked redelivered"
	case !at.redelivered && k&wasDead != 0:
		return "a dead letter that an audit had is not marked redelivered"
	}
	return ""
}

// aged is what is known at the end: a settlement that was sent long before is safe.
func (k known) aged(e entry, end ending) known {
	if e.settled == 0 || end.died && end.at-e.settled <= lateMax {
		return k
	}
	// Too old to be undone; and of whoever takes his leave of a living broker all has been read that he sent.
	switch {
	case k&deadAcked != 0:
		return k | deadAckedSafe
	case k&rejected != 0:
		return k | rejectedSafe
	case k&acked != 0:
		return k | ackedSafe
	}
	return k
}

// A ledger keeps what is known of the messages of one shape.
type ledger struct {
	mu struct {
		sync.Mutex
		entries map[id]entry
		faults  []string // what clients noticed themselves
		early   int      // delayed messages that came before their instant
		twice   int      // and those that came again as if for the first time
	}
}

func newLedger() *ledger {
	l := &ledger{}
	l.mu.entries = map[id]entry{}
	return l
}

// open begins the page of a message that is about to be published.
func (l *ledger) open(i id) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.entries[i] = entry{}
}

// note adds to what is known of messages. One without an entry came back, or was never published.
func (l *ledger) note(k known, ids ...id) {
	l.change(func(e *entry) {
		e.known |= k
		if k&(handed|seenDead) != 0 {
			e.settled = 0 // what was sent before did not arrive
		}
	}, ids...)
}

// settle notes that the broker has been sent the settlement of messages by the given time of its own; 0 takes that
// back.
func (l *ledger) settle(at time.Duration, ids ...id) {
	l.change(func(e *entry) { e.settled = at }, ids...)
}

// die notes that a rejection is about to be sent, and which it is.
func (l *ledger) die(i id, death uint64) {
	l.change(func(e *entry) { e.known, e.settled, e.death = e.known|handed|rejected, 0, death }, i)
}

// try notes that a rejection is about to be sent which leads back to the source.
func (l *ledger) try(i id) { l.change(func(e *entry) { e.tries++ }, i) }

// tried notes how many rejections the history of a message tells of. None may be forgotten, none made up.
func (l *ledger) tried(i id, n int) {
	l.change(func(e *entry) {
		if n < e.deaths || n > e.tries {
			l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v was rejected %d times: its history tells of %d, before it was %d", i, e.tries, n, e.deaths))
		}
		e.deaths = n
	}, i)
}

func (l *ledger) change(change func(*entry), ids ...id) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range ids {
		e, ok := l.mu.entries[i]
		if !ok {
			l.mu.faults = append(l.mu.faults, fmt.Sprintf("message %v was delivered: it had gone, or nobody published it", i))
			continue
		}
		change(&e)
		l.mu.entries[i] = e
	}
}

// fault notes what a client found wrong.
func (l *ledger) fault(format string, about ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.faults = append(l.mu.faults, fmt.Sprintf(format, about...))
}

// An account sums up what an audit found.
type account struct {
	published, confirmed int // since the last audit
	source, deadLetters  int // copies there are
	lost, doubled        int
	delayed, waiting     int // delayed ones of those that were confirmed; copies that wait
	off, came, late      int // delayed messages that were cancelled, those of them that came, and answers that it was too late
	early                int
	faults               []string
}

func (a *account) add(b account) {
	a.published += b.published
	a.confirmed += b.confirmed
	a.source += b.source
	a.deadLetters += b.deadLetters
	a.lost += b.lost
	a.doubled += b.doubled
	a.delayed += b.delayed
	a.waiting += b.waiting
	a.late += b.late
	a.off += b.off
	a.came += b.came
	a.early += b.early
	a.faults = append(a.faults, b.faults...)
}

// close judges every message by what an audit found, and turns to a new page: from now on the audit's word counts.
func (l *ledger) close(s *shape, seen map[id][]sighting, end ending) (a account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.mu.faults {
		a.faults = append(a.faults, s.name+": "+f)
	}
	a.early, a.doubled = l.mu.early, l.mu.twice
	l.mu.faults, l.mu.early, l.mu.twice = nil, 0, 0
	for i, at := range seen {
		if _, ok := l.mu.entries[i]; !ok {
			a.faults = append(a.faults, fmt.Sprintf("%s: message %v is there: it had gone, or nobody published it: %+v", s.name, i, at))
		}
	}
	if s.deadLettersInOrder() && s.reason == "rejected" {
		a.faults = append(a.faults, l.outOfOrder(s, seen)...)
	}
	for i, e := range l.mu.entries {
		at := seen[i]
		if wrong := s.judge(i, e, at, end); wrong != "" {
			a.faults = append(a.faults, fmt.Sprintf("%s: message %v %s; known %b, settled %v of %v, found %+v", s.name, i, wrong, e.known, e.settled, end.at, at))
			if len(at) > 1 {
				a.doubled++
			} else if len(at) == 0 && e.known&cancelled == 0 {
				a.lost++
			}
		}
		if e.known&audited == 0 {
			a.published++
			if e.known&confirmed != 0 {
				a.confirmed++
			}
		}
		if s.delayed {
			a.countDelayed(e, at)
		}
		switch {
		case s.delayed && len(at) == 0 && e.known&cancelled != 0:
			l.mu.entries[i] = entry{known: cancelled | calledOff | wasOff, due: e.due, ticket: e.ticket}
		case s.delayed && len(at) > 0 && !at[0].settled:
			l.mu.entries[i] = carried(e, at[0])
		case len(at) == 0 || at[0].settled:
			delete(l.mu.entries, i)
		case at[0].dead:
			l.mu.entries[i] = entry{known: wasDead, death: e.death}
		default:
			l.mu.entries[i] = entry{known: wasSource, tries: e.tries, deaths: e.deaths}
		}
		for _, one := range at {
			if one.dead {
				a.deadLetters++
			} else {
				a.source++
			}
		}
	}
	return a
}

// outOfOrder says where dead letters are not in the order in which one reader rejected them.
func (l *ledger) outOfOrder(s *shape, seen map[id][]sighting) (faults []string) {
	type one struct {
		id
		place int
		death uint64
	}
	queues := map[string][]one{}
	for i, at := range seen {
		if e := l.mu.entries[i]; len(at) == 1 && at[0].dead && e.death != 0 {
			queues[at[0].queue] = append(queues[at[0].queue], one{i, at[0].place, e.death})
		}
	}
	for queue, all := range queues {
		slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.place, b.place) })
		for k := 1; k < len(all); k++ {
			a, b := all[k-1], all[k]
			if a.death>>32 == b.death>>32 && a.death > b.death {
				faults = append(faults, fmt.Sprintf("%s: dead letter %v is before %v, which was rejected earlier", queue, a.id, b.id))
			}
		}
	}
	return faults
}

// An order notices messages that come out of the order of their publishing.
type order struct {
	shape  *shape
	newest map[[2]uint32]id // by stream and priority
	rounds map[uint32]int   // the latest, by priority
}

func newOrder(s *shape) *order { return &order{s, map[[2]uint32]id{}, map[uint32]int{}} }

// next says what is wrong with the place of a message, "" if nothing.
func (o *order) next(i id) string {
	priority := uint32(0)
	if o.shape.priorities {
		priority = uint32(i.priority())
	}
	key := [2]uint32{i.stream(), priority}
	before, round := o.newest[key], o.rounds[priority]
	o.newest[key], o.rounds[priority] = max(before, i), max(round, i.round())
	switch {
	case before > i:
		return fmt.Sprintf("message %v comes after %v", i, before)
	case round > i.round():
		return fmt.Sprintf("message %v comes after one of round %d", i, round)
	}
	return ""
}

// sight reads one message that an audit found.
func (s *shape) sight(d *amqp.Delivery, deadLetters bool) (id, sighting, error) {
	i, err := idOf(d)
	if err != nil {
		return i, sighting{}, err
	}
	at := sighting{dead: deadLetters, redelivered: d.Redelivered}
	if deadLetters {
		at.death = s.wrongDeath(d)
	}
	return i, at, nil
}

// tries reads from x-death how often a message was rejected and came back.
func (s *shape) tries(d *amqp.Delivery) (int, error) {
	deaths, _ := d.Headers["x-death"].([]any)
	if len(deaths) == 0 {
		return 0, nil
	}
	if len(deaths) != 2 {
		return 0, fmt.Errorf("has %d deaths, want one of each kind: %v", len(deaths), deaths)
	}
	expired, _ := deaths[0].(amqp.Table)
	rejected, _ := deaths[1].(amqp.Table)
	n, _ := rejected["count"].(int64)
	if expired["queue"] != s.waiting() || expired["reason"] != "expired" || expired["count"] != n ||
		rejected["queue"] != s.name || rejected["reason"] != "rejected" {
		return 0, fmt.Errorf("has a history of %v", deaths)
	}
	return int(n), nil
}

// wrongDeath says what is wrong with x-death, "" if nothing.
func (s *shape) wrongDeath(d *amqp.Delivery) string {
	deaths, _ := d.Headers["x-death"].([]any)
	if len(deaths) != 1 {
		return fmt.Sprintf("has %d deaths", len(deaths))
	}
	death, _ := deaths[0].(amqp.Table)
	if death["queue"] != s.name || death["reason"] != s.reason || death["count"] != int64(1) {
		return fmt.Sprintf("died in %v, %v, %v times", death["queue"], death["reason"], death["count"])
	}
	return ""
}
