package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/cluster"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

const group = cluster.GroupID(1)

// world is a cluster in one goroutine: nodes with disks and clocks, a network between them, and who proposes. What has
// happened comes from the seed alone.
type world struct {
	dice    *rand.Rand
	calm    bool          // nothing fails any more,
	goal    storage.Index // from when there are this many batches
	mild    int           // how seldom something fails,
	quiet   int           // and somebody proposes
	now     int64
	nodes   []*node
	mail    []cluster.Frame
	late    []lateFrame
	cut     map[[2]cluster.NodeID]bool // from, to
	config  cluster.Config             // at first
	changes bool                       // of members take place
	works   bool                       // the batches are those of virtual hosts
	states  map[storage.Index]uint64   // of a virtual host after some batches, as the first saw it

	ledger    map[storage.Index][]byte // what was committed, as whoever applied it first saw it
	most      storage.Index            // of it
	confirmed storage.Index            // what a leader with its lease has shown to be committed
	leaders   map[uint64]cluster.NodeID
	proposed  int
	violation error
	seen      sightings
}

// sightings are what a life has met: a check that never meets what it is for proves nothing.
type sightings struct {
	steps, crashes, leaders, leases, committed, cuts, transfers, partitions, pauses, checkpoints, changes, compared int
}

func newWorld(seed uint64, works bool) *world {
	w := &world{
		works: works, states: map[storage.Index]uint64{},
		dice: rand.New(rand.NewPCG(seed, 7)), cut: map[[2]cluster.NodeID]bool{}, ledger: map[storage.Index][]byte{},
		leaders: map[uint64]cluster.NodeID{}, mild: []int{2, 8, 20, 50}[seed/2%4], quiet: []int{1, 10, 100}[seed/8%3],
	}
	for i := range 3 + 2*(seed%2) {
		m := cluster.Member{ID: cluster.MemberID(101 + i), Node: cluster.NodeID(i + 1)}
		w.config.Members = append(w.config.Members, m)
		w.config.Voters = append(w.config.Voters, m.ID)
	}
	w.changes = seed%3 == 0
	for _, m := range w.config.Members {
		w.add(m)
	}
	return w
}

// add adds a node with an empty disk, for a replica that is new.
func (w *world) add(m cluster.Member) {
	n := &node{
		w: w, id: m.Node, self: m.ID, mem: vfs.NewMem(w.dice.Uint64()), base: cluster.Base{Config: w.config},
		rate: 960 + w.dice.Int64N(81), clock: w.dice.Int64N(1e9),
	}
	n.disk = vfs.NewFaulty(n.mem)
	w.nodes = append(w.nodes, n)
	n.start()
}

func (w *world) violate(format string, args ...any) {
	if w.violation == nil {
		w.violation = fmt.Errorf(format, args...)
	}
}

func (w *world) chance(n int) bool { return w.dice.IntN(n) == 0 }

// send puts a frame on its way, or loses it.
func (w *world) send(f cluster.Frame) {
	if !w.calm && (w.cut[[2]cluster.NodeID{f.From, f.To}] || w.chance(40)) {
		return
	}
	if !w.calm && w.chance(60) {
		w.late = append(w.late, lateFrame{f, w.now + w.dice.Int64N(4_000_000)})
		return
	}
	w.mail = append(w.mail, f)
}

// lateFrame is a frame that is long on its way.
type lateFrame struct {
	cluster.Frame
	at int64
}

// arrive has late frames arrive.
func (w *world) arrive() {
	w.late = slices.DeleteFunc(w.late, func(l lateFrame) bool {
		here := w.now >= l.at || w.calm
		if here {
			w.mail = append(w.mail, l.Frame)
		}
		return here
	})
}

// deliver brings a frame: mostly the oldest; some twice.
func (w *world) deliver() {
	if len(w.mail) == 0 {
		return
	}
	i := 0
	if !w.calm && w.chance(4) {
		i = w.dice.IntN(len(w.mail))
	}
	f := w.mail[i]
	if w.calm || !w.chance(30) {
		w.mail = slices.Delete(w.mail, i, i+1)
	}
	n := w.nodes[f.To-1]
	if n.node == nil || n.gone { // who is paused gets it later
		return
	}
	if !n.runs() {
		w.mail = append(w.mail, f)
		return
	}
	n.node.Pass(n.instant())
	n.node.Receive(f)
	n.drive()
}

// change has a leader change the members, or end a change.
func (n *node) change() {
	w := n.w
	n.drive()
	if n.node == nil || !n.group.Leads() {
		return
	}
	c := n.group.Members()
	var changes []*raftpb.ConfChangeSingle
	var added []cluster.Member
	of := func(t raftpb.ConfChangeType, id cluster.MemberID) {
		changes = append(changes, &raftpb.ConfChangeSingle{Type: t.Enum(), NodeId: proto.Uint64(uint64(id))})
	}
	if len(c.Outgoing) == 0 {
		if w.calm {
			return
		}
		if len(c.Learners) > 0 && w.chance(2) {
			of(raftpb.ConfChangeAddNode, c.Learners[0])
		}
		if len(c.Voters) > 2 && w.chance(3) {
			of(raftpb.ConfChangeRemoveNode, c.Voters[w.dice.IntN(len(c.Voters))])
		}
		if len(c.Members) < 6 && len(w.nodes) < 14 && w.chance(2) {
			m := cluster.Member{ID: cluster.MemberID(101 + len(w.nodes)), Node: cluster.NodeID(len(w.nodes) + 1)}
			added = append(added, m)
			of([]raftpb.ConfChangeType{raftpb.ConfChangeAddLearnerNode, raftpb.ConfChangeAddNode}[w.dice.IntN(2)], m.ID)
		}
		if len(changes) == 0 {
			return
		}
	}
	if n.group.Change(changes, added...) != nil {
		return
	}
	w.seen.changes++
	for _, m := range added {
		w.add(m)
	}
	n.drive()
}

// leave ends nodes that are no members any more, some time after all others know it.
func (w *world) leave() {
	members := w.present()
	for _, n := range w.nodes {
		if n.runs() && !slices.Contains(members, n) && n.upTo > 0 && w.chance(20) {
			n.gone = !slices.ContainsFunc(members, func(o *node) bool {
				if o.node == nil {
					return true
				}
				c := o.group.Members()
				return c.NodeOf(n.self) != 0
			})
		}
	}
}

// step lets one thing happen.
func (w *world) step() {
	w.seen.steps++
	n := w.nodes[w.dice.IntN(len(w.nodes))]
	switch k := w.dice.IntN(1000); {
	case k < 250:
		w.pass(w.dice.Int64N(20_000))
	case k < 650:
		for range 1 + len(w.mail)/8 {
			w.deliver()
		}
	case !n.runs():
		if n.node == nil && !n.gone && w.now >= n.down {
			n.start()
		}
	case k < 800:
		n.store(1 + w.dice.IntN(4) + len(n.writes)/2)
	case k < 930:
		if w.calm && w.most <= w.goal || !w.calm && w.chance(w.quiet) { // at rest it comes to an end
			n.propose()
		}
	case k < 950:
		n.drive()
		n.checkpoint()
	case w.changes && k < 970 && n.group.Leads():
		n.change()
	case w.calm || !w.chance(w.mild):
	default:
		w.hit()
	}
}

// hit has something go wrong: for a leader, every other time.
func (w *world) hit() {
	n := w.nodes[w.dice.IntN(len(w.nodes))]
	for _, o := range w.nodes {
		if w.chance(2) && o.runs() && o.group.Leads() {
			n = o
		}
	}
	if !n.runs() {
		return
	}
	switch w.dice.IntN(5) {
	case 0:
		n.crash()
	case 1:
		w.seen.pauses++
		n.paused = w.now + w.dice.Int64N(2_500_000)
	case 2:
		w.partition()
		w.leave()
	case 3:
		w.isolate(n)
	case 4:
		if !n.group.Leads() {
			return
		}
		voters := n.group.Members().Voters
		if n.group.Transfer(voters[w.dice.IntN(len(voters))]) == nil {
			w.seen.transfers++
			if n.drive(); w.chance(2) {
				w.isolate(n)
			}
		}
	}
}

// isolate cuts some ways to a node, or from it, and heals all others.
func (w *world) isolate(n *node) {
	w.seen.partitions++
	clear(w.cut)
	for _, o := range w.nodes {
		for _, way := range [2][2]cluster.NodeID{{n.id, o.id}, {o.id, n.id}} {
			if o != n && w.chance(2) {
				w.cut[way] = true
			}
		}
	}
}

// pass lets time pass, in each clock at its own rate.
func (w *world) pass(micros int64) {
	w.now += micros
	w.arrive()
	for _, n := range w.nodes {
		if n.clock += micros * n.rate / 1000; n.runs() {
			n.drive()
		}
	}
}

// partition cuts some ways, each in one direction, or none.
func (w *world) partition() {
	w.seen.partitions++
	clear(w.cut)
	if w.chance(2) {
		return
	}
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if a != b && w.chance(3) {
				w.cut[[2]cluster.NodeID{a.id, b.id}] = true
			}
		}
	}
}

// check looks at what all nodes show at this moment.
func (w *world) check() {
	var holder *node
	for _, n := range w.nodes {
		if !n.runs() || !n.group.MayShow() {
			continue
		}
		w.seen.leases++
		if holder != nil {
			w.violate("nodes %d and %d hold the lease", holder.id, n.id)
		}
		holder = n
		if n.group.Next() <= w.confirmed {
			w.violate("node %d leads at %d, and %d was confirmed", n.id, n.group.Next(), w.confirmed)
		}
		w.confirmed = max(w.confirmed, n.upTo)
	}
	if holder == nil {
		return
	}
	for _, n := range w.nodes {
		if n != holder && n.leads > holder.group.Term() {
			w.violate("node %d holds the lease of term %d, node %d leads term %d",
				holder.id, holder.group.Term(), n.id, n.leads)
		}
	}
}

// live lets so many things happen, then brings calm, and has everything come to an end.
func (w *world) live(steps int) error {
	for i := 0; i < steps && w.violation == nil; i++ {
		w.step()
		w.check()
	}
	w.rest()
	if w.violation != nil {
		return fmt.Errorf("step %d: %w", w.seen.steps, w.violation)
	}
	return nil
}

// rest heals everything, and waits until all nodes have applied the same.
func (w *world) rest() {
	w.calm = true
	clear(w.cut)
	for _, n := range w.nodes {
		if n.paused, n.down = 0, 0; n.runs() {
			n.drive()
		}
	}
	w.goal = w.most
	const patience = 20_000_000
	for end := w.now + patience; w.violation == nil; {
		w.step()
		w.check()
		if w.now > end {
			w.violate("%d s of calm have not made all alike: %s", patience/1_000_000, w.places())
		}
		if w.most > w.goal && w.alike() && !w.changing() {
			return
		}
	}
}

// members are the nodes of the last members that a leader knows.
func (w *world) present() (nodes []*node) {
	for _, n := range w.nodes {
		if n.runs() && n.group.Leads() {
			for _, m := range n.group.Members().Members {
				nodes = append(nodes, w.nodes[m.Node-1])
			}
			return nodes
		}
	}
	return w.nodes
}

// changing reports whether a change of members is under way.
func (w *world) changing() bool {
	return slices.ContainsFunc(w.present(), func(n *node) bool {
		return n.node == nil || len(n.group.Members().Outgoing) > 0
	})
}

func (w *world) alike() bool {
	for _, n := range w.present() {
		if n.node == nil || n.upTo != w.most || len(n.writes) > 0 {
			return false
		}
	}
	return true
}

func (w *world) places() (s string) {
	for _, n := range w.nodes {
		s += fmt.Sprintf(" node %d: ", n.id)
		if n.node == nil {
			s += "down"
			continue
		}
		s += fmt.Sprintf("term %d, applied %d, leads %d, %d writes", n.group.Term(), n.upTo, n.leads, len(n.writes))
	}
	return s
}
