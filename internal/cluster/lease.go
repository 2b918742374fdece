package cluster

// A NodeID names a node: a process with a data directory.
type NodeID uint64

// An Instant is a time of a node's own clock, in milliseconds. The clock never goes back, and goes on while the machine
// is suspended. Only times of the same node are compared.
type Instant int64

// A Session numbers an unbroken promise of one node to another; 0: there is none. A node never uses a number again, not
// even after a restart.
type Session uint64

// Timing says how long promises hold, in milliseconds.
type Timing struct {
	// Promise is how long a node keeps a promise, after it has answered a ping.
	Promise Instant
	// Margin is by how much less who asked counts on it: clocks may differ by Margin within Promise.
	Margin Instant
	// Silence is how long a node neither votes nor campaigns after a start: it has forgotten its promises. At least
	// Promise.
	Silence Instant
}

// UsualTiming takes a dead leader for dead after a second; clocks may differ by a tenth.
var UsualTiming = Timing{Promise: 1000, Margin: 100, Silence: 1000}

// Promises are those that a node has given: for as long as one holds, the node neither votes against a leader on that
// other node, nor campaigns against it. The invariant: a node that has acknowledged a leader's term within a session
// helps to elect no other leader before that session has ended.
type Promises struct {
	timing  Timing
	started Instant
	last    Session
	to      map[NodeID]promise
}

type promise struct {
	until   Instant // by the clock of who counts on it, or keeps it
	session Session
	sent    Instant // of the ping that renewed it last, by the clock of who asked
	ends    bool    // it is not renewed any more
}

// NewPromises are those of a node that starts now. After is a session that it has not used, nor any behind it.
func NewPromises(t Timing, now Instant, after Session) *Promises {
	return &Promises{timing: t, started: now, last: after, to: map[NodeID]promise{}}
}

// Answer gives a promise to a node that has sent a ping, and returns what the answer says: the session, and the ping
// that has renewed the promise last. This one does if that node has heard of the promise: who hears from nobody is no
// leader. Begins: the promise before has lapsed.
func (p *Promises) Answer(to NodeID, now, sent Instant, heard Session) (session Session, renewed Instant, begins bool) {
	x := p.to[to]
	if begins = now >= x.until; begins {
		p.last++
		x = promise{session: p.last}
	}
	if begins || heard == x.session && !x.ends {
		x.until, x.sent = now+p.timing.Promise, max(x.sent, sent)
	}
	p.to[to] = x
	return x.session, x.sent, begins
}

// End has a promise lapse: it is not renewed any more.
func (p *Promises) End(to NodeID) {
	x := p.to[to]
	x.ends = true
	p.to[to] = x
}

// Session is that of a promise that holds: it goes with each acknowledgement of a leader on that node.
func (p *Promises) Session(to NodeID, now Instant) Session {
	if x := p.to[to]; now < x.until {
		return x.session
	}
	return 0
}

// MayElect reports whether the node may vote for another leader than one on a node, or campaign; 0: it knows none.
func (p *Promises) MayElect(leader NodeID, now Instant) bool {
	return now >= p.started+p.timing.Silence && p.Session(leader, now) == 0
}

// MayObey reports whether the node may campaign because the leader asks for that, or vote for whom the leader has
// asked: no promise is against it, for the leader has given up its lease.
func (p *Promises) MayObey(now Instant) bool { return now >= p.started+p.timing.Silence }

// Support is what other nodes have promised to this one.
type Support struct {
	timing Timing
	of     map[NodeID]promise
}

// NewSupport is that of a node that starts: none.
func NewSupport(t Timing) *Support { return &Support{timing: t, of: map[NodeID]promise{}} }

// Answered takes note of an answer, which says when the ping that has renewed the promise was sent, by the own clock.
func (s *Support) Answered(from NodeID, now, sent Instant, session Session) {
	x := s.of[from]
	if session < x.session || sent > now { // of a session before, or to a node whose clock was another one
		return
	}
	until := sent + s.timing.Promise - s.timing.Margin
	if session > x.session {
		x = promise{session: session}
	}
	x.until = max(x.until, until)
	s.of[from] = x
}

// session is that of a promise that can be counted on.
func (s *Support) session(of NodeID, now Instant) Session {
	if x := s.of[of]; now < x.until {
		return x.session
	}
	return 0
}

// A Lease is the right of a group's leader to show anything: while it holds, no other node can lead. It is of one term.
type Lease struct {
	acks  map[NodeID]Session
	given bool
}

// Acked takes note that a node has acknowledged the term, within a session of its promise.
func (l *Lease) Acked(from NodeID, session Session) {
	if l.acks == nil {
		l.acks = map[NodeID]Session{}
	}
	l.acks[from] = max(l.acks[from], session)
}

// Give ends the lease for good: the leader asks another node to take over, for whom others vote whatever they have
// promised. If that fails the leader has to be elected anew.
func (l *Lease) Give() { l.given = true }

// Holds reports whether a majority of each set of voters supports the leader, which is on node self.
func (l *Lease) Holds(s *Support, self NodeID, now Instant, voters ...[]NodeID) bool {
	if l.given {
		return false
	}
	for _, set := range voters {
		n := 0
		for _, v := range set {
			if v == self {
				n++
			} else if of := s.session(v, now); of != 0 && of == l.acks[v] {
				n++
			}
		}
		if 2*n <= len(set) {
			return false
		}
	}
	return true
}
