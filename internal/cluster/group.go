package cluster

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// GroupID numbers a replicated log; the same number on all nodes.
type GroupID = storage.LogID

// Group is a replica of a log, on this node. Its methods are called by who drives the node, one at a time.
type Group struct {
	id   GroupID
	self MemberID
	node *Node
	raft *raft.RawNode
	log  *log

	config  Config              // as of applied
	book    map[MemberID]NodeID // of members of now and of before, and of who has sent something
	applied storage.Index
	stored  State // as of the last Write

	term    uint64
	leading bool          // as Raft says
	leads   bool          // a batch of the own term is applied: the machine may decide
	last    storage.Index // of the log, while it is leading
	lease   Lease         // of term

	supported  NodeID  // whose leadership was acknowledged last, within the promise that this node has given
	heardAt    Instant // when the leader was heard of last
	campaignAt Instant // 0: not known yet
	fault      error
}

var (
	// ErrNotLeader refuses what only a leader may do, who has begun to lead and has asked nobody to take over.
	ErrNotLeader = errors.New("not the leader of the group")
	// ErrConfig refuses a change of members that Raft does not take.
	ErrConfig = errors.New("the members cannot be changed in this way now")
)

// Limits of one message to another member, in bytes, and of what is under way to one, in bytes and messages.
const (
	messageBytes  = 1 << 20
	inflightBytes = 16 << 20
	inflights     = 4096
)

func (n *Node) open(id GroupID, batches Batches, s State, base Base, first, last storage.Index) (*Group, error) {
	l, err := openLog(batches, s, &base, first, last)
	if err != nil {
		return nil, err
	}
	l.state.Commit = max(s.Commit, uint64(base.At))
	if l.state.Commit > uint64(last) {
		return nil, fmt.Errorf("group %d: batches up to %d are settled, the log ends at %d", id, l.state.Commit, last)
	}
	g := &Group{
		id: id, self: s.Self, node: n, log: l, config: base.Config, book: map[MemberID]NodeID{}, applied: base.At,
		stored: s, term: s.Term,
	}
	g.note(base.Config.Members)
	g.raft, err = raft.NewRawNode(&raft.Config{
		ID: uint64(s.Self), ElectionTick: electionTicks, HeartbeatTick: 1, Storage: l, Applied: uint64(base.At),
		AsyncStorageWrites: true, MaxSizePerMsg: messageBytes, MaxInflightMsgs: inflights, MaxInflightBytes: inflightBytes,
		CheckQuorum: true, PreVote: true, DisableProposalForwarding: true, StepDownOnRemoval: true, Logger: logger{},
	})
	if err != nil {
		return nil, fmt.Errorf("group %d: %w", id, err)
	}
	return g, nil
}

// ID numbers the group.
func (g *Group) ID() GroupID { return g.id }

// Term is the term that the replica knows of.
func (g *Group) Term() uint64 { return g.term }

// Leads reports whether the replica leads, and its machine may decide.
func (g *Group) Leads() bool { return g.leads && !g.lease.given }

// Next is the index that the next Propose gives, or Change, while the replica leads.
func (g *Group) Next() storage.Index { return g.last + 1 }

// Applied is the last batch that is committed and on the disk of this node.
func (g *Group) Applied() storage.Index { return g.applied }

// Members are those as of the last batch that is applied.
func (g *Group) Members() Config { return g.config }

// BaseAt is what a checkpoint of the machine begins with that has applied all that the group has.
func (g *Group) BaseAt() Base {
	return Base{At: g.applied, Term: g.log.term(g.applied), Config: g.config}
}

// MayShow reports whether the replica leads, and nobody else can: then its machine's effects may leave.
func (g *Group) MayShow() bool {
	return g.Leads() && g.fault == nil && g.lease.Holds(g.node.support, g.node.id, g.node.now, g.config.voters()...)
}

// Fault is why the replica has stopped; nil: it has not.
func (g *Group) Fault() error { return g.fault }

// Propose gives a batch of the machine to the log, at Next. It is an error if the replica does not lead any more: then
// nothing has happened.
func (g *Group) Propose(batch []byte) error {
	if len(batch) == 0 || IsControl(batch) {
		return ErrControl
	}
	return g.propose(&raftpb.Entry{Data: batch})
}

// Change changes the members: it takes an index, as Propose does. Raft decides in joint changes, which a second one
// without changes ends. Added are the members that are new.
func (g *Group) Change(changes []*raftpb.ConfChangeSingle, added ...Member) error {
	if joint := len(g.config.Outgoing) > 0; joint != (len(changes) == 0) || g.log.changesIn(g.applied, g.last) {
		return ErrConfig
	}
	base := Base{Config: Config{Members: added}}
	c := &raftpb.ConfChangeV2{Changes: changes, Context: base.Append(nil)}
	if len(changes) > 0 { // what ends a joint change is known by saying nothing else
		c.Transition = raftpb.ConfChangeTransitionJointExplicit.Enum()
	}
	data, err := proto.Marshal(c)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return g.propose(&raftpb.Entry{Type: raftpb.EntryConfChangeV2.Enum(), Data: data})
}

// note takes note of where members are.
func (g *Group) note(members []Member) {
	for _, m := range members {
		g.book[m.ID] = m.Node
	}
}

// from reports whether a message of a member is from its node. A replica that is new has not applied yet who the
// members are: it takes the word of the first that comes.
func (g *Group) from(id MemberID, on NodeID) bool {
	if g.book[id] == 0 {
		g.book[id] = on
	}
	return g.book[id] == on
}

func (g *Group) propose(e *raftpb.Entry) (err error) {
	if s := g.raft.BasicStatus(); !g.Leads() || s.RaftState != raft.StateLeader || s.GetTerm() != g.term {
		return ErrNotLeader
	}
	g.guard(func() error {
		err = g.raft.Step(&raftpb.Message{
			Type: raftpb.MsgProp.Enum(), From: proto.Uint64(uint64(g.self)), Entries: []*raftpb.Entry{e},
		})
		return nil
	})
	if err != nil || g.fault != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, errors.Join(err, g.fault))
	}
	g.last++
	g.node.touch(g)
	return nil
}

// Transfer asks another member to take over. From now on this one neither decides nor shows anything in its term.
func (g *Group) Transfer(to MemberID) error {
	if !g.Leads() || to == g.self || g.config.NodeOf(to) == 0 {
		return ErrNotLeader
	}
	g.lease.Give()
	g.guard(func() error {
		g.raft.TransferLeader(uint64(to))
		return nil
	})
	g.node.touch(g)
	return nil
}

// Compact says that a checkpoint is durable at a batch: what is up to there need not be readable any more. It returns
// up to where the log gives its batches up: a leader keeps what it does not know that all members have.
func (g *Group) Compact(to storage.Index) storage.Index {
	to = min(to, g.applied)
	if g.leading {
		g.raft.WithProgress(func(_ uint64, _ raft.ProgressType, p tracker.Progress) { to = min(to, storage.Index(p.Match)) })
	}
	g.log.compact(to)
	return g.log.base
}

// tick lets a leader's time pass: it sends heartbeats, and steps down if it does not hear from a majority.
func (g *Group) tick() {
	if !g.leading {
		return
	}
	g.guard(func() error {
		g.raft.Tick()
		if g.lease.given && g.raft.BasicStatus().LeadTransferee == raft.None { // nobody has taken over in time
			return g.stepDown()
		}
		return nil
	})
	g.node.touch(g)
}

// stepDown ends a leadership of which the lease was given away. Raft does so if it hears from nobody between two
// checks.
func (g *Group) stepDown() error {
	for range 2 {
		if err := g.raft.Step(&raftpb.Message{
			Type: raftpb.MsgCheckQuorum.Enum(), From: proto.Uint64(raft.LocalAppendThread), To: proto.Uint64(uint64(g.self)),
		}); err != nil {
			return err
		}
	}
	return nil
}

// forget ends what the replica believes of its leader: the promise to that node has lapsed, or it campaigns itself.
func (g *Group) forget() {
	g.supported = 0
	g.guard(g.raft.ForgetLeader)
	g.node.touch(g)
}

// reconsider ends what the replica believes of its leader if the promise to its node has lapsed. The promise is not
// renewed if the node is there and the leader is not heard of: it may lead no more, and be no member any more.
func (g *Group) reconsider() {
	silent := g.node.now-g.heardAt > g.node.timing.Promise
	switch {
	case g.leading:
	case g.supported == 0 && silent && g.raft.BasicStatus().Lead != raft.None:
		g.forget()
	case g.supported == 0:
	case g.node.promises.Session(g.supported, g.node.now) == 0:
		g.forget()
	case silent:
		g.node.promises.End(g.supported)
	}
}

// mayElect reports whether the replica may help to elect a member on a node in a term: not while it has promised to
// another node, which may lead. A node that asks for votes in a later term has proved that it does not lead any more.
func (g *Group) mayElect(other NodeID, term uint64) bool {
	supported := g.supported
	if supported == other && term > g.term {
		supported = 0
	}
	return !g.leading && g.node.promises.MayElect(supported, g.node.now)
}

// step takes a message of another member, which is on node from and has promised something in that session.
func (g *Group) step(from NodeID, m *raftpb.Message, session Session) {
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote:
		if string(m.GetContext()) == campaignTransfer {
			if !g.node.promises.MayObey(g.node.now) {
				return
			}
			break
		}
		if !g.mayElect(from, m.GetTerm()) {
			return
		}
		g.forget()
	case raftpb.MsgTimeoutNow:
		if !g.node.promises.MayObey(g.node.now) {
			return
		}
	case raftpb.MsgAppResp, raftpb.MsgHeartbeatResp:
		if g.leading && m.GetTerm() == g.term {
			if m.GetType() == raftpb.MsgAppResp && m.GetIndex() == 0 && !m.GetReject() {
				return // an answer to an earlier term; Raft would take it for one to this, which has a first batch
			}
			if session != 0 {
				g.lease.Acked(from, session)
			}
		}
	case raftpb.MsgApp, raftpb.MsgHeartbeat:
		if m.GetTerm() >= g.term {
			g.heardAt = g.node.now
		}
	case raftpb.MsgVoteResp, raftpb.MsgPreVoteResp:
	default: // what members do not send
		return
	}
	g.guard(func() error { return g.feed(m) })
	g.node.touch(g)
}

// feed gives a message to Raft. One of a replica that is no member any more, or not yet, is dropped.
func (g *Group) feed(m *raftpb.Message) error {
	if err := g.raft.Step(m); !errors.Is(err, raft.ErrStepPeerNotFound) {
		return err
	}
	return nil
}

// campaignTransfer is what a vote request says whose sender was asked to take over.
const campaignTransfer = "CampaignTransfer"

// campaign tries to become the leader.
func (g *Group) campaign() {
	g.guard(g.raft.Campaign)
	g.node.touch(g)
}

// guard makes a fault of what Raft finds in its storage: it panics.
func (g *Group) guard(fn func() error) {
	if g.fault != nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			g.fault = fmt.Errorf("group %d: %v", g.id, p)
		}
	}()
	if err := fn(); err != nil {
		g.fault = fmt.Errorf("group %d: %w", g.id, err)
	}
}

// logger has what Raft cannot go on with end the replica, and drops all else.
type logger struct{}

func (logger) Debug(...any)            {}
func (logger) Debugf(string, ...any)   {}
func (logger) Error(...any)            {}
func (logger) Errorf(string, ...any)   {}
func (logger) Info(...any)             {}
func (logger) Infof(string, ...any)    {}
func (logger) Warning(...any)          {}
func (logger) Warningf(string, ...any) {}

func (logger) Fatal(v ...any)                 { panic(fmt.Sprint(v...)) }
func (logger) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
func (logger) Panic(v ...any)                 { panic(fmt.Sprint(v...)) }
func (logger) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
