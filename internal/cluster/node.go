package cluster

import (
	"maps"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// Times are in milliseconds of a node's own clock.
const (
	// pingEvery is how often a node asks each other one whether it is there.
	pingEvery Instant = 100
	// tickEvery is how often time passes for the leaders.
	tickEvery Instant = 100
	// campaignSpread is within what time after the loss of a leader a member campaigns: mostly one before the others.
	campaignSpread Instant = 300
)

// electionTicks is after how many ticks a leader steps down if it has not heard from a majority.
const electionTicks = 10

// Frame is what a node sends to another.
type Frame struct {
	To, From NodeID

	Group   GroupID
	Raft    *raftpb.Message // nil: it is a ping, or an answer
	Session Session         // of From's promise to To: of an answer, or an acknowledgement

	Sent   Instant // of a ping, by the clock of who asks; of an answer, the ping that has renewed the promise
	Answer bool
	Heard  Session // of a ping: of To's promise, which From has heard of of late; 0: it has not
}

// Output is what the driver of a node has to do: to store the writes in their order, to send the frames, and to tell
// the machines of the events. Frames may be lost, and come in any order; these do not rest on these writes.
type Output struct {
	Frames []Frame
	Writes []*Write
	Events []Event
}

// Node has the replicas of one node, which promise together to the leaders of others.
type Node struct {
	id       NodeID
	timing   Timing
	now      Instant
	random   func() uint64
	promises *Promises
	support  *Support
	groups   map[GroupID]*Group
	peers    map[NodeID]Instant // when they are asked next
	ticksAt  Instant

	touched []*Group
	out     Output
}

// NewNode is a node that starts now. After is a session that it has not used, nor any behind it.
func NewNode(id NodeID, t Timing, now Instant, after Session, random func() uint64) *Node {
	return &Node{
		id: id, timing: t, now: now, random: random,
		promises: NewPromises(t, now, after), support: NewSupport(t), groups: map[GroupID]*Group{}, peers: map[NodeID]Instant{},
		ticksAt: now + tickEvery,
	}
}

// Open begins with a replica, whose machine is that of base, and of which the batches from first to last are on the
// disk: at least those behind base. Errors: those of reading, ErrControl, and ErrGap.
func (n *Node) Open(id GroupID, batches Batches, s State, base Base, first, last storage.Index) (*Group, error) {
	g, err := n.open(id, batches, s, base, first, last)
	if err != nil {
		return nil, err
	}
	n.groups[id] = g
	n.touch(g)
	return g, nil
}

// Close forgets a replica. What it has given out to be written is no longer asked for.
func (n *Node) Close(g *Group) {
	if n.groups[g.id] == g {
		delete(n.groups, g.id)
	}
	n.touched = slices.DeleteFunc(n.touched, func(o *Group) bool { return o == g })
}

// Pass lets time pass up to now, which is never before the last.
func (n *Node) Pass(now Instant) {
	n.now = now
	n.ask()
	ticks := now >= n.ticksAt
	if ticks {
		n.ticksAt = now + tickEvery
	}
	for _, g := range n.inOrder() {
		if g.fault != nil {
			continue
		}
		if ticks {
			g.tick()
		}
		g.reconsider()
		n.elect(g)
	}
}

// ask sends pings to the nodes of all members.
func (n *Node) ask() {
	others := map[NodeID]bool{}
	for _, g := range n.groups {
		for _, m := range g.config.Members {
			others[m.Node] = true
		}
	}
	delete(others, n.id)
	maps.DeleteFunc(n.peers, func(id NodeID, _ Instant) bool { return !others[id] })
	for _, id := range slices.Sorted(maps.Keys(others)) {
		if n.now >= n.peers[id] {
			n.peers[id] = n.now + pingEvery
			n.out.Frames = append(n.out.Frames, Frame{To: id, Sent: n.now, Heard: n.support.session(id, n.now)})
		}
	}
}

// elect has a replica without a leader campaign, after a while.
func (n *Node) elect(g *Group) {
	s := g.raft.BasicStatus()
	switch {
	case s.Lead != raft.None || !g.mayElect(n.id, g.term+1):
		g.campaignAt = 0
	case g.campaignAt == 0:
		g.campaignAt = n.now + 1 + Instant(n.random()%uint64(campaignSpread))
	case n.now >= g.campaignAt:
		g.campaignAt = n.now + campaignSpread + Instant(n.random()%uint64(campaignSpread))
		g.campaign()
	}
}

// Receive takes a frame of another node.
func (n *Node) Receive(f Frame) {
	switch {
	case f.Raft != nil:
		g := n.groups[f.Group]
		if g != nil && g.fault == nil && f.Raft.GetTo() == uint64(g.self) && g.from(MemberID(f.Raft.GetFrom()), f.From) {
			g.step(f.From, f.Raft, f.Session)
		}
	case f.Answer:
		n.support.Answered(f.From, n.now, f.Sent, f.Session)
	default:
		session, renewed, begins := n.promises.Answer(f.From, n.now, f.Sent, f.Heard)
		if begins {
			n.lapsed(f.From)
		}
		n.out.Frames = append(n.out.Frames, Frame{To: f.From, Answer: true, Sent: renewed, Session: session})
	}
}

// lapsed ends what replicas believe of leaders on a node, which this one has not heard of for longer than its promise.
func (n *Node) lapsed(of NodeID) {
	for _, g := range n.inOrder() {
		if g.supported == of {
			g.forget()
		}
	}
}

// Take returns what is to be done since it was asked last.
func (n *Node) Take() Output {
	for len(n.touched) > 0 {
		touched := n.touched
		n.touched = nil
		for _, g := range touched {
			g.ready(&n.out)
		}
	}
	out := n.out
	n.out = Output{}
	for i := range out.Frames {
		out.Frames[i].From = n.id
	}
	return out
}

func (n *Node) touch(g *Group) {
	if !slices.Contains(n.touched, g) {
		n.touched = append(n.touched, g)
	}
}

func (n *Node) inOrder() (groups []*Group) {
	for _, id := range slices.Sorted(maps.Keys(n.groups)) {
		groups = append(groups, n.groups[id])
	}
	return groups
}
