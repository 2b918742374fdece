package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

var walks = flag.Uint64("walks", 3000, "how many random walks TestOneLeads takes")

// A flaw is a rule that a walk does not keep, to show that the check notices it.
type flaw int

const (
	sound flaw = iota
	votesAtOnce
	sessionsAgain
	noMargin
	keepsLeaseInTransfer
	acksOfAnySession
	forgetsPromises
)

var flaws = map[flaw]string{
	votesAtOnce: "vote at once after a start", sessionsAgain: "use sessions again after a start",
	noMargin: "trust all clocks", keepsLeaseInTransfer: "keep the lease while another takes over",
	acksOfAnySession: "count acknowledgements of any session", forgetsPromises: "vote in spite of a promise",
}

// firstOf is the seed at which the search for a rare flaw begins.
var firstOf = map[flaw]uint64{acksOfAnySession: 140_000}

// small is a timing in which clocks make 4 or 5 steps where others make 5 or 4.
var small = Timing{Promise: 20, Margin: 4, Silence: 20}

// message is a message between two nodes.
type message struct {
	from, to NodeID
	kind     string
	term     uint64
	sent     Instant // of a ping
	session  Session
	force    bool
}

// member is a node with a replica of the one group: as much of Raft as elections are, and the lease.
type member struct {
	id       NodeID
	clock    Instant
	term     uint64
	vote     NodeID
	sessions Session // used, from the disk

	leader   NodeID
	leads    bool
	votes    map[NodeID]bool // nil: it is no candidate
	promises *Promises
	support  *Support
	lease    Lease
}

// walk is a random course of events.
type walk struct {
	dice    *rand.Rand
	flaw    flaw
	timing  Timing
	members []*member
	voters  []NodeID
	mail    []message
	led     int // times that somebody held a lease
	elected int
}

func newWalk(seed uint64, f flaw) *walk {
	w := &walk{dice: rand.New(rand.NewPCG(seed, 1)), flaw: f, timing: small}
	switch f {
	case votesAtOnce:
		w.timing.Silence = 0
	case noMargin:
		w.timing.Margin = 0
	}
	for id := NodeID(1); id <= 3+2*NodeID(seed%2); id++ {
		m := &member{id: id, clock: Instant(w.dice.IntN(1000))}
		w.members, w.voters = append(w.members, m), append(w.voters, id)
		w.start(m)
	}
	return w
}

// start is a process of a member that begins: what is on its disk is there.
func (w *walk) start(m *member) {
	m.leader, m.leads, m.votes = 0, false, nil
	if m.sessions += 1 << 16; w.flaw == sessionsAgain {
		m.sessions = 0
	}
	m.promises, m.support, m.lease = NewPromises(w.timing, m.clock, m.sessions), NewSupport(w.timing), Lease{}
}

func (w *walk) send(l message) { w.mail = append(w.mail, l) }

func (w *walk) toAll(m *member, l message) {
	for _, o := range w.members {
		if l.from, l.to = m.id, o.id; o != m {
			w.send(l)
		}
	}
}

func (w *walk) mayElect(m *member) bool {
	if w.flaw == forgetsPromises {
		return m.promises.MayElect(0, m.clock)
	}
	return m.promises.MayElect(m.leader, m.clock)
}

// campaign begins an election.
func (w *walk) campaign(m *member, force bool) {
	m.term++
	m.vote, m.leader, m.leads, m.votes = m.id, 0, false, map[NodeID]bool{m.id: true}
	w.toAll(m, message{kind: "vote?", term: m.term, force: force})
}

// follow is what a later term does.
func (m *member) follow(term uint64) {
	if term > m.term {
		m.term, m.vote, m.leader, m.leads, m.votes = term, 0, 0, false, nil
	}
}

func (w *walk) deliver(l message) {
	m := w.members[l.to-1]
	answer := message{from: l.to, to: l.from, term: l.term}
	switch l.kind {
	case "ping":
		answer.kind = "pong"
		answer.session, answer.sent, _ = m.promises.Answer(l.from, m.clock, l.sent, l.session)
		w.send(answer)
		return
	case "pong":
		m.support.Answered(l.from, m.clock, l.sent, l.session)
		return
	}
	if l.term < m.term {
		return
	}
	switch l.kind {
	case "vote?":
		if l.force && !m.promises.MayObey(m.clock) || !l.force && !w.mayElect(m) {
			return
		}
		if m.follow(l.term); m.vote == 0 || m.vote == l.from {
			m.vote = l.from
			answer.kind = "vote"
			w.send(answer)
		}
	case "vote":
		if l.term != m.term || m.votes == nil {
			return
		}
		m.votes[l.from] = true
		if 2*len(m.votes) > len(w.members) && !m.leads {
			m.leads, m.leader, m.lease = true, m.id, Lease{}
			w.elected++
		}
	case "entries":
		m.follow(l.term)
		m.leader, m.votes = l.from, nil
		answer.kind, answer.session = "stored", m.promises.Session(l.from, m.clock)
		w.send(answer)
	case "stored":
		if l.term != m.term || !m.leads || l.session == 0 {
			return
		}
		if w.flaw == acksOfAnySession {
			l.session = m.support.session(l.from, m.clock)
		}
		m.lease.Acked(l.from, l.session)
	case "take over":
		if l.term == m.term && m.leader == l.from && m.promises.MayObey(m.clock) {
			w.campaign(m, true)
		}
	}
}

// step does one thing.
func (w *walk) step() {
	m := w.members[w.dice.IntN(len(w.members))]
	switch k := w.dice.IntN(200); {
	case k < 14:
		for _, m := range w.members {
			m.clock += 4 + Instant(w.dice.IntN(2))
		}
	case k < 24:
		for _, o := range w.members {
			if o != m {
				heard := m.support.session(o.id, m.clock)
				w.send(message{from: m.id, to: o.id, kind: "ping", sent: m.clock, session: heard})
			}
		}
	case k < 44 && m.leads:
		w.toAll(m, message{kind: "entries", term: m.term})
	case k < 48 && !m.leads && w.mayElect(m):
		w.campaign(m, false)
	case k < 49 && m.leads:
		to := w.members[w.dice.IntN(len(w.members))]
		if w.flaw != keepsLeaseInTransfer {
			m.lease.Give()
		}
		w.send(message{from: m.id, to: to.id, kind: "take over", term: m.term})
	case k < 50 && w.dice.IntN(2) == 0:
		w.start(m)
	default:
		w.carry()
	}
}

// carry delivers a message: the oldest more often, some twice, some never.
func (w *walk) carry() {
	if len(w.mail) == 0 {
		return
	}
	i := 0
	if w.dice.IntN(3) == 0 {
		i = w.dice.IntN(len(w.mail))
	}
	l := w.mail[i]
	if w.dice.IntN(30) > 0 {
		w.mail = append(w.mail[:i], w.mail[i+1:]...)
	}
	if w.dice.IntN(20) > 0 {
		w.deliver(l)
	}
	if len(w.mail) > 40 {
		w.mail = w.mail[10:]
	}
}

// check reports a member that holds a lease while another leads a later term.
func (w *walk) check() error {
	for _, m := range w.members {
		if !m.leads || !m.lease.Holds(m.support, m.id, m.clock, w.voters) {
			continue
		}
		w.led++
		for _, o := range w.members {
			if o.leads && o.term > m.term {
				return fmt.Errorf("node %d has the lease of term %d, node %d leads term %d", m.id, m.term, o.id, o.term)
			}
		}
	}
	return nil
}

// take takes so many steps.
func (w *walk) take(steps int) error {
	for i := range steps {
		w.step()
		if err := w.check(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

const walkSteps = 1500

func TestOneLeads(t *testing.T) {
	t.Parallel()
	// If it fails, two nodes show what they have decided at the same time, and one of them is wrong.
	led, elected := 0, 0
	for seed := range *walks {
		w := newWalk(seed, sound)
		if err := w.take(walkSteps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		led, elected = led+w.led, elected+w.elected
	}
	t.Logf("%d walks: %d elections, a lease in %d of %d steps", *walks, elected, led, *walks*walkSteps)
	if led < int(*walks) || elected < int(*walks) {
		t.Error("too seldom does anybody lead")
	}
}

func TestFlawsOfLeasesAreNoticed(t *testing.T) {
	t.Parallel()
	// If it fails, the check above proves nothing.
	for f, name := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := firstOf[f]; seed < firstOf[f]+10_000; seed++ {
				if err := newWalk(seed, f).take(walkSteps); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("nobody has noticed")
		})
	}
}
